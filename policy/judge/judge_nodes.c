#include "policy/judge/judge_nodes.h"

struct node_verdict judge_nodes_verdict_of(const struct node_columns *columns,
                                           const struct policy *policy,
                                           const struct score_weights *weights, size_t row,
                                           int64_t now_unix_ms) {
        return (struct node_verdict){
                .limits = verdict_filter(policy, &columns->readings, row, now_unix_ms),
                .score100 = columns->has_estimate
                                    ? node_columns_score100(
                                              columns, &weights[columns->readings.pool[row]], row)
                                    : verdict_score100(policy, &columns->readings, row, NULL,
                                                       now_unix_ms),
        };
}
