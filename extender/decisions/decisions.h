/*
 * The last pods that the scheduler asked about, with the newest answers about each. A new pod
 * replaces the one that was not asked about for the longest time, so the memory is fixed. Any
 * thread; the lock is held for a copy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "extender/decisions/decision.h"

enum { DECISIONS_MAX = 1024, DECISIONS_MAX_BYTES = 4 << 20 };

struct decisions;

struct decisions *decisions_new(void);
void decisions_free(struct decisions *decisions);
DEFINE_FREEP(struct decisions, decisions_free);

/** decisions_put_filter() - a filter call was answered */
void decisions_put_filter(struct decisions *decisions, const struct decision_pod *pod,
                          const struct decision_filter *filter);
/** decisions_put_ranking() - a prioritize call was answered */
void decisions_put_ranking(struct decisions *decisions, const struct decision_pod *pod,
                           const struct decision_ranking *ranking);

/**
 * decisions_get() - the pod called @full_name, "namespace/name"; if several had that name one after
 * the other, the last one Return: false if there is none
 */
_must_check_ bool decisions_get(struct decisions *decisions, const char *full_name,
                                struct decision *ret);

/** decisions_list() - the slots of all pods, the newest first. Return: how many */
size_t decisions_list(struct decisions *decisions, uint16_t ret_slots[static DECISIONS_MAX]);
/** decisions_at() - what is in a slot of decisions_list(): another pod if a new one has taken it */
void decisions_at(struct decisions *decisions, uint16_t slot, struct decision *ret);
