/*
 * From a filled node table to an explanation: every node judged as the running extender would judge
 * it, were all nodes the candidates of one call.
 */
#pragma once

#include "extender/explain/explain.h"

/* What an explanation borrows from. Owned by the caller; not to be moved. */
struct explain_judged {
        struct explanation explanation;
        struct node_snapshot *snapshot;
        struct node_verdict *verdicts;
        struct verdict_largest largest;
        int *scores10;
        double *headrooms; /* NULL unless the scoring is estimate */
        struct explained_estimate estimate;
};

/**
 * explain_judge() - publish @table and judge its rows
 * @pod: the pod that looks for a node, with its request as load; all zero: a pod without requests
 * @ret: borrows @table; released with explain_judged_done()
 */
void explain_judge(struct node_table *table, const struct explained_pod *pod, int64_t now_unix_ms,
                   struct explain_judged *ret);
void explain_judged_done(struct explain_judged *judged);
