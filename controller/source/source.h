/*
 * Where readings come from. A source is told which nodes there are and what the policy wants, asks
 * whomever it asks in its own rhythm, and hands in what it learns, node by node: one that scrapes
 * every node (page_source.h) and one that asks a server about all of them at once look the same
 * from the loop. source_set.h says what adding one takes.
 *
 * What a source can hand in:
 *
 * - a step: what was used and what there was since the step before, per channel. It goes into the
 *   node's windows (window.h), and any metric whose name is a query is computed from them.
 * - values: metrics that the source delivers ready-made, by their index in the policy; published
 *   as they stand as long as they are fresh.
 * - a peak of before we looked, for the maxima over a long window: history, whoever tells it, so
 *   windows of other sources learn it as well.
 *
 * Every attempt on a node ends in a reading or in a failure: a node about which a server says
 * nothing has failed. By that the loop knows when to believe the next source instead, and --once
 * when it has seen enough.
 *
 * Everything happens on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/node/node_set.h"
#include "controller/source/source_scope.h"
#include "controller/window/window.h"
#include "policy/policy.h"

/* One answer about one node. */
struct source_reading {
        const struct window_step *step; /* NULL: none */
        uint64_t ready;                 /* a bit per policy metric that is in values_ratio */
        const double *values_ratio;     /* [metric of the policy]; NULL when `ready` is 0 */
        /* [channel], WINDOW_MAX_CHANNELS of them: why the answer says nothing about a resource that
         * is wanted; constant text for --dry-run, NULL where there is nothing to say. May be NULL
         */
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
        void *userdata;
};

enum { SOURCE_MAX = 16 };

/* What has to be known of a source to judge what it says. */
struct source_traits {
        int64_t interval_ms; /* between two readings of a node, > 0 */
        bool is_ready_made;  /* it hands in values and no steps: there is nothing for windows */
        struct source_scope scope; /* those with an exporter stand behind the others */
};

struct source;

/* What a source is. @source is the one that its constructor made; none may be NULL. */
struct source_ops {
        const char *name; /* "node-exporter": the `source` label of metrics, and in logs */
        const char *hint; /* flags to look at when nothing comes: "--node-exporter-port, ..." */
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
