/*
 * Prints what an extender answered about a pod, from its /decisions?pod=NAMESPACE/NAME. The JSON is
 * not trusted: a member that is missing or of another type is printed as "?", or not at all.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/attributes.h"
#include "cli/explain/explain_place.h"

/**
 * explain_decision_newer() - put together the decisions of two replicas: the newest answer to each
 * call
 * @a: @b: consumed; @a may be NULL
 *
 * A Service may send the filter call to one replica and prioritize to another. Answers about pods
 * with different uids are not put together. Return: owned by the caller
 */
_must_check_ json_t *explain_decision_newer(json_t *a, json_t *b);
/**
 * explain_decision_print() - for people
 * @max_nodes: how many rejected nodes to print, and how many ranked ones
 */
void explain_decision_print(const json_t *decision, const struct explain_place *place,
                            size_t max_nodes, const struct style *style, FILE *out);
