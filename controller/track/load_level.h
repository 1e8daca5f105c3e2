/*
 * The level of a node's load, by spec.taints. Pure.
 *
 * The load of a node is its largest usage among the metrics of spec.priority, each times its
 * weight as a share of the largest weight: what scoring: estimate ranks by, without the estimate.
 *
 * A node's own level is the number of spec.taints.levels that its load has reached. It rises when
 * LOAD_LEVEL_RISE samples in a row ask for more, and falls when LOAD_LEVEL_FALL samples in a row
 * are LOAD_LEVEL_HYSTERESIS_RATIO below; by as many levels as all of these samples ask for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/policy.h"

enum {
        LOAD_LEVEL_RISE = 2,
        LOAD_LEVEL_FALL = 8, /* two minutes at the usual interval */
};

#define LOAD_LEVEL_HYSTERESIS_RATIO 0.05

struct load_level {
        uint8_t own;    /* 0 to POLICY_MAX_LEVELS */
        bool has_load;  /* the last sample had a load */
        bool is_rising; /* the direction of the run */
        uint8_t run;    /* samples in a row that ask for more, or for less */
        uint8_t asked;  /* what all samples of the run ask for */
};

/** load_level_ratio() - the load by all usable @values; false when there are none */
bool load_level_ratio(const struct policy *policy, const struct plan_values *values, double *ret);

/** load_level_sample() - take in one more sample of the node's load, of 0 to 1 */
void load_level_sample(struct load_level *level, const struct policy *policy, double load_ratio);

/** load_level_shown() - the number of taints that the node shall carry: its own level less @least,
 * the least of all nodes, so that a cluster which is busy all over has no taints; 0 without a load
 */
static inline unsigned load_level_shown(const struct load_level *level, unsigned least) {
        return level->has_load && level->own > least ? level->own - least : 0;
}
