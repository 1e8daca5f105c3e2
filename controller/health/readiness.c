#include "controller/health/readiness.h"

#include "base/clock.h"
#include "base/number.h"

void readiness_init(struct readiness *readiness, struct metrics *metrics, struct health *health) {
        *readiness = (struct readiness){
                .nodes = metrics_gauge(metrics, "plimsoll_nodes", "Nodes that are watched.", NULL),
                .stale = metrics_gauge(
                        metrics, "plimsoll_nodes_stale",
                        "Nodes without a recent sample; their annotations are not updated.", NULL),
                .windows = metrics_gauge(metrics, "plimsoll_windows",
                                         "Windows that have a value now, over all nodes.", NULL),
                .oldest = metrics_gauge(
                        metrics, "plimsoll_sample_age_max_seconds",
                        "Largest age of a node's newest sample, stale nodes excluded.", NULL),
                .node_watch = health_add(health, "nodes", "not listed yet"),
                .binding_watch = health_add(health, "bindings", "not listed yet"),
                .scrapes = health_add(health, "scrapes", "no scrape has completed yet"),
                .writes = health_add(health, "writes", "not started yet"),
        };
}

static void check_reflector(struct health_check *check, const struct reflector *reflector,
                            bool is_listed, size_t count, const char *which) {
        const char *trouble = reflector ? reflector_trouble(reflector) : "";

        if (!reflector)
                health_pass(check, "not watched");
        else if (!is_listed)
                health_fail(check, "no complete list yet: %s; see --kubeconfig and the RBAC rules",
                            *trouble ? trouble : "waiting for an answer");
        else
                health_pass(check, "%zu node%s%s%s%s", count, number_plural(count), which,
                            *trouble ? "; " : "", trouble);
}

void readiness_publish(const struct readiness *readiness, const struct readiness_tally *tally) {
        metrics_set(readiness->nodes, (double)tally->nodes);
        metrics_set(readiness->stale, (double)tally->stale);
        metrics_set(readiness->windows, (double)tally->windows);
        metrics_set(readiness->oldest, (double)tally->oldest_ms / (double)MS_PER_S);

        check_reflector(readiness->node_watch, tally->node_watch, tally->is_listed, tally->nodes,
                        "");
        check_reflector(readiness->binding_watch, tally->binding_watch,
                        tally->binding_watch && reflector_is_synced(tally->binding_watch),
                        tally->bound_nodes, " with recent bindings");
        if (tally->is_idle)
                health_pass(readiness->scrapes, "the policy has no metrics");
        else if (tally->nodes == 0 || tally->stale < tally->nodes)
                health_pass(readiness->scrapes, "%zu of %zu nodes have recent samples",
                            tally->nodes - tally->stale, tally->nodes);
        else if (tally->failed_node)
                health_fail(readiness->scrapes,
                            "none of %zu nodes has a recent sample; node %s: %s; see %s",
                            tally->nodes, tally->failed_node, tally->failed_reason,
                            tally->failed_hint);
        else
                health_fail(readiness->scrapes, "no scrape has completed yet");

        if (!tally->write_trouble)
                health_pass(readiness->writes, "nothing to write (dry run)");
        else if (*tally->write_trouble)
                health_fail(readiness->writes, "%s", tally->write_trouble);
        else if (tally->nodes > tally->budget_nodes)
                health_pass(readiness->writes,
                            "patch budget carries %zu of %zu nodes; raise --patch-qps or lengthen "
                            "the periods of the policy",
                            tally->budget_nodes, tally->nodes);
        else
                health_pass(readiness->writes, "no repeated failures");
}
