/*
 * The level of a node's load, by spec.taints. Pure.
 *
 * A node's load is its largest usage among the metrics of spec.priority, each multiplied by its
 * weight as a share of the largest weight. `scoring: estimate` ranks by the same, plus its
 * estimate.
 *
 * A node's own level is the number of spec.taints.levels that its load has reached. It rises after
 * LOAD_LEVEL_RISE samples in a row above it, and falls after LOAD_LEVEL_FALL samples in a row that
 * are LOAD_LEVEL_HYSTERESIS_RATIO below it; by as many levels as all of these samples allow. It has
 * settled after LOAD_LEVEL_RISE samples, when it could have risen.
 *
 * A node carries taints for its own level minus the lowest level of all nodes, so that a cluster
 * which is busy everywhere has no taints. Only settled levels count as the lowest. If all nodes get
 * busy at the same time, some rise a moment before the others. So before a node gets more taints,
 * nodes that have begun to rise count as risen, and nodes whose readings are late do not count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/policy.h"

enum {
        LOAD_LEVEL_RISE = 2,
        LOAD_LEVEL_FALL = 8,        /* two minutes at the default interval */
        LOAD_LEVEL_REST_MS = 60000, /* between two changes of a node's taints */
};

#define LOAD_LEVEL_HYSTERESIS_RATIO 0.05

struct load_level {
        uint8_t own;     /* 0 to POLICY_MAX_LEVELS */
        bool has_load;   /* the last sample had a load */
        uint8_t samples; /* since there is a load; at most LOAD_LEVEL_RISE */
        bool is_rising;  /* direction of the run */
        uint8_t run;     /* samples in a row above, or below, the level */
        uint8_t target;  /* the level that all samples of the run allow */
        int64_t rest_until_mono_ms;
};

/* The lowest levels of all nodes; LOAD_LEVEL_NONE without nodes. */
struct load_levels {
        unsigned least;
        unsigned least_soon; /* with rises that have begun, and without nodes whose readings are
                                late */
};

#define LOAD_LEVEL_NONE ((struct load_levels){POLICY_MAX_LEVELS, POLICY_MAX_LEVELS})

/**
 * load_level_ratio() - the load by all usable @values
 * @ret_is_provisional: a value covers too little of its window
 * Return: false: there is no value
 */
bool load_level_ratio(const struct policy *policy, const struct plan_values *values, double *ret,
                      bool *ret_is_provisional);

/** load_level_sample() - take in a sample of the load, 0 to 1 */
void load_level_sample(struct load_level *level, const struct policy *policy, double load_ratio);
/** load_level_hold() - take in a load that must not change the level */
static inline void load_level_hold(struct load_level *level) {
        level->has_load = true;
}

/** load_level_forget() - the load is no longer known; begin again from the level that the node
 * carries */
void load_level_forget(struct load_level *level, unsigned carried);

/** load_level_changed() - somebody has changed the taints of the node */
static inline void load_level_changed(struct load_level *level, int64_t now_mono_ms) {
        level->rest_until_mono_ms = now_mono_ms + LOAD_LEVEL_REST_MS;
}
/** load_level_may_change() - is the last change long enough ago? */
static inline bool load_level_may_change(const struct load_level *level, int64_t now_mono_ms) {
        return now_mono_ms >= level->rest_until_mono_ms;
}

/** load_level_is_settled() - is the level reliable? */
static inline bool load_level_is_settled(const struct load_level *level) {
        return level->has_load && level->samples >= LOAD_LEVEL_RISE;
}

/** load_level_compare() - lower @least to a settled level */
static inline void load_level_compare(const struct load_level *level, bool is_late,
                                      struct load_levels *least) {
        unsigned soon = level->run > 0 && level->is_rising ? level->target : level->own;

        if (level->own < least->least)
                least->least = level->own;
        if (!is_late && soon < least->least_soon)
                least->least_soon = soon;
}

/** load_level_shown() - how many taints a node that carries @carried should carry; 0 without a load
 */
unsigned load_level_shown(const struct load_level *level, const struct load_levels *least,
                          unsigned carried);
