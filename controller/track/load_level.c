#include "controller/track/load_level.h"

bool load_level_ratio(const struct policy *policy, const struct plan_values *values, double *ret,
                      bool *ret_is_provisional) {
        struct policy_range range = policy_pool_priorities(policy, values->pool);
        double largest_weight = 0, load_ratio = -1;
        bool is_provisional = false;

        for (size_t i = range.begin; i < range.end; i++)
                if (policy->priorities[i].weight > largest_weight)
                        largest_weight = policy->priorities[i].weight;
        for (size_t i = range.begin; i < range.end; i++) {
                const struct policy_priority *priority = &policy->priorities[i];
                if (!plan_has(values, priority->metric) || priority->weight == 0)
                        continue;
                double ratio = values->ratio[priority->metric] *
                               (priority->weight / largest_weight);
                load_ratio = ratio > load_ratio ? ratio : load_ratio;
                is_provisional |= plan_is_provisional(values, priority->metric);
        }
        if (load_ratio < 0)
                return false;
        *ret = load_ratio;
        *ret_is_provisional = is_provisional;
        return true;
}

static uint8_t count_reached(const struct policy *policy, double load_ratio) {
        uint8_t reached = 0;

        while (reached < policy->level_count && load_ratio >= policy->level_ratios[reached])
                reached++;
        return reached;
}

void load_level_sample(struct load_level *level, const struct policy *policy, double load_ratio) {
        if (level->own > policy->level_count)
                level->own = (uint8_t)policy->level_count;
        uint8_t up = count_reached(policy, load_ratio);
        uint8_t down = count_reached(policy, load_ratio + LOAD_LEVEL_HYSTERESIS_RATIO);
        bool is_rising = up > level->own;
        uint8_t target = is_rising ? up : down;

        level->has_load = true;
        if (level->samples < LOAD_LEVEL_RISE)
                level->samples++;
        if (up <= level->own && down >= level->own) {
                level->run = 0;
                return;
        }
        if (level->run == 0 || is_rising != level->is_rising) {
                level->run = 0;
                level->target = target;
        } else if (is_rising ? target < level->target : target > level->target) {
                level->target = target;
        }
        level->is_rising = is_rising;
        if (++level->run < (is_rising ? LOAD_LEVEL_RISE : LOAD_LEVEL_FALL))
                return;
        level->own = level->target;
        level->run = 0;
}

void load_level_forget(struct load_level *level, unsigned carried) {
        level->own = (uint8_t)carried;
        level->has_load = false;
        level->samples = 0;
        level->run = 0;
}

static unsigned above(unsigned own, unsigned least) {
        return own > least ? own - least : 0;
}

unsigned load_level_shown(const struct load_level *level, const struct load_levels *least,
                          unsigned carried) {
        unsigned most = above(level->own, least->least);
        unsigned soon = above(level->own, least->least_soon);

        if (!level->has_load || carried > most)
                return level->has_load ? most : 0;
        return carried < soon ? soon : carried;
}
