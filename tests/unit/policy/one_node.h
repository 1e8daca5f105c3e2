/* A table of one node, filled from annotations as the extender fills its own. */
#pragma once

#include <string.h>

#include "policy/annotation.h"
#include "policy/verdict.h"

struct one_node {
        double usage_ratio[POLICY_MAX_METRICS];
        int64_t expires_unix_ms[POLICY_MAX_METRICS];
        double hot;
        int64_t hot_expires_unix_ms;
        struct reading_columns columns;
};

static inline void one_node_init(struct one_node *node) {
        *node = (struct one_node){.hot_expires_unix_ms = READING_NEVER};
        for (size_t i = 0; i < POLICY_MAX_METRICS; i++) {
                node->expires_unix_ms[i] = READING_NEVER;
                node->columns.usage_ratio[i] = &node->usage_ratio[i];
                node->columns.expires_unix_ms[i] = &node->expires_unix_ms[i];
        }
        node->columns.hot = &node->hot;
        node->columns.hot_expires_unix_ms = &node->hot_expires_unix_ms;
}

/* Keys that are no metric of the policy and values that cannot be read change nothing. */
static inline void one_node_annotate(struct one_node *node, const struct policy *policy,
                                     const char *key, const char *value) {
        struct annotation got;

        if (annotation_parse(value, strlen(value), NULL, &got, NULL) < 0)
                return;
        if (strcmp(key, ANNOTATION_HOT_VALUE) == 0) {
                node->hot = got.value;
                node->hot_expires_unix_ms = annotation_expires_unix_ms(got.at_unix_ms, 0);
                return;
        }
        int metric = policy_metric_index(policy, key);
        if (metric < 0)
                return;
        node->usage_ratio[metric] = got.value;
        node->expires_unix_ms[metric] = annotation_expires_unix_ms(
                got.at_unix_ms, policy->metrics[metric].period_ms);
}
