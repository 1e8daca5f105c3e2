/*
 * The last DECISIONS_MAX pods of the scheduler's calls, with the last answers about each. A new pod
 * replaces the one whose last call is oldest, so the memory is fixed. Any thread; the lock is held
 * while one decision is copied.
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
 * decisions_get() - the decision about the pod @full_name, "namespace/name"; the last one, if
 * several pods had that name Return: false if there is none
 */
_must_check_ bool decisions_get(struct decisions *decisions, const char *full_name,
                                struct decision *ret);

/** decisions_list() - the slots of all pods, the newest first. Return: their number */
size_t decisions_list(struct decisions *decisions, uint16_t ret_slots[static DECISIONS_MAX]);
/** decisions_at() - the decision in a slot of decisions_list(), which a newer pod may have taken */
void decisions_at(struct decisions *decisions, uint16_t slot, struct decision *ret);
