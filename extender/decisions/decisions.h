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
#include "extender/table/node_names.h"

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

/* One decision in short. */
struct decisions_line {
        struct decision_pod pod;
        int64_t at_unix_ms; /* of the last answer */
        uint32_t filter_count, ranking_count;
        uint32_t candidates, passed, rejected, left_out; /* if filter_count is not 0 */
        /* Of the prioritize call after the last filter call; best_points -1: there was none. */
        int best_points; /* as sent */
        uint16_t best_node_len;
        char best_node[NODE_NAME_MAX];
};

/** decisions_list() - all pods, the newest first. Return: how many */
size_t decisions_list(struct decisions *decisions, struct decisions_line ret[static DECISIONS_MAX]);
