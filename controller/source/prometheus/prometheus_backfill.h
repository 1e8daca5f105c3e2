/*
 * History from Prometheus for windows that are new: the 5-minute means of the last hour by the
 * minute and of the last day by five minutes, for the resources that have maxima or quantiles, so
 * that a fresh installation knows yesterday's peak at once.
 *
 * There is one range query at a time, newest first. Each asks for a piece of history that is short
 * enough for a small reply, however many nodes there are. The queries for present values go on at
 * the same time. A piece that fails is queried again with half as many points. After three retries
 * in a row the resource is given up, and its windows fill with present readings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/source/prometheus/prometheus_api.h"
#include "controller/source/prometheus/prometheus_round.h"
#include "controller/source/source.h"

enum { PROMETHEUS_BACKFILL_LONGEST_MS = 24 * 60 * 60 * 1000 };

struct prometheus_backfill;

/* Borrowed. */
struct prometheus_backfill_options {
        struct prometheus_round *round; /* whose nodes and policy it is for */
        const struct source_sink *sink; /* gets the peaks */
        /* A resource's history has been read, or was given up. */
        void (*on_done)(void *userdata, unsigned resource);
        void *userdata;
};

struct prometheus_backfill *prometheus_backfill_new(
        struct loop *loop, struct prometheus_api *api, struct metrics *metrics,
        const struct prometheus_backfill_options *options);
/** prometheus_backfill_free() - as prometheus_backfill_drop() */
void prometheus_backfill_free(struct prometheus_backfill *backfill);

/**
 * prometheus_backfill_add() - read a resource's last @reach_ms, after those that were added before
 * @resource:   not one that was added since then
 * @reach_ms:   cut to PROMETHEUS_BACKFILL_LONGEST_MS
 * @now_unix_s: the time by Prometheus' clock
 */
void prometheus_backfill_add(struct prometheus_backfill *backfill, unsigned resource,
                             int64_t reach_ms, double now_unix_s);
/** prometheus_backfill_drop() - cancel the query and drop all resources, without calls; to
 * be done before the round's policy changes */
void prometheus_backfill_drop(struct prometheus_backfill *backfill);
