/*
 * The kinds of expositions, and how an exposition becomes a reading. Prepared once per policy and
 * shared by all targets of a source. No I/O: the clocks are arguments.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "controller/exposition/kubelet_reading.h"
#include "controller/exposition/node_reading.h"
#include "controller/exposition/node_state.h"
#include "controller/node/target_url.h"
#include "controller/source/source.h"
#include "policy/policy.h"

struct scrape_reader;
struct scrape_result;

/* A target's previous exposition; only one member is used. Zero-initialised: none. */
struct scrape_state {
        struct node_state node;
        struct kubelet_state kubelet;
        bool has_cpu_step; /* the kubelet has had one */
};

/* How to scrape one kind of exporter. */
struct scrape_profile {
        bool has_collectors; /* understands ?collect[]=, and reports its host name */
        /** url() - append the URL of @node, whose certificate must have the node's name; false: it
         * is too long. NULL: the URL is the source's, or the target's */
        bool (*url)(const struct scrape_reader *reader, const struct node *node,
                    const char *address, struct buf *out);
        /** take() - set the empty @ret to a reading or a failure */
        void (*take)(struct scrape_reader *reader, struct scrape_state *state,
                     const struct node *node, const struct buf *body,
                     const struct kubelet_clocks *clocks, struct scrape_result *ret);
};

extern const struct scrape_profile scrape_node_exporter, scrape_kubelet, scrape_pods,
        scrape_exporter;

/* The state of another node; NULL: its exposition is unknown and not expected */
typedef const struct scrape_state *scrape_state_fn(void *userdata, const struct node *node);

struct scrape_reader {
        const struct source_kind *kind;
        const struct scrape_profile *profile; /* the kind's */
        scrape_state_fn *state_of;
        void *userdata; /* of state_of */
        struct node_wants wants;
        const char *collectors[NODE_MAX_COLLECTORS];
        size_t collector_count;
        struct node_reading *reading;
        struct kubelet_wants kubelet;
};

struct scrape_result {
        struct source_reading reading;
        const char *failure; /* static text; NULL: there is a reading */
        const char *detail;  /* static text, or `text` */
        char text[64 + NODE_HOST_NAME_MAX];
        size_t malformed;
        struct window_step step;
        double values_ratio[POLICY_MAX_METRICS];
        const char *why[WINDOW_MAX_CHANNELS];
};

/* The failure if an exposition belongs to another node. */
extern const char scrape_reader_other_node[];

/** scrape_reader_init() - if the kind is ready-made (source_traits), each metric of the policy is
 * the gauge node_<name>, in percent */
void scrape_reader_init(struct scrape_reader *reader, const struct source_kind *kind,
                        scrape_state_fn *state_of, void *userdata);
void scrape_reader_done(struct scrape_reader *reader);

/** scrape_reader_set_policy() - @policy is borrowed until the next call. The caller must call
 * node_state_forget_own() for all states */
void scrape_reader_set_policy(struct scrape_reader *reader, const struct policy *policy,
                              const struct source_scope *scope,
                              const struct node_network_options *network);
void scrape_state_done(struct scrape_state *state);

/** scrape_reader_take() - @ret must not be moved */
void scrape_reader_take(struct scrape_reader *reader, struct scrape_state *state,
                        const struct node *node, const struct buf *body,
                        const struct kubelet_clocks *clocks, struct scrape_result *ret);
