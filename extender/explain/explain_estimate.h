/* The part of `explain` for scoring: estimate: pods of the input, and the candidates' headroom. */
#pragma once

#include <jansson.h>

#include "extender/explain/explain.h"
#include "policy/pods/pod_facts.h"

/**
 * explain_add_pod() - a Pod of the input: one that runs takes part in the estimate
 * @wanted: "namespace/name" of the pod that looks for a node, or NULL
 * @ret:    its request is put into ret->load when it is that one
 * Return: whether it is
 */
bool explain_add_pod(struct node_table *table, const json_t *pod, const char *wanted,
                     struct explained_pod *ret);
/** explain_bind_pod() - the same for a Pod that was read already, unless it is @wanted */
void explain_bind_pod(struct node_table *table, const struct pod_facts *facts, const char *wanted);
/**
 * explain_estimate() - scores as the extender would give them
 * @pod:        with its request as load, which becomes what is expected
 * @places:     [row]; of enum verdict_place
 * @headrooms:  [row]; set
 * @scores10:   [row]; set
 */
void explain_estimate(const struct node_snapshot *snapshot, struct explained_pod *pod,
                      const uint8_t *places, double *headrooms, int *scores10);
