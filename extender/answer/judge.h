/*
 * From a request's candidates to rows of the table and verdicts. A judge is the reusable working
 * memory of one worker; it remembers the order in which the scheduler named nodes last time, so
 * that most look-ups are one comparison instead of a hash.
 *
 * A node that the table does not know passes, and scores 0 as crane gives a node without data:
 * it is neither starved (filtering lets it through) nor preferred to nodes known to be idle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "extender/answer/request.h"
#include "extender/table/node_table.h"

/* What stands in judge.rows for a candidate that is no row. */
#define JUDGE_UNKNOWN (NODE_ROW_NONE)       /* not in the table */
#define JUDGE_DUPLICATE (NODE_ROW_NONE - 1) /* named before in this request: left out */

struct judge {
        uint32_t *rows; /* [candidate]: row of the table, or one of the above */
        int *verdicts;  /* [candidate]: set by judge_filter() or judge_score() */
        size_t candidate_cap;
        size_t unknown_count, duplicate_count, rejected_count;

        /* [row] of the table */
        uint32_t *seen_in; /* number of the request that named it last */
        uint32_t *next;    /* the row that was named after it */
        size_t row_cap;
        uint32_t request_number;

        uint32_t *strangers; /* hash set of candidates that are not in the table */
        size_t stranger_cap, stranger_mask;
};

#define JUDGE_NULL ((struct judge){0})

void judge_done(struct judge *judge);

/** judge_filter() - verdicts become the index of the predicate that rejects, or -1 */
void judge_filter(struct judge *judge, const struct node_snapshot *snapshot,
                  const struct request *request, int64_t now_unix_ms);
/** judge_score() - verdicts become 0..10, as the policy's scoring says */
void judge_score(struct judge *judge, const struct node_snapshot *snapshot,
                 const struct request *request, int64_t now_unix_ms);
