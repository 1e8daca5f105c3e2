/*
 * Where readings come from. A source gets the nodes and the policy, collects at its own interval,
 * and hands in readings node by node: to the loop, a source that scrapes every node (scraper.h)
 * and one that queries a server about all of them look the same. CONTRIBUTING.md has what adding
 * one takes.
 *
 * What a source can hand in:
 *
 * - a step: what was used and what there was since the step before, per channel. It goes into the
 *   node's windows (window.h), and any metric whose name is a query is computed from them.
 * - values: metrics that the source delivers ready-made, by their index in the policy; published
 *   as they stand as long as they are fresh.
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

#include "base/error.h"
#include "controller/node/node_set.h"
#include "controller/source/source_scope.h"
#include "controller/window/window.h"
#include "policy/policy.h"
#include "program/outage_log.h"

struct http_client;
struct kube_api;
struct loop;
struct metrics;
struct node_network_options;
struct option_row;

static_assert(POLICY_MAX_METRICS <= 64, "source_reading's ready has a bit for each metric");

/* One reading of one node. */
struct source_reading {
        const struct window_step *step; /* NULL: none */
        uint64_t ready;                 /* a bit per policy metric that is in values_ratio */
        const double *values_ratio;     /* [metric of the policy]; NULL when `ready` is 0 */
        bool is_of_last_policy;         /* it was asked for before the policy in force */
        /* [WINDOW_MAX_CHANNELS]: why the reading has no value of a wanted resource, for --dry-run;
         * constant text, NULL where it has one. May be NULL itself */
        const char *const *why;
};

/* What a source calls; the pointers are borrowed for the call, and nothing called here may call
 * the source. */
struct source_sink {
        void (*on_reading)(const struct source_sink *sink, struct node *node,
                           const struct source_reading *reading);
        /* An attempt that gave nothing. @reason: short static text, a label of metrics. */
        void (*on_failure)(const struct source_sink *sink, struct node *node, const char *reason);
        /* Shall @node be asked about now? Called by sources that are asked on demand. */
        bool (*is_wanted)(const struct source_sink *sink, const struct node *node);
        void *userdata;
        size_t source; /* the index of the one that calls */
};

enum {
        SOURCE_MAX_KINDS = 5, /* of controller/source_kinds.c */
        SOURCE_MAX_EXPORTERS = 11,
        SOURCE_MAX = SOURCE_MAX_KINDS + SOURCE_MAX_EXPORTERS,
};

/* What has to be known of a source to judge what it says. */
struct source_traits {
        int64_t interval_ms; /* between two readings of a node, > 0 */
        bool is_ready_made;  /* it hands in values and no steps: there is nothing for windows */
        bool is_on_demand;   /* else it is kept warm; see the top of this file */
        struct source_scope scope; /* those with an exporter stand behind all that have none */
};

/* What sources need; borrowed. */
struct source_parts {
        struct loop *loop;
        struct http_client *client; /* for source_set_in_flight() requests at a time */
        struct kube_api *api;       /* NULL: no cluster, only with --target */
        struct metrics *metrics;
};

struct source;
struct source_item;

/* What a source does. @source is the one that new() made; no function may be NULL but in_flight. */
struct source_ops {
        /** new() - @parts and @item are borrowed for the life of the source, @sink is copied */
        struct source *(*new)(const struct source_parts *parts, const struct source_item *item,
                              const struct source_sink *sink);
        /** in_flight() - of a source that asks every node: how many requests at a time. NULL: it
         * asks one server about all nodes, a few requests at a time */
        size_t (*in_flight)(size_t nodes);
        /** set_policy() - what is wanted from now on; @policy is borrowed until the next call */
        void (*set_policy)(struct source *source, const struct policy *policy);
        /** add_node() - also after an address has changed: the source begins to ask about it */
        void (*add_node)(struct source *source, struct node *node);
        /** remove_node() - forget it; nothing about it is handed in any more */
        void (*remove_node)(struct source *source, struct node *node);
        /** free() - ends what is under way without calls */
        void (*free)(struct source *source);
};

/* What sources need to know beside their own flags. */
struct source_setup {
        bool is_once;     /* every node twice, as soon as possible */
        bool has_targets; /* nodes are those of --target */
        bool opens_files; /* can files be read, too? For --check-config */
        const struct node_network_options *network;
};

struct source_set_options;

/* A kind of source: it lives in one folder, and has one row in controller/source_kinds.c. */
struct source_kind {
        const char *name;    /* in --metrics-source, the `source` label of metrics, and in logs */
        const char *hint;    /* flags to look at when nothing comes: "--node-exporter-port, ..." */
        const char *measure; /* how it differs from node_exporter's measures; NULL: not */
        bool takes_targets;  /* it reads a URL that --target names */
        const struct source_ops *ops;
        /* Its flags, for the controller's table; where their values go belongs to the kind. */
        const struct option_row *rows;
        size_t row_count;
        /** configure() - check its flags, and fill in the source_set_item() if there is one. NULL:
         * another kind in the same folder does it */
        int (*configure)(struct source_set_options *set, const struct source_setup *setup,
                         struct error *err);
};

/* A source as the flags want it, before it runs. */
struct source_item {
        const struct source_kind *kind;
        const void *options; /* of the kind's own type, borrowed */
        struct source_traits traits;
};

/* The head of every source. */
struct source {
        const struct source_ops *ops;
        struct outage_log outages; /* which nodes fail; its tick is the set's */
};

static inline void source_free(struct source *source) {
        if (source)
                source->ops->free(source);
}
