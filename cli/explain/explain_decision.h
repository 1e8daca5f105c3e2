/*
 * What an extender answered about a pod, as its /decisions?pod=NAMESPACE/NAME shows it, for people.
 * Of the JSON nothing is taken for granted: what is missing or of another type shows as "?", or not
 * at all.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/attributes.h"
#include "cli/explain/explain_place.h"

/**
 * explain_decision_newer() - of two replicas' the newest answer to each call
 * @a: @b: owned from now on; @a is NULL when there is none yet
 *
 * A Service may give the filter call to one replica, and prioritize to another. Answers about pods
 * of different uids are not put together.
 * Return: owned by the caller
 */
_must_check_ json_t *explain_decision_newer(json_t *a, json_t *b);
/**
 * explain_decision_print() - for people
 * @max_nodes: of the rejected and of the ranked nodes
 */
void explain_decision_print(const json_t *decision, const struct explain_place *place,
                            size_t max_nodes, const struct style *style, FILE *out);
