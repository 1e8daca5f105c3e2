/*
 * The last placements under two policies: each pod's candidates, as far as an extender has kept
 * them, judged again. Pure.
 *
 * The candidates are the nodes that were ranked best and those that were rejected, 16 of each at
 * most. The readings that were kept count as they were then; those that were not, as they are in
 * the recording. What was in flight then, and what the pod requests, is left out under both
 * policies: what differs is the policies' doing.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/simulate/recording.h"
#include "extender/explain/explanation.h"

struct placement {
        const char *pod_space, *pod_name; /* borrowed from the recording */
        const char *at;
        const char *node; /* where the pod is; else the extender's first choice */
        bool is_bound;    /* it is where the pod is */
        size_t candidates;
        size_t rank_before, rank_after; /* see difference.h; 0: rejected */
        bool is_same_first;             /* some node is the best under both policies */
};

struct placements {
        struct placement *items;
        size_t count;
        size_t same_first, rejected; /* placements whose node the new policy would have rejected */
        size_t left_out;             /* decisions without a node, or of a DaemonSet */
};

/**
 * placement_judge() - judge all of the recording
 * @before, @after: policies, owned by placement_judge()
 * @ret:            to be released with placement_done()
 */
void placement_judge(const struct recording *recording, const struct node_table_options *options,
                     struct policy *before, struct policy *after, struct placements *ret);
void placement_done(struct placements *placements);
