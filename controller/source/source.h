/*
 * Where readings come from. A source gets the nodes and the policy, collects at its own interval,
 * and hands in readings node by node: to the loop, a source that scrapes every node (scraper.h)
 * and one that queries a server about all of them look the same. source_set.h has what adding one
 * takes.
 *
 * What a source can hand in:
 *
 * - a step: what was used and what there was since the step before, per channel. It goes into the
 *   node's windows (window.h), and any metric whose name is a query is computed from them.
 * - values: metrics that the source delivers ready-made, by their index in the policy; published
 *   as they stand as long as they are fresh.
 * - a peak from before the start, for the maxima over a long window: history, which the windows of
 *   all sources take.
 *
 * Every attempt on a node ends in a reading or in a failure; a node that is missing from a server's
 * response has failed. On failures the loop turns to the next source, and --once ends when every
 * node has had an attempt.
 *
 * A source is kept warm or asked on demand. *Warm*: it is read all the time, so that its windows
 * are filled when the one before it fails; that is the rule. *On demand*: each question costs
 * somebody else, a kubelet's the API server a review of the token now and then. Such a source is
 * asked about a node only while no source before it serves the node, and less often by a replica
 * that does not write.
 *
 * Everything happens on the loop's thread.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/node/node_set.h"
#include "controller/source/source_scope.h"
#include "controller/window/window.h"
#include "policy/policy.h"

static_assert(POLICY_MAX_METRICS <= 64, "source_reading's ready has a bit for each metric");

/* One reading of one node. */
struct source_reading {
        const struct window_step *step; /* NULL: none */
        uint64_t ready;                 /* a bit per policy metric that is in values_ratio */
        const double *values_ratio;     /* [metric of the policy]; NULL when `ready` is 0 */
        /* [WINDOW_MAX_CHANNELS]: why the reading has no value of a wanted resource, for --dry-run;
         * constant text, NULL where it has one. May be NULL itself */
        const char *const *why;
};

/* What a source calls; the pointers are borrowed for the call, and nothing called here may call
 * the source. */
struct source_sink {
        void (*on_reading)(void *userdata, struct node *node, const struct source_reading *reading);
        /* An attempt that gave nothing. @reason: short static text, a label of metrics. */
        void (*on_failure)(void *userdata, struct node *node, const char *reason);
        /* @ratio was @query's value @age_ms ago (history from before this process). */
        void (*on_peak)(void *userdata, struct node *node, const struct metric_query *query,
                        double ratio, int64_t age_ms);
        /* Shall @node be asked about at this turn? Called by sources that are asked on demand. */
        bool (*is_wanted)(void *userdata, const struct node *node);
        void *userdata;
};

enum { SOURCE_MAX = 16 };

/* What has to be known of a source to judge what it says. */
struct source_traits {
        int64_t interval_ms; /* between two readings of a node, > 0 */
        bool is_ready_made;  /* it hands in values and no steps: there is nothing for windows */
        bool is_on_demand;   /* else it is kept warm; see the top of this file */
        struct source_scope scope; /* those with an exporter stand behind the others */
};

struct source;

/* What a source is. @source is the one that its constructor made; no function may be NULL. */
struct source_ops {
        const char *name;    /* "node-exporter": the `source` label of metrics, and in logs */
        const char *hint;    /* flags to look at when nothing comes: "--node-exporter-port, ..." */
        const char *measure; /* how it differs from node_exporter's measures; NULL: not */
        /** set_policy() - what is wanted from now on; @policy is borrowed until the next call */
        void (*set_policy)(struct source *source, const struct policy *policy);
        /** add_node() - also after an address has changed: the source begins to ask about it */
        void (*add_node)(struct source *source, struct node *node);
        /** remove_node() - forget it; nothing about it is handed in any more */
        void (*remove_node)(struct source *source, struct node *node);
        /** stop() - ask nobody any more; ends what is under way without calls */
        void (*stop)(struct source *source);
        void (*free)(struct source *source);
};

/* The head of every source. */
struct source {
        const struct source_ops *ops;
};

static inline void source_free(struct source *source) {
        if (source)
                source->ops->free(source);
}
DEFINE_FREEP(struct source, source_free);
