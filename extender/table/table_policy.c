#include "extender/table/table_policy.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

struct table_policy *table_policy_new(struct policy *policy, uint64_t generation,
                                      struct metrics *metrics) {
        struct table_policy *table_policy = xcalloc(1, sizeof(*table_policy));

        table_policy->policy = policy;
        table_policy->generation = generation;
        table_policy->refs = 1;
        for (size_t pool = 0; pool <= policy->pool_count; pool++) {
                score_weights_init(&table_policy->weights[pool], policy, pool);
                table_policy->has_target |= table_policy->weights[pool].has_target;
        }
        for (size_t i = 0; i < policy->predicate_total; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                struct buf json = BUF_INIT(sizeof(predicate->reason) * 6 + 2);
                (void)buf_json_string(&json, predicate->reason, strlen(predicate->reason));
                table_policy->reason_json[i] = buf_take(&json);
                if (metrics)
                        table_policy->rejected[i] = metrics_counter(
                                metrics, TABLE_POLICY_VERDICTS_NAME, TABLE_POLICY_VERDICTS_HELP,
                                LABELS("predicate", policy->metrics[predicate->metric].name));
        }
        return table_policy;
}

struct table_policy *table_policy_ref(struct table_policy *table_policy) {
        (void)atomic_fetch_add_explicit(&table_policy->refs, 1, memory_order_relaxed);
        return table_policy;
}

void table_policy_unref(struct table_policy *table_policy) {
        if (atomic_fetch_sub_explicit(&table_policy->refs, 1, memory_order_acq_rel) > 1)
                return;
        for (size_t i = 0; i < table_policy->policy->predicate_total; i++)
                free(table_policy->reason_json[i]);
        policy_free(table_policy->policy);
        free(table_policy);
}
