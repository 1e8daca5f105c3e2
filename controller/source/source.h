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
 * response has failed.
 *
 * Sources have an order of preference. A source is asked about a node only while no source before
 * it serves the node (track/node_track.h). A source that asks one server about all nodes does so
 * while at least one node needs it. Exporters have no place in the order: they are always asked.
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
#include "controller/source/credentials.h"
#include "controller/source/source_scope.h"
#include "controller/window/window.h"
#include "policy/policy.h"
#include "program/outage_log.h"

struct http_client;
struct kube_api;
struct loop;
struct metrics;
struct node_network_options;

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

/** source_reading_is_news() - false: a page that was served before */
static inline bool source_reading_is_news(const struct source_reading *reading) {
        return reading->step || reading->ready != 0;
}

/* What a source calls; the pointers are borrowed for the call, and nothing called here may call
 * the source. */
struct source_sink {
        void (*on_reading)(const struct source_sink *sink, struct node *node,
                           const struct source_reading *reading);
        /* An attempt that gave nothing. @reason: short static text, a label of metrics. */
        void (*on_failure)(const struct source_sink *sink, struct node *node, const char *reason);
        /* Does @node need the source now? NULL: does any node? */
        bool (*is_needed)(const struct source_sink *sink, const struct node *node);
        void *userdata;
        size_t source; /* the index of the one that calls */
};

enum { SOURCE_MAX = 16 };

/* What has to be known of a source to judge what it says. */
struct source_traits {
        int64_t interval_ms; /* between two readings of a node, > 0 */
        bool is_ready_made;  /* it hands in values and no steps: there is nothing for windows */
        bool is_costly;      /* each question costs the API server something, too: a replica that
                              * does not write asks less often */
        struct source_scope scope; /* those with an exporter stand behind all that have none */
};

/* A source as it is configured, before it runs (source_list.h). Strings are borrowed. */
struct source_spec {
        const struct source_kind *kind;
        const char *name; /* in the `source` label of metrics, and in logs */
        const char *url;  /* a template with {node} or {address}, or a server's address */
        struct source_traits traits;
        struct credentials_options credentials;
        const char *match; /* matchers of labels, for a server that knows several clusters; NULL */
        bool is_ratio;     /* the unit of recorded series, which is percent otherwise */
};

/* What sources need; borrowed. */
struct source_parts {
        struct loop *loop;
        struct http_client *client; /* for source_list_in_flight() requests at a time */
        struct kube_api *api;       /* NULL: no cluster, only with --target */
        struct metrics *metrics;
        const struct node_network_options *network;
        bool is_once;    /* every node twice, as soon as possible */
        bool is_at_once; /* the first reading of every node, too */
};

/* What a source may have in its entry of the file, beside `kind` and `interval`. */
enum source_field {
        SOURCE_HAS_NAME = 1 << 0,  /* which it must have, as an exporter does */
        SOURCE_HAS_URL = 1 << 1,   /* which it must have, unless the kind does */
        SOURCE_HAS_HTTP = 1 << 2,  /* see struct credentials_options */
        SOURCE_HAS_QUERY = 1 << 3, /* match and unit */
};

struct source;

/* A kind of source: it lives in one folder, and has one row in controller/source_kinds.c. @source
 * is the one that new() made; no function may be NULL that is not said to. */
struct source_kind {
        const char *name;            /* in --metrics-source and the file */
        unsigned fields;             /* enum source_field */
        const char *url;             /* unless another is given; NULL: none */
        const char *measure;         /* how it differs from node_exporter's measures; NULL: not */
        bool takes_targets;          /* it reads a URL that --target names */
        bool uses_account;           /* with the pod's own CA and token, unless others are given */
        struct source_traits traits; /* with the default interval */
        const void *own;             /* whatever new() needs to know of the kind */
        /* What to look at when a node fails for a reason; the last row is of no reason in
         * particular. */
        const struct source_hint { const char *reason, *see; } * hints;
        /** check() - @spec is complete but for this; @ret_field: which is wrong. NULL: all are
         * right
         */
        int (*check)(const struct source_spec *spec, const char **ret_field, struct error *err);
        /** new() - @parts and @spec are borrowed for the life of the source, @sink is copied */
        struct source *(*new)(const struct source_parts *parts, const struct source_spec *spec,
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

/* The head of every source. */
struct source {
        const struct source_kind *kind;
        struct outage_log outages; /* which nodes fail; its tick is the set's */
};

static inline void source_free(struct source *source) {
        if (source)
                source->kind->free(source);
}

/** source_timeout_ms() - of one request: whatever hangs has ended before the next one is due */
static inline int64_t source_timeout_ms(int64_t interval_ms) {
        int64_t timeout_ms = interval_ms * 9 / 10;

        return timeout_ms < 10000 ? timeout_ms : 10000;
}

/** source_hint() - what to look at when a source fails for @reason */
const char *source_hint(const struct source_kind *kind, const char *reason);
