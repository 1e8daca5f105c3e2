#include "controller/source/source_scope.h"

#include <string.h>

bool source_scope_has(const struct source_scope *scope, const struct policy *policy,
                      const struct policy_metric *metric) {
        const char *exporter = policy_metric_exporter(policy, metric);

        if (!scope->has_every_exporter &&
            strcmp(exporter, scope->exporter ? scope->exporter : "") != 0)
                return false;
        return scope->resources == 0 ||
               (metric->is_query && (scope->resources >> metric->query.resource & 1));
}

bool source_scope_has_any(const struct source_scope *scope, const struct policy *policy) {
        for (size_t i = 0; i < policy->metric_count; i++)
                if (source_scope_has(scope, policy, &policy->metrics[i]))
                        return true;
        return false;
}
