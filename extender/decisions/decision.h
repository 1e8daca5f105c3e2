/*
 * The answers about one pod, with the reasons. A decision is small, so a thousand can be kept. From
 * the pod it has only the name, uid and workload.
 *
 * Decisions are stored as numbers and printed on demand. JSON text would take more than twice the
 * memory, and writing it three times the instructions of the two calls, or 40% of them without any
 * printf().
 *
 * Each answer has a heap for its texts. A node is left out if its name does not fit; with the
 * metrics of a usual policy there is room for 16 names of 45 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "extender/explain/score_terms.h"
#include "policy/judge/judge_shortlist.h"
#include "policy/pods/pod_facts.h"

enum {
        DECISION_NODES_MAX = 16,
        DECISION_READINGS_MAX = 6, /* predicates or priorities; crane's policy has 4 and 6 */
        DECISION_UID_MAX = 63,     /* UIDs of Kubernetes have 36 bytes */
        DECISION_TEXT_BYTES = 832,
        DECISION_FULL_NAME_MAX = POD_FACTS_NAMESPACE_MAX + 1 + POD_FACTS_NAME_MAX,
};

/* The heap. */
struct decision_texts {
        uint16_t used;
        char bytes[DECISION_TEXT_BYTES];
};

/* A text in the heap. */
struct decision_text {
        uint16_t at, len;
};

struct decision_pod {
        uint64_t id; /* pod_facts.h */
        uint8_t namespace_len;
        char full_name[DECISION_FULL_NAME_MAX + 1]; /* "namespace/name" */
        char uid[DECISION_UID_MAX + 1];
};

/* A predicate whose limit some candidate exceeded. */
struct decision_predicate {
        struct decision_text metric;
        float limit_ratio;
        uint32_t over_count;
};

struct decision_rejection {
        struct decision_text node;
        float value_ratio;
        uint8_t predicate; /* index into decision_filter.predicates */
};

/* The common part of answers to both calls. */
struct decision_call {
        int64_t at_unix_ms; /* 0: no such call */
        uint64_t policy_generation;
        uint32_t candidates, duplicates, unknown;
};

/* The answer to a filter call. */
struct decision_filter {
        struct decision_call call;
        /* candidates = passed + rejected + duplicates; left_out have passed */
        uint32_t rejected, left_out;
        enum judge_list list;
        bool is_daemonset; /* the pod passes everywhere */
        bool is_held_back; /* likewise, see trial.h */
        bool is_all_over;
        uint8_t rule; /* the number of the rule that applies, from 1; 0: none */
        uint8_t predicate_count, rejection_count;
        struct decision_predicate predicates[DECISION_READINGS_MAX];
        struct decision_rejection rejections[DECISION_NODES_MAX]; /* the first in the request */
        struct decision_texts texts;
};

static inline uint32_t decision_passed(const struct decision_filter *filter) {
        return filter->call.candidates - filter->rejected - filter->call.duplicates;
}

/* For other scorings than estimate. */
struct decision_readings {
        struct score_terms_points of[DECISION_READINGS_MAX];
        double hot;
        uint8_t score100;
        uint8_t begin, end; /* the priorities of the node's pool, in those of the ranking */
};

struct decision_node {
        struct decision_text name;
        int8_t score;     /* 0 to 10 */
        bool is_in_table; /* otherwise nothing more is known */
        bool is_last;     /* judge_is_last() */
        union {
                struct score_terms_estimate estimate;
                struct decision_readings readings;
        };
};

struct decision_priority {
        struct decision_text metric;
        struct score_terms_priority terms;
};

/* The answer to a prioritize call. */
struct decision_ranking {
        struct decision_call call;
        enum policy_scoring scoring;
        uint8_t node_count;
        uint8_t priority_count; /* 0 with scoring: estimate */
        struct decision_priority priorities[DECISION_READINGS_MAX];
        struct estimator_expectation expectation;       /* with scoring: estimate */
        struct decision_text workload;                  /* likewise; len 0: none */
        struct decision_node nodes[DECISION_NODES_MAX]; /* the best first */
        struct decision_texts texts;
};

struct decision {
        struct decision_pod pod;
        /* The binding that has confirmed the answers, by our clock. 0: none, so anybody who reaches
         * the port may have asked. */
        int64_t confirmed_unix_ms;
        bool is_ranked; /* there was a prioritize call after the last filter call */
        /* The number of calls; only the last one of each kind is kept. */
        uint32_t filter_count, ranking_count;
        struct decision_filter filter;
        struct decision_ranking ranking;
};

/** decision_at_unix_ms() - the time of the last answer */
static inline int64_t decision_at_unix_ms(const struct decision *decision) {
        return decision->is_ranked ? decision->ranking.call.at_unix_ms
                                   : decision->filter.call.at_unix_ms;
}

/* No decision, and no list, is longer. */
enum { DECISION_JSON_MAX_BYTES = 1 << 16, DECISION_JSON_LIST_MAX_BYTES = 8 << 20 };

/**
 * decision_json() - one object. Keys are stable, the key of a quantity ends in its unit, and what
 * is not known is null. extender/README.md has examples
 * @max_nodes: of those that were rejected, and of the best. 1: in one line
 */
void decision_json(const struct decision *decision, size_t max_nodes, struct buf *out);
