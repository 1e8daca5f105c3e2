/*
 * What kinds of pages there are, and how a page becomes a reading. Prepared once per policy, shared
 * by all targets of a source. No I/O: the clocks are arguments.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/exposition/kubelet_reading.h"
#include "controller/exposition/node_reading.h"
#include "controller/exposition/node_state.h"
#include "controller/source/source.h"
#include "policy/policy.h"

/* Whose pages. */
struct scrape_profile {
        const char *name;    /* the source's; NULL: see scrape_options' exporter */
        const char *hint;    /* flags to look at when nothing comes */
        const char *measure; /* see struct source_ops */
        bool has_collectors; /* understands ?collect[]= */
        /* Every metric of the policy is the gauge node_<name> in percent; nothing else is read. */
        bool is_agent;
        /* At the port and path that the Node says, with a certificate of the node's name. Asked on
         * demand. */
        bool is_kubelet;
};

extern const struct scrape_profile scrape_node_exporter;
/* The agent of crane-scheduler-plus: https://github.com/kubeservice-stack/node-metrics */
extern const struct scrape_profile scrape_agent;
extern const struct scrape_profile scrape_kubelet;
/* One more exporter on every node; only the policy's metrics that are declared with its name. */
extern const struct scrape_profile scrape_exporter;

/* The page before, of one target. Zero-initialised: none. */
union scrape_state {
        struct node_state node;
        struct kubelet_state kubelet;
};

/* What is known of another node; NULL: nothing, and its page is not going to come */
typedef const union scrape_state *scrape_state_fn(void *userdata, const struct node *node);

struct scrape_reader {
        const struct scrape_profile *profile;
        scrape_state_fn *state_of;
        void *userdata; /* of state_of */
        bool is_idle;   /* the policy wants nothing of it */
        struct node_wants wants;
        size_t ready_metrics[NODE_MAX_READY]; /* wants' ready index -> the policy's metric */
        const char *collectors[NODE_MAX_COLLECTORS];
        size_t collector_count;
        struct node_reading *reading;
        struct kubelet_wants kubelet;
};

struct scrape_result {
        struct source_reading reading;
        const char *failure; /* static text; NULL: there is a reading */
        const char *detail;  /* static text, or the result's own */
        char text[64 + NODE_HOST_NAME_MAX];
        size_t malformed;
        struct window_step step;
        double values_ratio[POLICY_MAX_METRICS];
        const char *why[WINDOW_MAX_CHANNELS];
};

/* The failure of a page that says that it is another node's. */
extern const char scrape_reader_other_node[];

void scrape_reader_init(struct scrape_reader *reader, const struct scrape_profile *profile,
                        scrape_state_fn *state_of, void *userdata);
void scrape_reader_done(struct scrape_reader *reader);

/** scrape_reader_set_policy() - @policy is borrowed until the next call; scrape_reader_forget_own()
 * is due for all states */
void scrape_reader_set_policy(struct scrape_reader *reader, const struct policy *policy,
                              const struct source_scope *scope,
                              const struct node_network_options *network);
/** scrape_reader_forget_own() - the policy's own resources are others now */
void scrape_reader_forget_own(const struct scrape_reader *reader, union scrape_state *state);
void scrape_reader_reset(const struct scrape_reader *reader, union scrape_state *state);

/** scrape_reader_take() - @page is complete when it ends its last line; @ret must not be moved */
void scrape_reader_take(struct scrape_reader *reader, union scrape_state *state,
                        const struct node *node, const struct buf *page,
                        const struct kubelet_clocks *clocks, struct scrape_result *ret);
