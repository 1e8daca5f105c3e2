/*
 * Maps the names in a request to rows of the node table. It remembers the order of the last
 * request, so most look-ups take one comparison instead of a hash.
 */
#pragma once

#include "extender/answer/request.h"
#include "extender/table/node_snapshot.h"
#include "policy/judge/judge.h"

struct candidates {
        /* [row] */
        uint32_t *seen_in; /* the number of the last request that had the row */
        uint32_t *next;    /* the row that followed it in that request */
        size_t row_cap;
        uint32_t request_number;

        uint32_t *strangers; /* hash set of candidates that are not in the table */
        size_t stranger_cap, stranger_mask;
};

#define CANDIDATES_NULL ((struct candidates){0})

void candidates_done(struct candidates *candidates);

/** candidates_find() - set rows, unknown_count and duplicate_count; after judge_begin() */
void candidates_find(struct candidates *candidates, const struct node_snapshot *snapshot,
                     const struct request *request, struct judge_question *question);
