/* A recording of the cluster as it is now. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "extender/table/node_table.h"
#include "program/program_options.h"

struct recording_options {
        const struct program_options *flags;    /* of the annotations */
        int unit;                               /* enum annotation_unit */
        const struct node_table_options *table; /* the same, checked */
        const char *plimsoll_namespace;
        int64_t placement_count; /* decisions, at most */
        bool has_load;           /* pods and capacities, though the policy in force needs none */
        int64_t now_unix_ms;
};

/**
 * recording_take() - read policy, pods, nodes and decisions; what is done shows on stderr, if that
 * is a terminal
 * @ret: for recording_from_json(); owned by the caller. Pods or decisions that may not be read are
 *       missing, and `notes` says why
 * Return: 0; negative errno without the policy or the nodes
 */
_must_check_ int recording_take(struct cluster *cluster, const struct recording_options *options,
                                json_t **ret, struct error *err);
