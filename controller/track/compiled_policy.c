#include "controller/track/compiled_policy.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy/annotation.h"

/* A reading is fresh for so many intervals, and at least a minute. */
enum { FRESH_INTERVALS = 4 };

bool compiled_policy_is_maximum(const struct policy_metric *metric) {
        return metric->is_query && metric->query.statistic == METRIC_MAX;
}

/* A metric of an exporter comes only from there. */
static size_t find_store(const struct compiled_policy *compiled,
                         const struct policy_metric *metric) {
        for (size_t i = compiled->ordered_count; i < compiled->options.source_count; i++)
                if (source_scope_has(&compiled->options.sources[i].scope, compiled->policy, metric))
                        return i;
        return 0;
}

/* The windows of all metrics of @store for which a source delivers steps. The slowest source
 * decides what is a gap. */
static struct window_plan *plan_windows(const struct compiled_policy *compiled, size_t store) {
        const struct policy *policy = compiled->policy;
        struct metric_query queries[POLICY_MAX_METRICS];
        int64_t interval_ms = 1;
        uint64_t planned = 0;
        size_t count = 0;

        for (size_t s = 0; s < compiled->options.source_count; s++) {
                const struct source_traits *source = &compiled->options.sources[s];
                if (source->is_ready_made || compiled_policy_store(compiled, s) != store)
                        continue;
                interval_ms = source->interval_ms > interval_ms ? source->interval_ms : interval_ms;
                for (size_t i = 0; i < policy->metric_count; i++)
                        if (compiled->stores[i] == store && policy->metrics[i].is_query &&
                            source_scope_has(&source->scope, policy, &policy->metrics[i]))
                                planned |= UINT64_C(1) << i;
        }
        for (; planned != 0; planned &= planned - 1)
                queries[count++] = policy->metrics[__builtin_ctzll(planned)].query;
        return window_plan_new(queries, count, interval_ms);
}

struct compiled_policy *compiled_policy_new(struct policy *policy,
                                            const struct compiled_policy_options *options) {
        struct compiled_policy *compiled = xcalloc(1, sizeof(*compiled));

        assert(options->source_count > 0 && options->source_count <= SOURCE_MAX);
        compiled->policy = policy;
        compiled->options = *options;
        for (size_t i = 0; i < policy->metric_count; i++) {
                const char *name = policy->metrics[i].name;
                if (compiled_policy_is_maximum(&policy->metrics[i]) &&
                    strlen(name) + strlen(ANNOTATION_PEAK) <= METRIC_NAME_MAX)
                        compiled->peak_keys[i] = xasprintf("%s" ANNOTATION_PEAK, name);
        }
        compiled->first_used = options->source_count;
        for (size_t i = 0; i < options->source_count; i++) {
                const struct source_traits *source = &options->sources[i];
                compiled->sources[i].is_used = source_scope_has_any(&source->scope, policy);
                if (compiled->sources[i].is_used && i < compiled->first_used)
                        compiled->first_used = i;
                compiled->sources[i].fresh_ms = FRESH_INTERVALS * source->interval_ms;
                if (compiled->sources[i].fresh_ms < MS_PER_MIN)
                        compiled->sources[i].fresh_ms = MS_PER_MIN;
                if (!source->scope.exporter)
                        compiled->ordered_count = i + 1;
        }
        for (size_t i = 0; i < policy->metric_count; i++)
                compiled->stores[i] = (uint8_t)find_store(compiled, &policy->metrics[i]);
        for (size_t i = 0; i < options->source_count; i++)
                if (compiled_policy_store(compiled, i) == i)
                        compiled->window_plans[i] = plan_windows(compiled, i);
        plan_init(&compiled->plan, policy);
        return compiled;
}

void compiled_policy_free(struct compiled_policy *compiled) {
        if (!compiled)
                return;
        for (size_t i = 0; i < POLICY_MAX_METRICS; i++)
                free(compiled->peak_keys[i]);
        for (size_t i = 0; i < compiled->options.source_count; i++)
                window_plan_free(compiled->window_plans[i]);
        policy_free(compiled->policy);
        free(compiled);
}
