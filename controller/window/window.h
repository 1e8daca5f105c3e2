/*
 * Usage over trailing windows, for one node. Pure: the time is an argument, always of the monotonic
 * clock, so setting the wall clock has no effect.
 *
 * Every quantity (a *channel*: cpu, mem, ...) is a pair of sums, what was used and what there was:
 *
 *     counter   num += d(busy)       den += d(total)     between two scrapes
 *     gauge     num += ratio * dt    den += dt           each scrape counts for the time since the
 *                                                        one before
 *     avg_W  =  sum num / sum den over the W that end with the newest scrape
 *
 * Counters give the exact ratio of differences, gauges the time-weighted mean. Steps are kept, not
 * running totals: an absurd step would spoil the precision of a running total permanently, but is
 * forgotten when it leaves the window. So floats are enough (relative error below 1e-6; annotations
 * have five decimals).
 *
 *                   the window's old edge                     newest step
 *                           |                                      |
 *     avg_5m      (gone) [ cell ] [ cell ] [ cell ]  ...  [ cell ] |   sums of num and den; the one
 *                           |                                      |   across the edge by its share
 *                           '---- their mean, at each step --------+
 *                                                                  v
 *     max_avg_1h  (gone) [ 0.31 ] [ none ] [ 0.34 ]  ...  [ 0.90 ]     the largest of each minute
 *     p95_1h      (gone) [ 0.30 ] [ none ] [ 0.33 ]  ...  [ 0.40 ]     the last of each minute
 *                           ^ buckets across the edge count in full
 *
 * A new cell replaces the oldest one. The number of a bucket is its time divided by its width, and
 * its index is that number modulo the ring's capacity: the previous value there has left the
 * window.
 *
 * - A window of means has a ring of cells. A cell takes scrapes until it spans
 *   window_resolution_ms(): in 5 minutes every scrape has its own cell at the usual 15 s, in an
 *   hour a cell is a minute, in a day 5 minutes. An interval of two cells has its own. A cell
 *   knows for each channel how much of its span has data. The cell across the window's old edge
 *   counts by the share that lies within. So avg_5m equals linear interpolation between scrapes.
 *   Longer windows may differ from it by a quarter of a cell over the window (0.4% in an hour,
 *   0.09% in a day; four times as much if the data in the cell at the edge has a gap).
 * - A window of maxima has a ring of peaks: the largest 5-minute mean of each bucket, which has
 *   the same width, evaluated at every step. The bucket across the old edge counts in full, so a
 *   peak is forgotten at most one bucket late (1/60 of an hour, 1/288 of a day), and never early.
 * - A window of quantiles keeps the last 5-minute mean of each bucket, and takes the nearest
 *   rank.
 *
 * A mean that we compute is remembered as a peak (or for a quantile) only if at least half of its
 * 5 minutes have data. Until then it is published while it is current: otherwise 15 busy seconds
 * after a start would count as a "5-minute mean" for a day. A maximum shows such a mean only while
 * nothing above 0 is remembered.
 *
 * An interval longer than the plan's gap has no data. The gap is four scrape intervals, but at
 * least a minute for gauges and 5 minutes for counters. A single scrape has no interval, and no
 * value.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/metric_name.h"
#include "policy/policy.h"

/* A channel is the resource of a metric_query. The first METRIC_RESOURCE_COUNT are built in; those
 * that a policy declares (a GPU's utilization) follow. */
enum { WINDOW_MAX_CHANNELS = 32 };
static_assert(WINDOW_MAX_CHANNELS <= 32, "masks of channels have 32 bits");
static_assert((int)METRIC_RESOURCE_COUNT + (int)POLICY_MAX_RESOURCES <= (int)WINDOW_MAX_CHANNELS,
              "every resource has its channel");

enum { WINDOW_MEAN_MS = 5 * 60 * 1000 }; /* the mean that maxima and quantiles are of */

/* What one scrape adds, for the time since the previous step. */
struct window_step {
        int64_t at_mono_ms;
        uint32_t counters; /* channels with num and den: used and available. A bit each, as below */
        uint32_t gauges;   /* channels with num only: the present ratio */
        uint32_t means;    /* channels with num only: the mean of the 5 minutes that end now, which
                            * a source has computed; no interval is needed */
        double num[WINDOW_MAX_CHANNELS];
        double den[WINDOW_MAX_CHANNELS];
};

/* Which windows are kept; shared by all stores, immutable. */
struct window_plan;

/**
 * window_plan_new() - lay out the windows that @queries need
 * @scrape_interval_ms: > 0; decides what is a gap
 * Return: owned by the caller; must outlive its stores
 */
struct window_plan *window_plan_new(const struct metric_query *queries, size_t query_count,
                                    int64_t scrape_interval_ms);
void window_plan_free(struct window_plan *plan);
DEFINE_FREEP(struct window_plan, window_plan_free);

/** window_resolution_ms() - the width of a cell or bucket in a window of @window_ms */
int64_t window_resolution_ms(int64_t window_ms);

/* One node's windows. */
struct window_store;

/** window_store_new() - empty windows; @plan is borrowed */
struct window_store *window_store_new(const struct window_plan *plan);
void window_store_free(struct window_store *store);
DEFINE_FREEP(struct window_store, window_store_free);

/* The numbers of a new plan's channels in the old plan; -1: not there, or another resource. */
struct window_renumbering {
        int was[WINDOW_MAX_CHANNELS];
};

/**
 * window_store_replan() - move a store to another plan
 *
 * A window that both plans have keeps its history, channel by channel. Others begin with the next
 * step. The old plan may be freed afterwards.
 * @store: consumed
 */
struct window_store *window_store_replan(struct window_store *store, const struct window_plan *plan,
                                         const struct window_renumbering *renumbering);

/**
 * window_store_add() - add one scrape
 *
 * A step that is not later than the last one is ignored; so are, per channel, values that are
 * negative or not finite, and intervals with a gap. If num is above den, den is used.
 * Return: the channels for which the interval counts
 */
uint32_t window_store_add(struct window_store *store, const struct window_step *step);

/**
 * window_store_seed() - remember a peak from before this store began
 *
 * @ratio was published for @query @age_ms ago (negative counts as 0). It becomes a 5-minute mean of
 * that time in every window of maxima of the channel that is as long as that of @query or longer. A
 * value of avg_5m also fills an empty bucket of quantile windows. Queries other than maxima and
 * avg_5m, ages beyond the window, and ratios that are negative or not finite change nothing.
 * Return: true: a window has stored it
 */
bool window_store_seed(struct window_store *store, const struct metric_query *query, double ratio,
                       int64_t age_ms, int64_t now_mono_ms);

/** window_store_restart_means() - drop the means of @channel, as if its next interval were the
 * first; maxima and quantiles keep what they have */
void window_store_restart_means(struct window_store *store, unsigned channel);

enum window_status {
        WINDOW_KNOWN,
        WINDOW_NOT_PLANNED, /* the plan has no such window */
        WINDOW_NO_SCRAPE,   /* no step yet */
        WINDOW_ONE_SCRAPE,  /* an interval needs two */
        WINDOW_NO_DATA,     /* no interval in the window has usable values */
        WINDOW_STALE,       /* the last scrape is older than the window */
};

/** window_status_text() - such as "only one scrape so far"; constant */
const char *window_status_text(enum window_status status);

struct window_reading {
        enum window_status status;
        double ratio;    /* 0 unless WINDOW_KNOWN */
        double fullness; /* share of the window that has data, [0, 1] */
        int64_t age_ms;  /* of the newest step */
        /* The value is a mean of which less than half of the window has data: it is not remembered.
         */
        bool is_provisional;
        /* Of a maximum: the largest mean that is remembered, and its age, which may be too small by
         * one bucket; 0 and 0 if none is. */
        bool has_peak;
        double peak_ratio;
        int64_t peak_age_ms;
};

/** window_read() - the value of a window at @now_mono_ms */
struct window_reading window_read(const struct window_store *store,
                                  const struct metric_query *query, int64_t now_mono_ms);
