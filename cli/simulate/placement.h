/*
 * The last placements under two policies: the candidates of each pod, as far as an extender has
 * kept them, are judged again. Pure.
 *
 * Kept are up to 16 nodes that were ranked best, and up to 16 that were rejected. A reading that
 * was kept counts as it was then; one that was not, as it is in the recording. Load in flight and
 * the pod's request are left out for both policies, so that only the policies differ.
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
        const char *node; /* where the pod is, or else the extender's first choice */
        bool is_bound;    /* node is where the pod is */
        size_t candidates;
        size_t rank_before, rank_after; /* see difference.h; 0: rejected */
        bool is_same_first;             /* some node is the best under both policies */
};

struct placements {
        struct placement *items;
        size_t count;
        size_t same_first, rejected; /* placements whose node the new policy would have rejected */
        size_t left_out; /* decisions without a node, of a DaemonSet, or by a rule of the policy */
};

/**
 * placement_judge() - judge all decisions of a recording
 * @options:        of the tables
 * @before, @after: tables with the two policies; their nodes are replaced
 * @ret:            to be released with placement_done()
 */
void placement_judge(const struct recording *recording, const struct node_table_options *options,
                     struct node_table *before, struct node_table *after, struct placements *ret);
void placement_done(struct placements *placements);
