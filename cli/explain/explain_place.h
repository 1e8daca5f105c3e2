/* The node of a pod, and the nodes that it prefers by admission, from the API server. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "program/style.h"

struct explain_place {
        const char *full_name; /* "namespace/name" */
        json_t *pod;           /* NULL: unknown; why_not says why */
        struct error why_not;
};

/** explain_place_node() - the node of the pod, borrowed; NULL: not bound, or unknown */
const char *explain_place_node(const struct explain_place *place);
/** explain_place_print() - print a line with the node, or why the scheduler found none, and how the
 * node ranks among those that the pod prefers */
void explain_place_print(const struct explain_place *place, const struct style *style, FILE *out);
/** explain_place_unasked() - why no extender was called for the pod, as far as the pod shows it;
 * owned by the caller */
char *explain_place_unasked(const struct explain_place *place);
/** explain_place_json() - pod, phase, node and condition (PodScheduled); owned by the caller */
json_t *explain_place_json(const struct explain_place *place);
