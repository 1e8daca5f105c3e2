/*
 * Which source each node's readings come from, over all nodes: metrics, a line of /readyz?verbose,
 * and log lines when nodes switch to another source and back. The first few switches of a minute
 * are logged one by one, the rest in one summary line when the minute is over.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/log_limit.h"
#include "controller/track/node_track.h"
#include "metrics/metrics.h"
#include "net/health.h"

enum { FAILOVER_LINES_PER_MIN = 10 };

struct failover {
        size_t count; /* sources, without the exporters */
        const char *names[SOURCE_MAX];
        const char
                *measures[SOURCE_MAX]; /* see struct source_kind; NULL: none, or already logged */
        struct metrics_series *nodes[SOURCE_MAX];
        struct metrics *metrics;
        struct health_check *check;

        struct log_limit limit;
        size_t unlogged[SOURCE_MAX][SOURCE_MAX]; /* [from][to] */
};

/* One count over all nodes; zero-initialised. */
struct failover_tally {
        size_t nodes[SOURCE_MAX];
        size_t silent;             /* without a recent reading from any source */
        const char *node, *reason; /* a node that is not served by the first source, and why */
        size_t further;            /* such nodes */
};

/** failover_init() - @sources, the ordered ones, @metrics and @health outlive @failover */
void failover_init(struct failover *failover, struct metrics *metrics, struct health *health,
                   const struct source_item *sources, size_t count);

/**
 * failover_note() - @node's readings come from another source from now on
 * @reason: why they no longer come from @from; constant text
 */
void failover_note(struct failover *failover, int64_t now_mono_ms, const char *node, size_t from,
                   size_t to, const char *reason);

/** failover_count() - add a node to @tally */
void failover_count(struct failover_tally *tally, const struct node_track *track,
                    const struct compiled_policy *compiled, const char *node, int64_t now_mono_ms);
/** failover_publish() - every second or so */
void failover_publish(struct failover *failover, const struct failover_tally *tally,
                      int64_t now_mono_ms);
