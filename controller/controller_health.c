#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "controller/controller_loop.h"
#include "kube/kube_api.h"

enum {
        SOURCES_MAX_BYTES = 480, /* a health check keeps no more */
        CLOCK_MAX_APART_MS = MS_PER_MIN,
};

static void register_sources(struct controller *c) {
        struct metrics *metrics = c->parts.daemon->metrics;

        for (size_t i = 0; i < c->options.sources->count; i++) {
                const char *const *labels = LABELS("source", c->options.sources->specs[i].name);
                if (i < c->compiled->ordered_count)
                        c->health.served[i] = metrics_gauge(metrics, "plimsoll_nodes_served",
                                                            "Nodes that the source serves.",
                                                            labels);
                c->health.failing[i] = metrics_gauge(metrics, "plimsoll_targets_failing",
                                                     "Targets whose last scrape failed.", labels);
        }
}

void controller_health_init(struct controller *c) {
        struct metrics *metrics = c->parts.daemon->metrics;
        struct health *health = c->parts.daemon->health;

        c->health = (struct controller_health){
                .nodes = metrics_gauge(metrics, "plimsoll_nodes",
                                       "Nodes that the controller follows.", NULL),
                .stale = metrics_gauge(
                        metrics, "plimsoll_nodes_stale",
                        "Nodes without a recent sample. Their annotations are not updated.", NULL),
                .windows = metrics_gauge(metrics, "plimsoll_windows",
                                         "Metrics that have a value now, over all nodes.", NULL),
                .oldest = metrics_gauge(
                        metrics, "plimsoll_sample_age_max_seconds",
                        "Largest age of a node's newest sample, without stale nodes.", NULL),
                .idle_offered = metrics_gauge(
                        metrics, "plimsoll_idle_offered_cores",
                        "CPUs that all nodes offer to batch pods, with spec.idle.", NULL),
                .idle_taken = metrics_gauge(metrics, "plimsoll_idle_taken_cores",
                                            "CPUs that batch pods request from these offers.",
                                            NULL),
                .idle_used = metrics_gauge(
                        metrics, "plimsoll_idle_used_cores",
                        "CPUs that batch pods use on nodes whose kubelet shows it. They are left "
                        "out of the usage of these nodes.",
                        NULL),
                .node_watch = health_add(health, "nodes", "not listed yet"),
                .binding_watch = health_add(health, "bindings", "not listed yet"),
                .pod_watch = health_add(health, "pods", "not listed yet"),
                .workloads = health_add(health, "workloads", "not measured yet"),
                .scrapes = health_add(health, "scrapes", "no scrape has completed yet"),
                .writes = health_add(health, "writes", "not started yet"),
                .sources = health_add(health, "sources", "not checked yet"),
                .clock = health_add(health, "clock", "not checked yet"),
        };
        register_sources(c);
}

/* Counting */

/* Counts over all nodes. */
struct tally {
        size_t served[SOURCE_MAX], failing[SOURCE_MAX];
        size_t stale;                               /* without a recent sample */
        size_t windows;                             /* metrics with a value */
        int64_t oldest_ms;                          /* without stale nodes */
        const struct controller_node *failing_node; /* its source fails; NULL: none */
        const struct controller_node
                *fallback_node; /* not served by the first source; NULL: none */
        size_t fallback_count;
        struct idle_use idle;
};

static bool is_idle(const struct controller *c) {
        return c->compiled->first_used == c->compiled->options.source_count;
}

struct idle_use controller_node_idle(const struct controller_node *n) {
        const struct controller *c = n->controller;
        struct idle_use idle = {0};

        if (c->compiled->policy->idle_line_ratio <= 0)
                return idle;
        idle = pod_set_idle_use(c->pods.set, n->node->name, controller_now_mono(c));
        idle.offered_cores = fmax((double)n->writing.idle.carried_milli / 1000, 0);
        return idle;
}

static void tally_idle(const struct controller_node *n, struct idle_use *sum) {
        struct idle_use idle = controller_node_idle(n);

        sum->offered_cores += idle.offered_cores;
        sum->taken_cores += idle.taken_cores;
        sum->used_cores += fmax(idle.used_cores, 0);
}

static void tally_failing(const struct controller_node *n, size_t failing[static SOURCE_MAX]) {
        const struct controller *c = n->controller;

        for (size_t i = 0; i < c->options.sources->count; i++)
                failing[i] += n->track.feeds[i].failure &&
                              node_track_needs(&n->track, i, controller_now_mono(c));
}

static void tally_node(const struct controller_node *n, struct tally *tally) {
        const struct controller *c = n->controller;
        bool is_fresh = node_track_is_fresh(&n->track, controller_now_mono(c));
        int64_t age_ms = 0;

        tally_idle(n, &tally->idle);
        if (node_track_failure(&n->track))
                tally->failing_node = n;
        if (n->track.serving < c->compiled->ordered_count &&
            !(is_fresh && n->track.serving == c->compiled->first_used) &&
            tally->fallback_count++ == 0)
                tally->fallback_node = n;
        tally->stale += !is_fresh;
        if (!is_fresh)
                return;
        (void)node_track_age_ms(&n->track, controller_now_mono(c), &age_ms);
        tally->served[n->track.serving]++;
        tally->windows += n->usable;
        tally->oldest_ms = age_ms > tally->oldest_ms ? age_ms : tally->oldest_ms;
}

/* Time has passed: a source is no longer needed, another one should serve the node, or the node has
 * become silent. */
static void settle_node(struct controller_node *n) {
        struct controller *c = n->controller;

        for (size_t i = 0; i < c->options.sources->count; i++)
                if (!node_track_needs(&n->track, i, controller_now_mono(c)))
                        outage_log_gone(&c->switches.outages[i], &n->is_failing[i]);
        controller_node_switch(n);
        if (c->series && !node_track_is_fresh(&n->track, controller_now_mono(c)))
                node_series_drop(c->series, n->node->slot);
}

/* Showing */

static void check_reflector(struct health_check *check, const struct reflector *reflector,
                            bool is_needed, size_t count, const char *what, const char *which) {
        const char *trouble = reflector ? reflector_trouble(reflector) : "";

        if (!reflector)
                health_pass(check, "not watched");
        else if (is_needed && !reflector_is_synced(reflector))
                health_fail(check, "no complete list yet: %s; see --kubeconfig and the RBAC rules",
                            trouble);
        else
                health_pass(check, "%zu %s%s%s%s%s", count, what, number_plural(count), which,
                            *trouble ? "; " : "", trouble);
}

static void check_watches(const struct controller *c) {
        check_reflector(c->health.node_watch, c->nodes->reflector, true, node_set_count(c->nodes),
                        "node", "");
        check_reflector(c->health.binding_watch, bindings_reflector(c->bindings), true,
                        bindings_nodes(c->bindings), "node", " with recent bindings");
        /* Without pods, requests tell what they use: only offers of idle CPU need all of them. */
        check_reflector(c->health.pod_watch, pod_set_reflector(c->pods.set),
                        c->compiled->policy->idle_line_ratio > 0, c->pods.set->by_id.len, "pod",
                        c->pods.set->is_metering ? "" : " on idle CPU");
}

/* Always passes: without what was measured, requests tell what pods use. */
static void check_workloads(const struct controller *c) {
        const char *trouble = c->pods.store ? usage_store_trouble(c->pods.store) : "";

        if (!c->pods.set->is_metering)
                health_pass(c->health.workloads,
                            "not measured: the policy's scoring is not estimate");
        else if (*trouble)
                health_pass(c->health.workloads,
                            "%s; the service account needs the RBAC rules for ConfigMaps", trouble);
        else
                health_pass(c->health.workloads, "measured by the leader");
}

static void check_scrapes(const struct controller *c, const struct tally *tally) {
        struct health_check *check = c->health.scrapes;
        size_t nodes = node_set_count(c->nodes);
        const struct controller_node *failed = tally->failing_node;

        if (is_idle(c))
                health_pass(check, "the policy has no metrics");
        else if (nodes == 0 || tally->stale < nodes)
                health_pass(check, "%zu of %zu nodes have recent samples", nodes - tally->stale,
                            nodes);
        else if (failed)
                health_fail(check, "none of %zu nodes has a recent sample; node %s: %s; see %s",
                            nodes, failed->node->name, node_track_failure(&failed->track),
                            source_hint(c->options.sources->specs[failed->track.serving].kind,
                                        node_track_failure(&failed->track)));
        else
                health_fail(check, "no scrape has completed yet");
}

static void check_writes(const struct controller *c) {
        struct health_check *check = c->health.writes;
        size_t nodes = node_set_count(c->nodes), budget = writer_budget_nodes(c->writer);
        const char *trouble = writer_trouble(c->writer);

        if (!trouble)
                health_pass(check, "nothing to write (dry run)");
        else if (*trouble)
                health_fail(check, "%s", trouble);
        else if (nodes > budget)
                health_pass(check,
                            "--patch-qps is enough for %zu of %zu nodes; raise it, or lengthen the "
                            "periods of the policy",
                            budget, nodes);
        else
                health_pass(check, "no repeated failures");
}

/* Always passes: any source is fine, and the check `scrapes` fails if there is none. */
static void check_sources(const struct controller *c, const struct tally *tally) {
        _cleanup_(buf_done) struct buf line = BUF_INIT(SOURCES_MAX_BYTES);

        for (size_t i = 0; i < c->compiled->ordered_count; i++) {
                metrics_set(c->health.served[i], (double)tally->served[i]);
                buf_printf(&line, "%s%s %zu", i > 0 ? ", " : "", c->options.sources->specs[i].name,
                           tally->served[i]);
        }
        if (tally->stale > 0)
                buf_printf(&line, ", none %zu", tally->stale);
        if (tally->fallback_node)
                buf_printf(
                        &line, " (%s: %s%s)", tally->fallback_node->node->name,
                        node_track_trouble(&tally->fallback_node->track, c->compiled->first_used),
                        tally->fallback_count > 1 ? ", ..." : "");
        health_pass(c->health.sources, "%s", line.data);
}

/* Readers judge annotations by another clock. If this clock is behind, annotations have expired
 * when they arrive, and limits have no effect; if it is ahead, they are used for too long. */
static void check_clock(struct controller *c) {
        const struct kube_api *api = c->parts.daemon->api;
        int64_t ahead_ms = api ? kube_api_clock_ahead_ms(api) : 0;
        bool is_behind = ahead_ms<0, is_wrong = llabs(ahead_ms)> CLOCK_MAX_APART_MS;
        long long off_s = llabs(ahead_ms) / MS_PER_S;

        if (is_wrong)
                health_fail(c->health.clock,
                            "%lld s %s the API server's: annotations expire too %s; synchronize "
                            "this machine's clock",
                            off_s, is_behind ? "behind" : "ahead of", is_behind ? "soon" : "late");
        else
                health_pass(c->health.clock, "%s", "agrees with the API server's");
        if (is_wrong && !c->health.is_clock_wrong)
                log_warn(MSG("this machine's clock differs from the API server's"),
                         INT("ahead_ms", ahead_ms));
        else if (!is_wrong && c->health.is_clock_wrong)
                log_info(MSG("this machine's clock agrees with the API server's again"));
        c->health.is_clock_wrong = is_wrong;
}

void controller_health_count(struct controller *c) {
        struct tally tally = {0};
        struct controller_node *n;

        CONTROLLER_NODE_FOREACH(n, c) {
                settle_node(n);
                tally_failing(n, tally.failing);
                if (!is_idle(c))
                        tally_node(n, &tally);
        }
        controller_switches_tick(c);
        for (size_t i = 0; i < c->options.sources->count; i++)
                metrics_set(c->health.failing[i], (double)tally.failing[i]);
        metrics_set(c->health.nodes, (double)node_set_count(c->nodes));
        metrics_set(c->health.stale, (double)tally.stale);
        metrics_set(c->health.windows, (double)tally.windows);
        metrics_set(c->health.idle_offered, tally.idle.offered_cores);
        metrics_set(c->health.idle_taken, tally.idle.taken_cores);
        metrics_set(c->health.idle_used, tally.idle.used_cores);
        metrics_set(c->health.oldest, (double)tally.oldest_ms / (double)MS_PER_S);
        check_watches(c);
        check_workloads(c);
        check_scrapes(c, &tally);
        check_writes(c);
        check_sources(c, &tally);
        check_clock(c);
}
