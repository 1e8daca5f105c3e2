/*
 * Which running pods to move off hot nodes, and where the scheduler would place each of them.
 *
 *     hottest node first     its estimate is above its line (rebalance_line.h)
 *     one pod of it          the smallest that cools the node down, else the largest
 *     the judge's best node  moves the pod only if that node stays below its own line with the pod
 *                            and its margin; otherwise the next pod is tried
 *
 * A plan moves at most one pod off each node and one onto each node, one pod of each workload, and
 * REBALANCE_NODE_SHARE of the number of nodes. The caller asks the judge. A workload with a pod
 * that does not run yet is left alone, so an eviction that is under way needs no memory: it shows.
 * So does one that was for nothing: a pod of the same workload was bound to the node since. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"
#include "policy/rebalance/rebalance_line.h"

#define REBALANCE_POD_RATIO 0.05 /* of a node; moving a smaller pod is not worth an eviction */
#define REBALANCE_NODE_SHARE 0.02

enum {
        /* A younger pod stays: it may soon end, or have moved a moment ago. */
        REBALANCE_AGE_MS = 3600000,
        REBALANCE_READ_MAX = 8,
};

#define REBALANCE_UNKNOWN UINT32_MAX /* a row: not among the nodes */

struct rebalance_row {
        double usage_ratio;  /* of its CPUs, as it is estimated; NAN: unknown */
        double margin_ratio; /* for what its pods may use beyond that */
        double cores;        /* 0: unknown */
        bool is_expired;     /* its readings are */
        struct rebalance_line line;
        bool is_closed;       /* it is no target */
        struct pod_load free; /* allocatable less what its pods request */
};

/* A workload that runs. */
struct rebalance_workload {
        size_t running_count, pending_count; /* pods that run, and pods that do not run yet */
};

/* A scheduler asks an extender if one was asked about each pod of the last second in which it bound
 * any, however long ago. Calls prove nothing, since anybody can send them. */
struct rebalance_scheduler {
        int64_t last_unix_ms; /* by the API server, in seconds; 0: unknown */
        bool is_asking;
};

/* A pod that is bound. */
struct rebalance_pod {
        uint32_t row; /* its node; REBALANCE_UNKNOWN: not among the nodes */
        const struct rebalance_workload *workload; /* NULL: it has no owner that replaces it */
        struct rebalance_scheduler *scheduler;     /* set if it has a workload */
        struct pod_load used;                      /* what it uses */
        struct pod_load request;
        int64_t bound_unix_ms; /* to the node */
        int64_t runs_unix_ms;  /* since when it runs; INT64_MAX: not yet */
        bool is_kept;          /* it must not be moved, whatever it uses */
};

/* A pod of a workload was evicted from a node. */
struct rebalance_eviction {
        const struct rebalance_workload *workload; /* NULL: no pod of it is bound now */
        uint32_t row;                              /* REBALANCE_UNKNOWN: not among the nodes */
        int64_t at_unix_ms;
};

/* Why a pod of a hot node stays. */
enum rebalance_keep {
        REBALANCE_MAY_MOVE,
        REBALANCE_KEEP_BOUND, /* is_kept, or it has no workload */
        REBALANCE_KEEP_ALONE, /* no other pod of its workload runs */
        REBALANCE_KEEP_YOUNG,
        REBALANCE_KEEP_SMALL,
        REBALANCE_KEEP_BUSY,      /* another pod of its workload moves, or does not run yet */
        REBALANCE_KEEP_RETURNED,  /* one of its workload was evicted, and came back to its node */
        REBALANCE_KEEP_UNASKED,   /* its scheduler does not ask an extender */
        REBALANCE_KEEP_REFUSED,   /* by read_pod() */
        REBALANCE_KEEP_NO_ROOM,   /* no other open node has room for its requests */
        REBALANCE_KEEP_NO_TARGET, /* the judge's best node would not stay below its line, with it or
                                     with a smaller pod */
        REBALANCE_KEEP_COUNT,
};

/* What becomes of a hot node. */
enum rebalance_stay {
        REBALANCE_MOVES,        /* one of them moves */
        REBALANCE_UNREAD,       /* a reading is missing or has expired */
        REBALANCE_NO_POD,       /* no pod may move */
        REBALANCE_NO_TARGET,    /* some pod may, but no other node can take it */
        REBALANCE_PLAN_IS_FULL, /* hotter nodes have used up what one plan may move */
};

/* A hot node. */
struct rebalance_node {
        uint32_t row;
        double usage_ratio; /* the estimate */
        double line_ratio;
        enum rebalance_stay stay;
        size_t kept[REBALANCE_KEEP_COUNT]; /* without a pod that moves: its pods, by reason */
        /* With REBALANCE_MOVES. */
        size_t pod; /* index into the pods */
        double after_ratio;
        uint32_t target_row;
        double target_ratio,
                target_after_ratio; /* without and with the pod; both with the margin */
};

struct rebalance_input {
        const struct rebalance_row *rows;
        size_t row_count;
        const struct rebalance_pod *pods;
        size_t pod_count;
        const struct rebalance_eviction *evictions; /* of the last day */
        size_t eviction_count;
        int64_t now_unix_ms;
        size_t move_max; /* by this plan; 0: none */
        /**
         * Read the pod closely, before the plan moves it; at most REBALANCE_READ_MAX times a node
         * Return: false: it must not be moved after all
         */
        bool (*read_pod)(void *userdata, size_t pod);
        /**
         * Ask the judge about the pod that was read
         * @ret_headroom: [row]: the larger, the sooner the node gets the pod; NAN: it would not
         */
        void (*ask)(void *userdata, size_t pod, double *ret_headroom);
        void *userdata;
};

struct rebalance_plan {
        struct rebalance_node *nodes; /* hottest first */
        size_t node_count, move_count;
};

/** rebalance_plan() - @ret is released with rebalance_plan_done() */
void rebalance_plan(const struct rebalance_input *input, struct rebalance_plan *ret);
void rebalance_plan_done(struct rebalance_plan *plan);
