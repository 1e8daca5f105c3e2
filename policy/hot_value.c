#include "policy/hot_value.h"

int64_t hot_value(const struct policy *policy, const struct binding_ring *ring,
                  int64_t now_unix_ms) {
        int64_t hot = 0;

        for (size_t i = 0; i < policy->hot_value_count; i++) {
                const struct policy_hot_value *p = &policy->hot_values[i];
                hot += (int64_t)binding_ring_count(ring, now_unix_ms, p->time_range_ms) / p->count;
        }
        return hot;
}

int64_t hot_value_next_change_unix_ms(const struct policy *policy, const struct binding_ring *ring,
                                      int64_t now_unix_ms) {
        int64_t next_ms = INT64_MAX;

        for (size_t i = 0; i < policy->hot_value_count; i++) {
                const struct policy_hot_value *p = &policy->hot_values[i];
                int64_t in_range = (int64_t)binding_ring_count(ring, now_unix_ms, p->time_range_ms);
                int64_t points = in_range / p->count;
                if (points == 0)
                        continue;
                /* Fewer than points * count are in range once the oldest of these leaves it. */
                int64_t oldest_ms = binding_ring_newest(ring, (size_t)(points * p->count));
                int64_t leaves_ms = 0;
                if (!__builtin_add_overflow(oldest_ms, p->time_range_ms, &leaves_ms) &&
                    leaves_ms < next_ms)
                        next_ms = leaves_ms;
        }
        return next_ms;
}

int64_t hot_value_keep_ms(const struct policy *policy) {
        int64_t keep_ms = 0;

        for (size_t i = 0; i < policy->hot_value_count; i++)
                if (policy->hot_values[i].time_range_ms > keep_ms)
                        keep_ms = policy->hot_values[i].time_range_ms;
        return keep_ms;
}
