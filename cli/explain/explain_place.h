/* Where a pod is, as the API server says it. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "program/style.h"

struct explain_place {
        const char *full_name; /* "namespace/name" */
        json_t *pod;           /* NULL: why_not says why it is not known */
        struct error why_not;
};

/** explain_place_node() - the node that it is bound to, borrowed; NULL: none, or it is not known */
const char *explain_place_node(const struct explain_place *place);
/** explain_place_uid() - borrowed; NULL: not known */
const char *explain_place_uid(const struct explain_place *place);
/** explain_place_print() - in a line: the node, or why the scheduler has found none */
void explain_place_print(const struct explain_place *place, const struct style *style, FILE *out);
/** explain_place_json() - owned by the caller: pod, phase, node and condition (PodScheduled) */
json_t *explain_place_json(const struct explain_place *place);
