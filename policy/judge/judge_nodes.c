#include "policy/judge/judge_nodes.h"

struct node_verdict judge_nodes_verdict_slow(const struct judge_nodes *nodes, size_t row,
                                             int64_t now_unix_ms) {
        const struct node_columns *columns = &nodes->columns;

        return (struct node_verdict){
                .limits = verdict_filter(nodes->policy, &nodes->readings, row, now_unix_ms),
                .score100 = columns->has_estimate
                                    ? node_columns_score100(columns,
                                                            &nodes->terms[columns->pool[row]], row)
                                    : verdict_score100(nodes->policy, &nodes->readings, row, NULL,
                                                       now_unix_ms),
        };
}
