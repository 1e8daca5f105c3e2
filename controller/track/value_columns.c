#include "controller/track/value_columns.h"

void value_columns_init(struct value_columns *ret, const struct policy *policy,
                        const struct plan_values *values) {
        static const int64_t always_unix_ms = INT64_MAX, never_unix_ms = READING_NEVER;

        for (size_t i = 0; i < policy->sync_count; i++) {
                ret->usage_ratio[i] = &values->ratio[i];
                ret->expires_unix_ms[i] = (values->usable >> i & 1) != 0 ? &always_unix_ms
                                                                         : &never_unix_ms;
        }
        ret->hot = (double)values->hot;
        ret->columns = (struct reading_columns){
                .usage_ratio = ret->usage_ratio,
                .expires_unix_ms = ret->expires_unix_ms,
                .hot = &ret->hot,
                .hot_expires_unix_ms = values->has_hot ? &always_unix_ms : &never_unix_ms,
        };
}
