#include "controller/track/compiled_policy.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy/annotation.h"

/* Intervals without a reading after which a feed is no longer fresh; at least a minute. */
enum { FRESH_INTERVALS = 4 };

bool compiled_policy_is_maximum(const struct policy_metric *metric) {
        return metric->is_query &&
               (metric->query.statistic == METRIC_MAX || metric->query.statistic == METRIC_MAX_AVG);
}

static struct window_plan *plan_windows(const struct policy *policy,
                                        const struct source_traits *source) {
        struct metric_query queries[POLICY_MAX_METRICS];
        size_t count = 0;

        for (size_t i = 0; i < policy->metric_count && !source->is_ready_made; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                if (metric->is_query && source_scope_has(&source->scope, policy, metric))
                        queries[count++] = metric->query;
        }
        return window_plan_new(queries, count, source->interval_ms);
}

struct compiled_policy *compiled_policy_new(struct policy *policy,
                                            const struct compiled_policy_options *options) {
        struct compiled_policy *compiled = xcalloc(1, sizeof(*compiled));

        assert(options->source_count > 0 && options->source_count <= SOURCE_MAX);
        compiled->policy = policy;
        compiled->options = *options;
        for (size_t i = 0; i < policy->metric_count; i++) {
                const char *name = policy->metrics[i].name;
                compiled->keys[i] = xasprintf("%s%s", options->style.prefix, name);
                if (compiled_policy_is_maximum(&policy->metrics[i]) &&
                    strlen(name) + strlen(ANNOTATION_PEAK) <= METRIC_NAME_MAX)
                        compiled->peak_keys[i] = xasprintf("%s" ANNOTATION_PEAK, name);
        }
        compiled->first_asked = options->source_count;
        for (size_t i = 0; i < options->source_count; i++) {
                const struct source_traits *source = &options->sources[i];
                compiled->sources[i].window_plan = plan_windows(policy, source);
                compiled->sources[i].is_asked = source_scope_has_any(&source->scope, policy);
                if (compiled->sources[i].is_asked && i < compiled->first_asked)
                        compiled->first_asked = i;
                compiled->sources[i].fresh_ms = FRESH_INTERVALS * source->interval_ms;
                if (compiled->sources[i].fresh_ms < MS_PER_MIN)
                        compiled->sources[i].fresh_ms = MS_PER_MIN;
                if (!source->scope.exporter)
                        compiled->ordered_count = i + 1;
        }
        plan_init(&compiled->plan, policy);
        return compiled;
}

void compiled_policy_free(struct compiled_policy *compiled) {
        if (!compiled)
                return;
        for (size_t i = 0; i < POLICY_MAX_METRICS; i++) {
                free(compiled->keys[i]);
                free(compiled->peak_keys[i]);
        }
        for (size_t i = 0; i < compiled->options.source_count; i++)
                window_plan_free(compiled->sources[i].window_plan);
        policy_free(compiled->policy);
        free(compiled);
}
