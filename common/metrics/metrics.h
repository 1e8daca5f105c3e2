/*
 * The program's own metrics, rendered in the Prometheus text format 0.0.4. Updating is lock-free
 * and may happen on any thread; registering and rendering take a lock. Register a series once at
 * start-up, keep the pointer, and update the series through it.
 *
 * Names follow Prometheus: base units, _total on counters, _seconds, _bytes, _ratio. No label may
 * carry a node's name: series per node are in a section of their own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"

struct metrics;
struct metrics_series;

/* Series per family. Further ones share one series, whose label values are all "other". */
enum { METRICS_MAX_SERIES = 200 };

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_FREEP(struct metrics, metrics_free);

/**
 * metrics_counter() - get or create a series
 * @labels: name, value, name, value, ..., NULL (values are escaped); may be NULL for none
 * Return: borrowed from @metrics, never NULL, valid as long as it
 */
struct metrics_series *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                                       const char *const *labels);
struct metrics_series *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                                     const char *const *labels);

/* The upper bounds of a histogram's buckets, ascending; +Inf is implied. */
struct metrics_bounds {
        const double *values;
        size_t count;
};
/* 0.1 ms to 10 s, for request and scrape durations. */
extern const struct metrics_bounds metrics_duration_bounds;

/** metrics_histogram() - @bounds outlives @metrics */
struct metrics_series *metrics_histogram(struct metrics *metrics, const char *name,
                                         const char *help, const char *const *labels,
                                         const struct metrics_bounds *bounds);

/* Labels inline: metrics_counter(m, "x_total", "...", LABELS("reason", "timeout")) */
#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

void metrics_inc(struct metrics_series *counter);
void metrics_add(struct metrics_series *counter, uint64_t n);
void metrics_set(struct metrics_series *gauge, double value);
void metrics_observe(struct metrics_series *histogram, double value);
/** metrics_value() - a counter's or gauge's present value; of a histogram the sum of all that it
 * has observed */
double metrics_value(const struct metrics_series *series);

/**
 * metrics_section_fn - append whole families to the page
 *
 * Runs on the thread that renders, without a lock of the metrics.
 */
typedef void metrics_section_fn(void *userdata, struct buf *out);
/** metrics_set_section() - what the page ends with; before the first rendering */
void metrics_set_section(struct metrics *metrics, metrics_section_fn *fn, void *userdata);
/** metrics_append_label() - append a label's value, escaped, without its quotes */
void metrics_append_label(struct buf *out, const char *value);

/** metrics_render() - append the exposition: HELP, TYPE and series, families by name */
void metrics_render(const struct metrics *metrics, struct buf *out);

/** metrics_register_process() - process_start_time_seconds, _resident_memory_bytes, _open_fds, ...
 * at the page's end, read from /proc when it is rendered; and plimsoll_build_info */
void metrics_register_process(struct metrics *metrics, const char *program);
