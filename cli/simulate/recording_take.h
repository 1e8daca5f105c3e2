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
        struct program_options flags;           /* those about annotations */
        int unit;                               /* enum annotation_unit */
        const struct node_table_options *table; /* the same, checked */
        const char *plimsoll_namespace;
        int64_t placement_count; /* the largest number of decisions */
        bool has_load; /* take pods and capacities even if the policy in force needs none */
        int64_t now_unix_ms;
};

/**
 * recording_take() - read policy, pods, nodes and decisions; progress is shown on stderr, if that
 * is a terminal
 * @ret: for recording_from_json(); owned by the caller. If pods or decisions cannot be read, they
 * are missing, and `notes` says why Return: 0; negative errno if the policy or the nodes cannot be
 * read
 */
_must_check_ int recording_take(struct cluster *cluster, const struct recording_options *options,
                                json_t **ret, struct error *err);
