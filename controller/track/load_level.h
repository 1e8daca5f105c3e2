/*
 * The level of a node's load, by spec.taints. Pure.
 *
 * The load of a node is its largest usage among the metrics of spec.priority, each times its
 * weight as a share of the largest weight: what scoring: estimate ranks by, without the estimate.
 *
 * A node's own level is the number of spec.taints.levels that its load has reached. It rises when
 * LOAD_LEVEL_RISE samples in a row ask for more, and falls when LOAD_LEVEL_FALL samples in a row
 * are LOAD_LEVEL_HYSTERESIS_RATIO below; by as many levels as each of these samples asks for. It
 * has settled after LOAD_LEVEL_RISE samples, when it could have risen.
 *
 * A node shows its own level less the least of all nodes, so that a cluster which is busy all over
 * has no taints. Only settled levels count for the least. Where all nodes get busy together, some
 * nodes rise a moment before the rest: so before a node shows more, the nodes that have begun to
 * rise count as risen, and those whose readings are late do not count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/policy.h"

enum {
        LOAD_LEVEL_RISE = 2,
        LOAD_LEVEL_FALL = 8,        /* two minutes at the usual interval */
        LOAD_LEVEL_REST_MS = 60000, /* from one change of a node's taints to the next */
};

#define LOAD_LEVEL_HYSTERESIS_RATIO 0.05

struct load_level {
        uint8_t own;     /* 0 to POLICY_MAX_LEVELS */
        bool has_load;   /* the last sample had a load */
        uint8_t samples; /* since there is a load; LOAD_LEVEL_RISE at most */
        bool is_rising;  /* the direction of the run */
        uint8_t run;     /* samples in a row that ask for more, or for less */
        uint8_t asked;   /* what all samples of the run ask for */
        int64_t rest_until_mono_ms;
};

/* The least levels of some nodes, LOAD_LEVEL_NONE as long as there is none. */
struct load_levels {
        unsigned least;
        unsigned least_soon; /* after what has begun, and without those that are late */
};

#define LOAD_LEVEL_NONE ((struct load_levels){POLICY_MAX_LEVELS, POLICY_MAX_LEVELS})

/**
 * load_level_ratio() - the load by all usable @values
 * @ret_is_provisional: some of them cover too little of their windows
 * Return: false when there are none
 */
bool load_level_ratio(const struct policy *policy, const struct plan_values *values, double *ret,
                      bool *ret_is_provisional);

/** load_level_sample() - take in one more sample of the node's load, of 0 to 1 */
void load_level_sample(struct load_level *level, const struct policy *policy, double load_ratio);
/** load_level_hold() - there is a load, but nothing that may change the level */
static inline void load_level_hold(struct load_level *level) {
        level->has_load = true;
}

/** load_level_forget() - the load is not known any more; when it is, go on from what the node
 * carries */
void load_level_forget(struct load_level *level, unsigned carried);

/** load_level_changed() - the taints of the node have changed, by whomever */
static inline void load_level_changed(struct load_level *level, int64_t now_mono_ms) {
        level->rest_until_mono_ms = now_mono_ms + LOAD_LEVEL_REST_MS;
}
/** load_level_may_change() - the last change is long enough ago */
static inline bool load_level_may_change(const struct load_level *level, int64_t now_mono_ms) {
        return now_mono_ms >= level->rest_until_mono_ms;
}

/** load_level_is_settled() - may it change what the node carries? */
static inline bool load_level_is_settled(const struct load_level *level) {
        return level->has_load && level->samples >= LOAD_LEVEL_RISE;
}

/** load_level_compare() - take a settled level into the least ones */
static inline void load_level_compare(const struct load_level *level, bool is_late,
                                      struct load_levels *least) {
        unsigned soon = level->run > 0 && level->is_rising ? level->asked : level->own;

        if (level->own < least->least)
                least->least = level->own;
        if (!is_late && soon < least->least_soon)
                least->least_soon = soon;
}

/** load_level_shown() - the number of taints that the node shall carry, which now carries @carried;
 * 0 without a load */
unsigned load_level_shown(const struct load_level *level, const struct load_levels *least,
                          unsigned carried);
