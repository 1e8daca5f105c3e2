/*
 * What speaks against the eviction of a pod, by its object and its controller. The API server knows
 * the PodDisruptionBudgets. A pod that can run on some nodes only stays, since its
 * successor may come back to the same node: the judge knows load, and not what ties a pod.
 *
 * Objects are those of the API server, and fields of an unexpected type count as missing. The texts
 * are for people. Pure.
 */
#pragma once

#include <jansson.h>

/** rebalance_check_pod() - Return: why it must not be evicted; NULL: it may */
const char *rebalance_check_pod(const json_t *pod);
/** rebalance_check_owner() - Return: why the ReplicaSet or StatefulSet may not lose a pod now;
 * NULL: it may */
const char *rebalance_check_owner(const json_t *owner);
