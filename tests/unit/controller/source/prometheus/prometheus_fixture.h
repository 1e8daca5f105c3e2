/* A Prometheus that answers from a script, and a clock that the test sets. */
#pragma once

#include "policy/policy.h"
#include "tests/unit/fixture/scripted_fixture.h"

#define RESULT(type, series)                                                                       \
        "{\"status\":\"success\",\"data\":{\"resultType\":\"" type "\",\"result\":[" series "]}}"
#define VALUE(labels, value) "{\"metric\":{" labels "},\"value\":[1784805954,\"" value "\"]}"

static inline void add_metric(struct policy *policy, const char *name) {
        struct policy_metric *metric = &policy->metrics[policy->metric_count++];

        (void)snprintf(metric->name, sizeof(metric->name), "%s", name);
        metric->is_query = policy_query_parse(policy, name, &metric->query);
}

/* Runs until so many queries in all have come to @result. */
static inline void run_until_asked(struct fixture *f, const char *result, double wanted) {
        run_until(f, counted,
                  metrics_counter(f->rig.metrics, "plimsoll_prometheus_queries_total",
                                  "Queries to Prometheus by result.", LABELS("result", result)),
                  wanted);
}
