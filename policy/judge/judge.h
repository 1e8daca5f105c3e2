/*
 * The decision about one pod: which candidates are rejected by a limit of the policy, which of
 * those that pass are on the shortlist, and how many points each gets.
 *
 *     judge_begin()      the nodes, the pod, the time; then the caller completes the question
 *     judge_filter()     -> filtered
 *     judge_shortlist()  -> filtered.is_told[]             judge_shortlist.h
 *
 *     judge_begin()      the candidates that passed, perhaps seconds later
 *     judge_score()      -> scored                         judge_score.h
 *
 * The scheduler asks in two calls, and explanations do the same (judge_rows.h). A judge is working
 * memory that is used for one call after the other. Pure but for that memory.
 *
 * A candidate without a row passes and scores 0, as a node without data does with crane: it is not
 * excluded, and not preferred to nodes that are known to be idle.
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
#define JUDGE_UNKNOWN UINT32_MAX         /* not among the nodes */
#define JUDGE_DUPLICATE (UINT32_MAX - 1) /* named twice in the call: left out */

enum { JUDGE_PASSES = -1 };

/* What is asked. */
struct judge_question {
        const struct judge_nodes *nodes; /* borrowed until the next judge_begin() */
        const struct pod_facts *pod;     /* ditto; NULL: any pod, for which no rule holds */
        int64_t now_unix_ms;
        size_t count; /* candidates */

        /* The caller sets these after judge_begin(). */
        uint32_t *rows; /* [candidate]: its row, JUDGE_UNKNOWN or JUDGE_DUPLICATE */
        size_t unknown_count, duplicate_count; /* candidates of either kind */
        /* With scoring: estimate, for judge_shortlist() and judge_score(). */
        struct pod_load load;                              /* what the pod is expected to use */
        struct reservation reservations[RESERVATIONS_MAX]; /* for other pods */
        size_t reservation_count;

        /* judge_begin() finds these. */
        const struct policy_rule *rule; /* the one that holds for the pod; NULL: none */
        bool is_exempt;                 /* no limit holds for the pod */
        bool is_settled;                /* judge_nodes_are_settled() */
        bool is_relative;               /* policy_is_relative() */
};

/* Which candidates may get the pod: the result of judge_filter() and judge_shortlist(). */
struct judge_filtered {
        bool is_set;      /* judge_filter() has answered */
        bool is_all_over; /* all candidates were over a limit, and whenAllOver lets them pass */
        int *rejected_by; /* [candidate]: index into the policy's predicates, or JUDGE_PASSES */
        bool *is_told;    /* [candidate]: it passes, is no duplicate, and is on the shortlist */
        size_t rejected_count, left_out_count;
        /* [predicate]: candidates for which it is the first limit that they are over. They are
         * rejected unless is_all_over. */
        uint32_t over_count[POLICY_MAX_TERMS];
};

/* How good the candidates are: the result of judge_score(). judge_shortlist() sets the members that
 * it compares candidates by. */
struct judge_scored {
        int *points;       /* [candidate]: 0 to 10 */
        size_t best;       /* with scoring: estimate, the candidate to reserve; count: none */
        size_t old_count;  /* scored, but a reading has expired or is missing */
        double *headrooms; /* [candidate], with scoring: estimate; judge_estimate.h */
        struct verdict_largest largest; /* for relative priorities */
        uint8_t *places;                /* [candidate]: of enum verdict_place; when has_last */
        bool has_last; /* verdict_has_last(), with a policy that has overLimit: last */
};

/* Memory for the next call. */
struct judge_scratch {
        size_t candidate_cap;  /* of all arrays above */
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
 * judge_begin() - a call with @count candidates
 * @nodes, @pod: borrowed; with judge_shortlist() there is a pod
 */
void judge_begin(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                 size_t count, int64_t now_unix_ms);

/** judge_filter() - which candidates are rejected by a limit, after judge_begin(). If every
 * candidate would be rejected, the policy's whenAllOver may let all of them pass */
void judge_filter(struct judge *judge);

/** judge_knows() - candidate @i has a row */
static inline bool judge_knows(const struct judge *judge, size_t i) {
        return judge->question.rows[i] < judge->question.nodes->count;
}

/** judge_is_last() - candidate @i is over a limit with overLimit: last, and ranks below others */
static inline bool judge_is_last(const struct judge *judge, size_t i) {
        return judge->scored.has_last && judge->scored.places[i] == VERDICT_PLACE_LAST;
}

/** judge_score100() - the score of a row that its points were made from; not with scoring:
 * estimate. With relative priorities, judge->scored.largest must be set */
static inline int judge_score100(const struct judge *judge, uint32_t row) {
        const struct judge_nodes *nodes = judge->question.nodes;

        return judge->question.is_relative
                       ? verdict_score100(nodes->policy, &nodes->readings, row,
                                          &judge->scored.largest, judge->question.now_unix_ms)
                       : judge_nodes_verdict(nodes, row, judge->question.is_settled,
                                             judge->question.now_unix_ms)
                                 .score100;
}

/** judge_last_by() - the first predicate with overLimit: last that candidate @i is over; -1: none.
 * judge_is_last() says whether that makes it rank below others */
int judge_last_by(const struct judge *judge, size_t i);

/** judge_find_last() - set places and has_last; for the judge's own files */
void judge_find_last(struct judge *judge);
/** judge_find_largest() - set largest if there are relative priorities; judge_score() does it, but
 * not with scoring: estimate */
void judge_find_largest(struct judge *judge);
