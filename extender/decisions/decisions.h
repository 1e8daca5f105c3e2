/*
 * The last DECISIONS_MAX pods of the scheduler's calls, with the last answers about each. Pods are
 * told apart by their UID. Any thread; the lock is held while one decision is taken or copied.
 *
 * Without client certificates, anybody who reaches the port can ask, about any pod. So a decision
 * is unverified until the pod is bound to a node that the answers allow (decisions_confirm()). Then
 * it is final, since a scheduler does not ask about a bound pod. A new pod replaces the oldest
 * unverified one, if there are DECISIONS_UNVERIFIED_MAX, or else the oldest confirmed one. So the
 * memory is fixed, and calls of strangers do not push out what schedulers were told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "extender/decisions/decision.h"

enum {
        DECISIONS_MAX = 1024,
        DECISIONS_UNVERIFIED_MAX = DECISIONS_MAX / 2, /* while there are enough confirmed ones */
        DECISIONS_MAX_BYTES = 7 << 20,
};

struct decisions;

struct decisions *decisions_new(void);
void decisions_free(struct decisions *decisions);
DEFINE_FREEP(struct decisions, decisions_free);

/** decisions_open() - the decision about @pod, to take an answer (decision_take.h). The lock is
 * held until decisions_close(). Return: NULL: the pod is bound already, and no lock is held */
struct decision *decisions_open(struct decisions *decisions, const struct decision_pod *pod);
void decisions_close(struct decisions *decisions);

/**
 * decisions_confirm() - a watch shows that @pod is bound
 *
 * Confirms the answers about it, if they were given before the binding (bound_unix_ms) and allow
 * its node.
 */
void decisions_confirm(struct decisions *decisions, const struct pod_facts *pod);

/**
 * decisions_get() - the decision about the pod @full_name, "namespace/name"; if several pods had
 * that name, the one with @uid, or else the last confirmed one, or else the last one
 * @uid: NULL: unknown
 * Return: false if there is none
 */
_must_check_ bool decisions_get(struct decisions *decisions, const char *full_name, const char *uid,
                                struct decision *ret);

/** decisions_list() - the slots of all pods, the last answer or binding first. Return: their number
 */
size_t decisions_list(struct decisions *decisions, uint16_t ret_slots[static DECISIONS_MAX]);
/** decisions_at() - the decision in a slot of decisions_list(), which a newer pod may have taken */
void decisions_at(struct decisions *decisions, uint16_t slot, struct decision *ret);
