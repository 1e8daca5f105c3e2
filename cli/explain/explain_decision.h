/*
 * Prints what an extender answered about a pod, from /decisions?pod=NAMESPACE/NAME. The JSON is not
 * trusted: a member that is missing or has another type is printed as "?", or not at all.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/attributes.h"
#include "cli/explain/explain_place.h"

/**
 * explain_decision_newer() - merge the decisions of two replicas: the newest answer to each call.
 * A confirmed decision is preferred to an unverified one
 * @a, @b: consumed; @a may be NULL
 *
 * A Service may send the filter call to one replica and the prioritize call to another. Answers
 * about pods with different uids are not merged. Return: owned by the caller
 */
_must_check_ json_t *explain_decision_newer(json_t *a, json_t *b);
/**
 * explain_decision_print() - for people
 * @max_nodes: the limit for rejected nodes and for ranked nodes
 */
void explain_decision_print(const json_t *decision, const struct explain_place *place,
                            size_t max_nodes, const struct style *style, FILE *out);
