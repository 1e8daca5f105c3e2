/*
 * Where readings come from. A source gets the nodes and the policy, collects at its own interval,
 * and hands in readings node by node. It may scrape every node (scraper.h) or query a server about
 * all nodes; the loop sees no difference. CONTRIBUTING.md shows how to add one: it fills a
 * struct source_kind, runs with a struct source, and hands in a struct source_reading.
 *
 * A reading has one or both of:
 *
 * - a step: usage and capacity since the previous step, per channel. It goes into the node's
 *   windows (window.h), from which any metric whose name is a query is computed.
 * - values: ready-made metrics, by their index in the policy. They are published unchanged while
 *   they are fresh.
 *
 * Every attempt on a node ends in a reading or a failure. A node that is missing from a server's
 * response has failed.
 *
 * Sources have an order of preference. A source is asked about a node only while no source before
 * it serves the node (track/node_track.h). A source that asks one server about all nodes does so
 * while at least one node needs it. Exporters are not part of the order: they are always asked.
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
        /* [WINDOW_MAX_CHANNELS]: for --dry-run, why the reading lacks a resource that the policy
         * needs; constant text, NULL where it does not. May be NULL itself */
        const char *const *why;
};

/** source_reading_is_news() - false: the page was served before */
static inline bool source_reading_is_news(const struct source_reading *reading) {
        return reading->step || reading->ready != 0;
}

/* An attempt without a result. */
struct source_failure {
        const char *reason; /* short static text, a label of metrics */
        const char
                *detail; /* for the log; NULL: the source fails for all nodes, and has logged it */
        const char *url; /* for the log; NULL: none */
};

/* What a source calls. The pointers are borrowed for the call. None of these functions may call the
 * source. */
struct source_sink {
        void (*on_reading)(const struct source_sink *sink, struct node *node,
                           const struct source_reading *reading);
        void (*on_failure)(const struct source_sink *sink, struct node *node,
                           const struct source_failure *failure);
        /* Does @node need the source now? NULL: does any node? */
        bool (*is_needed)(const struct source_sink *sink, const struct node *node);
        void *userdata;
        size_t source; /* the index of the calling source */
};

enum { SOURCE_MAX = 16 };

/* How to interpret a source's readings. */
struct source_traits {
        int64_t interval_ms;       /* between two readings of a node, > 0 */
        bool is_ready_made;        /* it hands in values, but no steps for windows */
        bool is_costly;            /* each question also costs the API server something: a replica
                                    * that does not write asks less often */
        struct source_scope scope; /* a scope with an exporter comes after all without one */
};

/* The configuration of a source (source_list.h). Strings are borrowed. */
struct source_spec {
        const struct source_kind *kind;
        const char *name; /* in the `source` label of metrics and in logs */
        const char *url;  /* a template with {node} or {address}, or the address of a server */
        struct source_traits traits;
        struct credentials_options credentials;
        const char *match; /* label matchers, for a server with several clusters; NULL: none */
        bool is_ratio;     /* the unit of recorded series; otherwise they are percentages */
};

/* The head of every source: what it runs with. Pointers are borrowed. */
struct source {
        const struct source_spec *spec;
        struct loop *loop;
        struct http_client *client; /* for source_list_in_flight() requests at a time */
        struct kube_api *api;       /* NULL: no cluster, only with --target */
        struct metrics *metrics;
        const struct node_network_options *network;
        bool is_once;            /* read every node twice, as soon as possible */
        bool is_at_once;         /* do not wait for the first moment of a node */
        int64_t delay_ms;        /* after the moment at which other sources read a node */
        struct source_sink sink; /* where readings go */
};

/* The fields of an entry in the file, in addition to `kind` and `interval`. */
enum source_field {
        SOURCE_HAS_NAME = 1 << 0,  /* required, as for an exporter */
        SOURCE_HAS_URL = 1 << 1,   /* required unless the kind has one */
        SOURCE_HAS_HTTP = 1 << 2,  /* see struct credentials_options */
        SOURCE_HAS_QUERY = 1 << 3, /* match and unit */
};

/* A kind of source: it has its own folder and a row in controller/source_kinds.c. new() makes the
 * @source of the other functions. A function may be NULL only if its comment says so. */
struct source_kind {
        const char *name;            /* in --metrics-source and the file */
        unsigned fields;             /* enum source_field */
        const char *url;             /* the default; NULL: none */
        const char *measure;         /* the difference to node_exporter's values; NULL: none */
        bool takes_targets;          /* can read a URL of --target */
        bool uses_account;           /* the pod's own CA and token are the default credentials */
        struct source_traits traits; /* with the default interval */
        const void *own;             /* for the kind's new() */
        /* What to check when a node fails for a reason. The last row is for all other reasons. */
        const struct source_hint { const char *reason, *see; } * hints;
        /** check() - check the last details of @spec; @ret_field: the one that is wrong. NULL:
         * there is nothing to check */
        int (*check)(const struct source_spec *spec, const char **ret_field, struct error *err);
        /** new() - @head is copied to the beginning of the new source */
        struct source *(*new)(const struct source *head);
        /** in_flight() - how many requests the source may send at a time. NULL: a few, since it
         * asks one server about all nodes */
        size_t (*in_flight)(size_t nodes);
        /** set_policy() - requests under way end or begin again; @policy is borrowed until the next
         * call. NULL: the source reads the same for every policy */
        void (*set_policy)(struct source *source, const struct policy *policy);
        /** add_node() - read the node from now on; also called after its address has changed */
        void (*add_node)(struct source *source, struct node *node);
        /** remove_node() - forget the node; no reading of it is handed in any more */
        void (*remove_node)(struct source *source, struct node *node);
        /** free() - cancel requests, without calling the sink */
        void (*free)(struct source *source);
};

/** source_timeout_ms() - for one request, so that it ends before the next one is due */
int64_t source_timeout_ms(const struct source *source);

/** source_hint() - what to check when a source fails for @reason */
const char *source_hint(const struct source_kind *kind, const char *reason);
