/*
 * The program's own metrics, rendered in the Prometheus text format 0.0.4. Any thread can update
 * them, without a lock; registering and rendering take a lock. Register a series once at startup,
 * and update it through its pointer. It is looked up when it counts only if a label is the outcome
 * of something that takes far longer, such as a call to another program: then series appear with
 * their first event.
 *
 * Names follow Prometheus' conventions: base units, _total for counters, _seconds, _bytes, _ratio.
 * No label has the name of a node: series per node have a section of their own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"

struct metrics;
struct metrics_series;

enum {
        /* Series per family. More share one series whose label values are all "other". */
        METRICS_MAX_SERIES = 200,
        METRICS_MAX_BYTES = 128 << 20, /* of the page: 100,000 nodes with long names */
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_FREEP(struct metrics, metrics_free);

/**
 * metrics_counter() - get or create a series
 * @labels: name, value, name, value, ..., NULL; values are escaped. NULL: none
 * Return: borrowed from @metrics, never NULL
 */
struct metrics_series *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                                       const char *const *labels);
struct metrics_series *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                                     const char *const *labels);

/* The upper bounds of a histogram's buckets, ascending, without +Inf. */
struct metrics_bounds {
        const double *values;
        size_t count;
};
/* 0.1 ms to 10 s, for durations of requests and scrapes. */
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
/** metrics_value() - the value of a counter or gauge; the sum of a histogram */
double metrics_value(const struct metrics_series *series);

/**
 * metrics_section_fn - append whole families to the page
 *
 * It runs on the thread that renders, without a lock.
 */
typedef void metrics_section_fn(void *userdata, struct buf *out);
/** metrics_set_section() - set the end of the page; before the first rendering */
void metrics_set_section(struct metrics *metrics, metrics_section_fn *fn, void *userdata);
/** metrics_append_label() - append the escaped value of a label, without quotes */
void metrics_append_label(struct buf *out, const char *value);

/** metrics_render() - append the page: HELP, TYPE and series of all families, sorted by name */
void metrics_render(const struct metrics *metrics, struct buf *out);

/** metrics_register_process() - add plimsoll_build_info, and process_start_time_seconds,
 * process_resident_memory_bytes, process_open_fds, ..., which each rendering reads */
void metrics_register_process(struct metrics *metrics, const char *program);
