#include "extender/table/node_hot.h"

#include "policy/hot_value.h"
#include "policy/verdict.h"

struct node_hot_value node_hot_settle(struct node_hot *hot, const struct policy *policy,
                                      int64_t live_until_unix_ms, int64_t now_unix_ms) {
        bool is_counted = policy->hot_value_count > 0 && live_until_unix_ms != INT64_MIN;
        bool is_annotated = hot->annotated_expires_unix_ms != READING_NEVER;

        if (!is_counted || (is_annotated && hot->annotated.at_unix_ms > live_until_unix_ms))
                return (struct node_hot_value){
                        .value = is_annotated ? hot->annotated.value : 0,
                        .expires_unix_ms = hot->annotated_expires_unix_ms,
                        .next_change_unix_ms = hot->annotated_expires_unix_ms,
                };
        binding_ring_settle(&hot->bound, now_unix_ms);
        return (struct node_hot_value){
                .value = (double)hot_value(policy, &hot->bound, now_unix_ms),
                .expires_unix_ms = INT64_MAX,
                .next_change_unix_ms = hot_value_next_change_unix_ms(policy, &hot->bound,
                                                                     now_unix_ms),
        };
}
