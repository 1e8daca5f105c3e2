/*
 * Usage over trailing windows, for one node. Pure: the time is an argument, always of the monotonic
 * clock, so that a step of the wall clock means nothing here.
 *
 * Every quantity (a *channel*: cpu, mem, ...) is a pair of sums, what was used and what there was:
 *
 *     counter   num += d(busy)       den += d(total)     between two scrapes
 *     gauge     num += ratio * dt    den += dt           each scrape counts for the time since the
 *                                                        one before
 *     avg_W  =  sum num / sum den over the W that end with the newest scrape
 *
 * so that counters give the exact ratio of differences and gauges the time-weighted mean. Steps
 * are kept, not running totals: an absurd step is forgotten when it leaves the window, where it
 * would spoil a running total's precision for good; and floats are then enough (relative error
 * below 1e-6, annotations have five decimals).
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
 * A new cell takes the place of the oldest. A bucket has a number, its time divided by its width,
 * and lies at that number modulo the ring's capacity: what lay there has left the window.
 *
 * - A ring of cells per avg window. A cell takes scrapes until it spans `window_resolution_ms()`:
 *   each scrape its own cell in 5 minutes at the usual 15 s, a minute in an hour, 5 minutes in
 *   a day; an interval of two cells' width has one to itself. A cell has for each channel how much
 *   of its span has data. The cell across the window's old edge counts by the share of
 *   its time that lies within. So avg_5m equals linear interpolation between scrapes; longer
 *   windows may differ from it by a quarter of a cell over the window (0.4 % in an hour, 0.09 % in
 *   a day; four times that when the data of the cell at the edge are interrupted by a gap).
 * - A ring of peaks per max window: the largest 5-minute mean per bucket of the same resolution,
 *   evaluated at every step. The bucket across the old edge counts in full, so that a peak is
 *   forgotten at most one bucket late (1/60 of an hour, 1/288 of a day) and never early.
 * - Quantile windows keep the last 5-minute mean of each bucket, nearest rank.
 *
 * A mean of ours counts as a peak (or towards a quantile) only when at least half of its 5 minutes
 * have data; until then it is published while it is current, and not remembered: 15 busy seconds
 * after a start would otherwise stand as a "5-minute mean" for a day. A maximum shows it only while
 * none above 0 is remembered.
 *
 * Gaps: an interval longer than the plan's gap has no data: four scrape intervals but at least a
 * minute for a gauge, as long but at least 5 minutes for a counter. A single scrape has no interval
 * and publishes nothing.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/metric_name.h"
#include "policy/policy.h"

/* Channels are small numbers: a metric_query's resource. The first METRIC_RESOURCE_COUNT are built
 * in; those that a policy declares for itself (a GPU's utilisation) follow. */
enum { WINDOW_MAX_CHANNELS = 32 };
static_assert(WINDOW_MAX_CHANNELS <= 32, "masks of channels have 32 bits");
static_assert((int)METRIC_RESOURCE_COUNT + (int)POLICY_MAX_RESOURCES <= (int)WINDOW_MAX_CHANNELS,
              "every resource has its channel");

enum { WINDOW_MEAN_MS = 5 * 60 * 1000 }; /* the mean that max and quantile windows look at */

/* What one scrape adds, for the time since the step before. */
struct window_step {
        int64_t at_mono_ms;
        uint32_t counters; /* channels (1u << channel) with num and den: used, and available */
        uint32_t gauges;   /* channels with only num: the ratio now */
        uint32_t means;    /* channels with only num: the mean of the 5 minutes that end now, of
                              a source with data of its own; no interval is needed */
        double num[WINDOW_MAX_CHANNELS];
        double den[WINDOW_MAX_CHANNELS];
};

/* Which windows are kept: compiled from the policy's queries, shared by all stores, immutable. */
struct window_plan;

/**
 * window_plan_new() - lay out the windows that @queries need
 * @scrape_interval_ms: > 0; the gaps derive from it
 * Return: owned by the caller; must outlive the stores that use it
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

/* A new plan's channels in the old plan; -1: it had none, or for another resource. */
struct window_renumbering {
        int8_t was[WINDOW_MAX_CHANNELS];
};

/**
 * window_store_replan() - the same history under another plan
 * @renumbering: NULL: every channel has its old number
 *
 * A window that both plans have keeps its history, channel by channel. Others begin with the next
 * step. The result does not use the old plan.
 * @store: consumed
 */
struct window_store *window_store_replan(struct window_store *store, const struct window_plan *plan,
                                         const struct window_renumbering *renumbering);

/**
 * window_store_add() - account for one scrape
 *
 * A step not after the last one is ignored. So are, per channel, values that are not finite,
 * negative, or of an interval longer than allowed; num above den is cut to den.
 * Return: the channels for which the interval counted
 */
uint32_t window_store_add(struct window_store *store, const struct window_step *step);

/**
 * window_store_seed() - remember a peak that was known before this store began
 *
 * @ratio was published for @query @age_ms ago (negative counts as 0): it becomes a 5-minute mean of
 * that moment in every max window of the channel that is as long as @query's or longer, and is
 * forgotten with the window. Values of max queries and of avg_5m are 5-minute means; of avg_5m also
 * in quantile windows, where it fills an empty bucket. Other queries, ages beyond the window and
 * ratios that are negative or not finite change nothing.
 * Return: true when a window stored it
 */
bool window_store_seed(struct window_store *store, const struct metric_query *query, double ratio,
                       int64_t age_ms, int64_t now_mono_ms);

/** window_store_restart_means() - drop the means of @channel, as if its next interval were the
 * first; maxima and quantiles keep what they have */
void window_store_restart_means(struct window_store *store, unsigned channel);

enum window_status {
        WINDOW_KNOWN,
        WINDOW_NOT_PLANNED, /* the plan has no such window */
        WINDOW_NO_SCRAPE,   /* nothing yet */
        WINDOW_ONE_SCRAPE,  /* an interval takes two */
        WINDOW_NO_DATA,     /* scraped, but no interval within the window had usable values */
        WINDOW_STALE,       /* the last scrape is older than the window */
};

/** window_status_text() - "only one scrape so far", for explain and --dry-run; constant */
const char *window_status_text(enum window_status status);

struct window_reading {
        enum window_status status;
        double ratio;    /* 0 unless WINDOW_KNOWN */
        double fullness; /* share of the window's time that has data, [0, 1] */
        int64_t age_ms;  /* of the newest step */
        /* Less than half of the mean's window has data; or a maximum or quantile is such a mean,
         * which is not remembered. */
        bool is_provisional;
        /* Of a maximum: the largest mean that is remembered, and how long ago that was, at most by
         * a bucket less; 0 and 0 when none is. */
        bool has_peak;
        double peak_ratio;
        int64_t peak_age_ms;
};

/** window_read() - a window's value at @now_mono_ms, and how it came about */
struct window_reading window_read(const struct window_store *store,
                                  const struct metric_query *query, int64_t now_mono_ms);
