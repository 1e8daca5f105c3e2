/*
 * What was answered about one pod, and why: small enough that a thousand can be kept, and without
 * anything of the pod but its name, its uid and its workload.
 *
 * Each answer has a heap for its texts. A node whose name finds no room there is left out; 16 names
 * of 45 bytes have room beside the metrics of a usual policy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "extender/estimator/estimator.h"
#include "policy/judge/judge_shortlist.h"
#include "policy/pods/pod_facts.h"

enum {
        DECISION_NODES_MAX = 16,
        DECISION_TERMS_MAX = 6, /* predicates, or priorities; crane's policy has 4 and 6 */
        DECISION_UID_MAX = 63,  /* Kubernetes' have 36 */
        DECISION_FILTER_TEXT_BYTES = 800,
        DECISION_RANKING_TEXT_BYTES = 840,
        DECISION_FULL_NAME_MAX = POD_FACTS_NAMESPACE_MAX + 1 + POD_FACTS_NAME_MAX,
};

/* No reading: as an age. */
#define DECISION_NEVER_READ INT32_MIN

/* Part of an answer's text. */
struct decision_text {
        uint16_t at, len;
};

struct decision_pod {
        uint64_t id; /* of pod_facts.h */
        uint8_t namespace_len;
        char full_name[DECISION_FULL_NAME_MAX + 1]; /* "namespace/name" */
        char uid[DECISION_UID_MAX + 1];
};

/* A predicate that some candidate was over. */
struct decision_predicate {
        struct decision_text metric;
        float limit_ratio;
        uint32_t over_count;
};

struct decision_rejection {
        struct decision_text node;
        float value_ratio;
        uint8_t predicate; /* of those above */
};

/* The answer to a filter call. */
struct decision_filter {
        int64_t at_unix_ms; /* 0: there was none */
        uint64_t policy_generation;
        /* candidates = passed + rejected + duplicates; of those that pass some are left out */
        uint32_t candidates, duplicates, unknown, rejected, left_out;
        enum judge_list list;
        bool is_daemonset; /* passes everywhere */
        bool is_all_over;
        uint8_t rule; /* 1: the first of the policy's; 0: none holds for the pod */
        uint8_t predicate_count, rejection_count;
        struct decision_predicate predicates[DECISION_TERMS_MAX];
        struct decision_rejection rejections[DECISION_NODES_MAX]; /* the first of the request */
        uint16_t text_bytes;
        char text[DECISION_FILTER_TEXT_BYTES];
};

/* scoring: estimate: ratios of the capacity; see policy/judge/estimate_usage.h. */
struct decision_usage {
        float reading_ratio, in_flight_ratio, margin_ratio, pod_ratio, reserved_ratio;
        int32_t age_ms; /* of the reading, at most and at least what fits; or DECISION_NEVER_READ */
};

struct decision_estimate {
        struct decision_usage usage[ESTIMATE_RESOURCE_COUNT];
        float other; /* the largest weighted reading of the other priorities */
        float headroom;
};

/* The other scorings. */
struct decision_terms {
        float usage_ratio[DECISION_TERMS_MAX], points[DECISION_TERMS_MAX];
        int32_t age_ms[DECISION_TERMS_MAX]; /* as above; a reading that has expired is never read */
        float hot;
        uint8_t score100;
        uint8_t begin, end; /* of the ranking's priorities: those of the node's pool */
};

struct decision_node {
        struct decision_text name;
        int8_t points;    /* 0 to 10, before the base is taken off */
        bool is_in_table; /* else there are no terms */
        uint8_t pool;     /* of policy_pool_of() */
        bool is_last;     /* over a limit with overLimit: last, when others are not */
        union {
                struct decision_estimate estimate;
                struct decision_terms terms;
        };
};

struct decision_priority {
        struct decision_text metric;
        float weight, full_ratio; /* at which a node counts as full */
};

/* The answer to a prioritize call. */
struct decision_ranking {
        int64_t at_unix_ms; /* 0: there was none */
        uint64_t policy_generation;
        uint32_t candidates, duplicates, unknown;
        enum policy_scoring scoring;
        int8_t base; /* taken off the points of all */
        uint8_t node_count;
        uint8_t priority_count; /* with estimate 0 */
        struct decision_priority priorities[DECISION_TERMS_MAX];
        /* With estimate, per pool; 0: does not count. */
        float weights[POLICY_MAX_POOLS + 1][ESTIMATE_RESOURCE_COUNT];
        struct estimator_expectation expectation;       /* with estimate */
        struct decision_text workload;                  /* with estimate; len 0: none */
        struct decision_node nodes[DECISION_NODES_MAX]; /* the best first */
        uint16_t text_bytes;
        char text[DECISION_RANKING_TEXT_BYTES];
};

struct decision {
        struct decision_pod pod;
        bool is_ranked; /* since the newest filter call */
        /* Calls. Of each the newest is kept; with 0 there is nothing. */
        uint32_t filter_count, ranking_count;
        struct decision_filter filter;
        struct decision_ranking ranking;
};
