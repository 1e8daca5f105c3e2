/*
 * The decision about one pod: the candidates that a limit of the policy rejects, the shortlist of
 * those that pass, and the points of each.
 *
 *     judge_begin()      sets nodes, pod and time; the caller then completes the question
 *     judge_filter()     -> filtered
 *     judge_shortlist()  -> filtered.is_listed[]             judge_shortlist.h
 *
 *     judge_begin()      the candidates that passed, perhaps seconds later
 *     judge_score()      -> scored                         judge_score.h
 *
 * The scheduler makes two calls, and explanations do the same (judge_rows.h). A judge is working
 * memory that is reused for each call. Pure except for that memory.
 *
 * Guarantee: a candidate without a row passes and scores 0, as a node without data does with crane.
 * It is neither excluded nor preferred to nodes that are known to be idle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/reservation.h"
#include "policy/judge/judge_nodes.h"
#include "policy/judge/shortlist.h"
#include "policy/pods/pod_facts.h"

/* Values of judge.question.rows for candidates without a row. */
#define JUDGE_UNKNOWN UINT32_MAX         /* the node is not in the table */
#define JUDGE_DUPLICATE (UINT32_MAX - 1) /* named before in the same call: left out */

enum { JUDGE_PASSES = -1 };

/* The question of one call. */
struct judge_question {
        const struct judge_nodes *nodes; /* borrowed until the next judge_begin() */
        const struct pod_facts *pod;     /* likewise borrowed; NULL: any pod; no rule applies */
        int64_t now_unix_ms;
        size_t count; /* candidates */

        /* Set by the caller after judge_begin(). */
        uint32_t *rows; /* [candidate]: its row, JUDGE_UNKNOWN or JUDGE_DUPLICATE */
        size_t unknown_count, duplicate_count; /* the number of such candidates */
        /* For judge_shortlist() and judge_score() with scoring: estimate. */
        struct pod_load load;                              /* the expected load of the pod */
        struct reservation reservations[RESERVATIONS_MAX]; /* for other pods */
        size_t reservation_count;

        /* Set by judge_begin(). */
        const struct policy_rule *rule; /* the rule that applies to the pod; NULL: none */
        bool is_exempt;                 /* no limit applies to the pod */
        bool is_settled;                /* judge_nodes_are_settled() */
        bool is_relative;               /* policy_is_relative() */
};

/* The result of judge_filter() and judge_shortlist(): the candidates that may get the pod. */
struct judge_filtered {
        bool is_set;      /* judge_filter() has answered */
        bool is_all_over; /* all candidates were over a limit, and passed by whenAllOver: pass */
        int *rejected_by; /* [candidate]: index into the policy's predicates, or JUDGE_PASSES */
        bool *is_listed; /* [candidate]: it is in the answer: passes, on the shortlist, no duplicate
                          */
        size_t rejected_count, left_out_count;
        /* [predicate]: the number of candidates for which it is the first limit exceeded. They are
         * rejected unless is_all_over. */
        uint32_t over_count[POLICY_MAX_ENTRIES];
};

/* The result of judge_score(): the points of the candidates. judge_shortlist() sets only the
 * members by which it compares candidates. */
struct judge_scored {
        int *points;       /* [candidate]: 0 to 10 */
        size_t best;       /* with scoring: estimate, the one to reserve; question.count: none */
        size_t old_count;  /* candidates scored with an expired or missing reading */
        double *headrooms; /* [candidate], with scoring: estimate; judge_estimate.h */
        struct verdict_largest largest; /* for relative priorities */
        uint8_t *places;                /* [candidate]: of enum verdict_place; when has_last */
        bool has_last; /* verdict_has_last(), with a policy that has overLimit: last */
};

/* Memory that is reused for the next call. */
struct judge_scratch {
        size_t candidate_cap;  /* the capacity of all arrays above */
        uint16_t *reserved_at; /* [node number]: index into reservations plus 1, or 0 */
        size_t reserved_cap;
        struct shortlist shortlist;
};

struct judge {
        struct judge_question question;
        struct judge_filtered filtered;
        struct judge_scored scored;
        struct judge_scratch scratch;
};

#define JUDGE_NULL ((struct judge){0})

void judge_done(struct judge *judge);

/**
 * judge_begin() - begin a call with @count candidates
 * @nodes, @pod: borrowed; judge_shortlist() needs a pod
 */
void judge_begin(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                 size_t count, int64_t now_unix_ms);

/** judge_filter() - find the candidates that a limit rejects; after judge_begin(). If a limit
 * rejects all candidates, they all pass if the policy has whenAllOver: pass */
void judge_filter(struct judge *judge);

/** judge_knows() - candidate @i has a row */
static inline bool judge_knows(const struct judge *judge, size_t i) {
        return judge->question.rows[i] < judge->question.nodes->count;
}

/** judge_is_last() - candidate @i is over a limit with overLimit: last, and ranks below the rest */
static inline bool judge_is_last(const struct judge *judge, size_t i) {
        return judge->scored.has_last && judge->scored.places[i] == VERDICT_PLACE_LAST;
}

/** judge_score100() - the score of a row, from which its points are derived; not with scoring:
 * estimate. With relative priorities, judge->scored.largest must be set */
static inline int judge_score100(const struct judge *judge, uint32_t row) {
        const struct judge_nodes *nodes = judge->question.nodes;

        return judge->question.is_relative
                       ? verdict_score100(nodes->policy, &nodes->columns.readings, row,
                                          &judge->scored.largest, judge->question.now_unix_ms)
                       : judge_nodes_verdict(nodes, row, judge->question.is_settled,
                                             judge->question.now_unix_ms)
                                 .score100;
}

/** judge_last_by() - the first predicate with overLimit: last whose limit candidate @i exceeds; -1:
 * none. judge_is_last() says whether it therefore ranks last */
int judge_last_by(const struct judge *judge, size_t i);

/** judge_find_last() - set places and has_last; only for the files of the judge */
void judge_find_last(struct judge *judge);
/** judge_find_largest() - set largest if there are relative priorities; judge_score() does so,
 * except with scoring: estimate */
void judge_find_largest(struct judge *judge);
