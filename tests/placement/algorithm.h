/*
 * A way to choose among nodes: what an extender or a plugin adds to kube-scheduler's own scores.
 */
#pragma once

#include "published.h"
#include "world.h"

enum { SCORE_REJECTED = -1, SCORE_BEST = 100 };
enum { EVICTED_MAX = 256 }; /* pods at once */

enum algorithm_policy {
        ALGORITHM_NEEDS_NOTHING,      /* no annotations are written */
        ALGORITHM_NEEDS_CRANE_POLICY, /* crane's metrics, limits and weights */
        ALGORITHM_NEEDS_MEANS, /* of --policy: 5-minute means of cpu and mem, every 3 minutes */
        ALGORITHM_NEEDS_KINDS,
};

struct algorithm;

struct situation {
        const struct algorithm *algorithm;
        const struct world *world;
        const struct published *published; /* NULL: ALGORITHM_NEEDS_NOTHING */
        const struct policy *policy;
};

/* Of hot node-minutes, what the estimate would leave. NAN: not known. */
struct prediction {
        double ratio, low, high;
};

/* What an algorithm is; `new`, `free`, the events and `options` may be NULL. */
struct algorithm {
        const char *name;
        const char *about; /* one line for --help */
        enum algorithm_policy needs;
        /* By Plimsoll's controller; otherwise by crane's, which writes every value when it is due,
         * and only then. */
        bool is_fed_by_ours;
        int weight;             /* of its scores */
        bool is_filter;         /* a plugin that rejects: the search for nodes goes on for others */
        bool is_instead_of_fit; /* NodeResourcesFit and -BalancedAllocation are switched off */
        bool is_packing;        /* NodeResourcesFit's strategy is MostAllocated */
        const void *options;    /* its own */
        /* What the others get as `self`; NULL: the situation. */
        void *(*new)(const struct situation *situation);
        void (*free)(void *self);
        /* When a pod was chosen a node, before anything is seen of it: for a plugin that reserves.
         */
        void (*on_chosen)(void *self, const struct pod *pod);
        /* After a node's annotations were written, a pod's binding, start or end was seen, a
         * second. */
        void (*on_written)(void *self, size_t node);
        void (*on_bound)(void *self, const struct pod *pod);
        void (*on_started)(void *self, const struct pod *pod);
        void (*on_ended)(void *self, const struct pod *pod);
        void (*on_second)(void *self);
        /** decide() - 0 to SCORE_BEST for each candidate, or SCORE_REJECTED */
        void (*decide)(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                       int *ret_scores);
        /** estimated_ratio() - what the last decide() took the CPU usage of one of its candidates
         * for, before the pod is added; NAN: not known. NULL: it takes it for nothing */
        double (*estimated_ratio)(const void *self, uint32_t node);
        /** predict() - what the product's trial says at the end; NULL: there is none */
        void (*predict)(const void *self, struct prediction *ret);
        /** evict() - each minute, pods that run: their workloads' controllers make others. Return:
         * how many of @ret; NULL: nobody evicts */
        size_t (*evict)(const struct situation *situation, void *self,
                        struct pod *ret[static EVICTED_MAX]);
};

extern const struct algorithm algorithm_default, algorithm_crane, algorithm_koordinator,
        algorithm_most_allocated, algorithm_koordinator_0, algorithm_koordinator_p95,
        algorithm_koordinator_3, algorithm_koordinator_p95_3, algorithm_tlp, algorithm_tlp_tuned,
        algorithm_tlp_prometheus, algorithm_lvrb, algorithm_estimate, algorithm_workloads,
        algorithm_rebalance, algorithm_rebalance_ms, algorithm_admission, algorithm_oracle,
        algorithm_trial;
/* The estimate without one of its parts, up to NULL; see algorithm_estimate.c. */
extern const struct algorithm *const algorithm_estimate_parts[];
