#include "extender/table/table_watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "codec/json.h"
#include "extender/table/estimate_watch.h"
#include "extender/table/usage_watch.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "kube/reflector.h"
#include "policy/hot_value.h"
#include "policy/pods/binding_watch.h"

enum {
        PUBLISH_INTERVAL_MS = 10,
        PUBLISH_SHARE = 20, /* publishing takes at most a twentieth of the time */
        LOOK_INTERVAL_MS = 1000,
        START_LOOK_MS = 100,
        /* After the first list of nodes, the time to wait for the other lists that the policy needs
         * before the extender becomes ready without them. An API server lists 30,000 pods in a
         * second. If there is no other extender, pods are placed without one, or wait. */
        START_MS = 20000,
        /* Check verdicts at least this often, since the wall clock may be set. */
        CHANGE_MAX_MS = 60000,
};

/*
 *   LISTING   until the nodes are listed: nothing is published
 *   STARTING  START_MS from then on: not ready while another list that the policy needs is awaited
 *   STARTED   for good
 */
enum table_phase { TABLE_LISTING, TABLE_STARTING, TABLE_STARTED };

struct table_watch {
        struct table_watch_options options;
        enum table_phase phase;
        struct reflector *nodes;
        struct binding_watch *bindings; /* NULL unless nodes are listed and hot values used */
        int64_t recent_ms;              /* hot_value_keep_ms() of the policy */
        /* NULL until nodes are listed and a policy has scoring: estimate; kept from then on */
        struct estimate_watch *estimate;
        struct usage_watch *usage;
        bool awaits_policy; /* nothing is published: the policy is unknown yet */

        /* When the next reading expires or hot value falls; sooner if something has changed. */
        struct loop_timer publish_timer;
        struct loop_timer look_timer; /* health checks and gauges */
        int64_t publish_not_before_mono_ms;
        int64_t start_until_mono_ms; /* of STARTING */
        bool is_skewed;              /* timestamps in the future were logged */

        struct health_check *nodes_check, *bindings_check, *pods_check, *workloads_check;
        struct metrics_series *rows, *readings[READING_STATE_COUNT], *skewed, *publications;
        struct metrics_series *publish_duration;
        struct metrics_series *pods_held, *last_binding, *workloads, *reservations,
                *factor[ESTIMATE_RESOURCE_COUNT]; /* of the estimate */
        int64_t last_bound_unix_ms;
};

static int64_t table_now_unix_ms(const struct table_watch *watch) {
        return loop_now_unix_ms(watch->options.daemon->loop);
}

static int64_t table_now_mono_ms(const struct table_watch *watch) {
        return loop_now_mono_ms(watch->options.daemon->loop);
}

static bool uses_estimate(const struct table_watch *watch) {
        return node_table_policy(watch->options.table)->scoring == POLICY_SCORING_ESTIMATE;
}

static bool may_publish(const struct table_watch *watch) {
        return watch->phase != TABLE_LISTING && !watch->awaits_policy;
}

static void publish(void *userdata);

static void publish_at(struct table_watch *watch, int64_t at_mono_ms) {
        loop_timer_arm(watch->options.daemon->loop, &watch->publish_timer, at_mono_ms, publish,
                       watch);
}

static void publish(void *userdata) {
        struct table_watch *watch = userdata;
        struct node_table *table = watch->options.table;
        int64_t begin_ns = clock_mono_ns(), cpu_begin_ns = clock_thread_cpu_ns();

        if (!may_publish(watch))
                return;
        node_table_publish(table, table_now_unix_ms(watch));
        metrics_inc(watch->publications);
        int64_t spent_ns = clock_mono_ns() - begin_ns;
        /* Processor time, since publishing may have waited on a busy machine. */
        int64_t pause_ms = (clock_thread_cpu_ns() - cpu_begin_ns) * PUBLISH_SHARE / 1000000;
        if (pause_ms < PUBLISH_INTERVAL_MS)
                pause_ms = PUBLISH_INTERVAL_MS;
        watch->publish_not_before_mono_ms = table_now_mono_ms(watch) + pause_ms;
        metrics_observe(watch->publish_duration, (double)spent_ns / 1e9);

        int64_t change_ms = node_table_next_change_unix_ms(table) - table_now_unix_ms(watch);
        if (change_ms > CHANGE_MAX_MS)
                change_ms = CHANGE_MAX_MS;
        if (change_ms < pause_ms)
                change_ms = pause_ms;
        publish_at(watch, table_now_mono_ms(watch) + change_ms);
}

/* The table may have changed. The timer fires after the events of this pass of the loop, so a burst
 * of events causes one snapshot. */
static void touched(struct table_watch *watch) {
        if (may_publish(watch) && node_table_is_dirty(watch->options.table))
                publish_at(watch, watch->publish_not_before_mono_ms);
}

static void on_estimate_change(void *userdata) {
        touched(userdata);
}

static void on_bound_pod(void *userdata, const struct pod_facts *pod, bool is_appeared) {
        struct table_watch *watch = userdata;

        if (pod_facts_is_placed(pod) && pod->bound_unix_ms > watch->last_bound_unix_ms)
                watch->last_bound_unix_ms = pod->bound_unix_ms;
        if (watch->options.on_bound)
                watch->options.on_bound(watch->options.userdata, pod, is_appeared);
}

/* After the list of nodes, when the policy of the cluster is known: unlike the built-in policy, it
 * may not need pods. */
static void watch_estimate(struct table_watch *watch) {
        struct estimator *estimator = node_table_estimator(watch->options.table);

        if (watch->phase == TABLE_LISTING || watch->estimate || !uses_estimate(watch))
                return;
        watch->estimate = estimate_watch_new(&(struct estimate_watch_options){
                .daemon = watch->options.daemon,
                .estimator = estimator,
                .on_change = on_estimate_change,
                .on_pod = on_bound_pod,
                .userdata = watch,
        });
        watch->usage = usage_watch_new(watch->options.daemon, estimator, watch->options.namespace);
}

static void table_on_node(void *userdata, enum reflector_event event, const json_t *object) {
        struct table_watch *watch = userdata;

        if (event != REFLECTOR_DELETED)
                (void)node_table_put(watch->options.table, object, table_now_unix_ms(watch));
        else
                node_table_remove(watch->options.table,
                                  json_string_at(object, "metadata", "name", NULL));
        touched(watch);
}

/* Do hot values come from the watch? */
static void settle_live(struct table_watch *watch) {
        bool is_live = watch->bindings && binding_watch_is_live(watch->bindings);

        node_table_set_live(watch->options.table, is_live, table_now_unix_ms(watch));
}

static void table_on_binding(void *userdata, const char *node, int64_t at_unix_ms) {
        struct table_watch *watch = userdata;

        node_table_bind(watch->options.table, node, at_unix_ms, table_now_unix_ms(watch));
        settle_live(watch); /* a burst may come before the next table_watch_look() */
        touched(watch);
}

/* The estimate counts recent bindings itself. */
static bool needs_bindings(const struct policy *policy) {
        return policy->hot_value_count > 0 && policy->scoring != POLICY_SCORING_ESTIMATE;
}

/* Begins when the nodes are known, to which pods are bound. */
static void watch_bindings(struct table_watch *watch) {
        const struct daemon *daemon = watch->options.daemon;
        const struct policy *policy = node_table_policy(watch->options.table);
        int64_t recent_ms = hot_value_keep_ms(policy);
        bool is_needed = needs_bindings(policy);

        if (!is_needed)
                health_pass(watch->bindings_check,
                            policy->hot_value_count == 0
                                    ? "not needed: the policy has no hotValue"
                                    : "not needed: hotValue has no effect on an estimate");
        /* Older bindings were ignored or forgotten. */
        if (watch->bindings && (!is_needed || recent_ms > watch->recent_ms)) {
                binding_watch_free(TAKE_PTR(watch->bindings));
                node_table_forget_bindings(watch->options.table, table_now_unix_ms(watch));
        }
        watch->recent_ms = recent_ms;
        if (is_needed && watch->phase != TABLE_LISTING && !watch->bindings)
                watch->bindings = binding_watch_new(daemon->loop, daemon->api, daemon->metrics,
                                                    recent_ms, table_on_binding, watch);
}

static void table_on_nodes_synced(void *userdata, size_t count) {
        struct table_watch *watch = userdata;

        if (watch->phase == TABLE_LISTING) {
                watch->phase = TABLE_STARTING;
                watch->start_until_mono_ms = table_now_mono_ms(watch) + START_MS;
        }
        publish(watch); /* before the check passes: once ready, the workers have the nodes */
        health_pass(watch->nodes_check, "%zu node%s", count, number_plural(count));
        watch_bindings(watch);
        watch_estimate(watch);
}

/* The extender works without a watch of pods. So after the start the check passes, and its text
 * describes the problem.
 * @pods: NULL: the nodes are not listed yet */
static void look_at_pods(const struct table_watch *watch, struct health_check *check,
                         const struct reflector *pods, const char *with, const char *without) {
        const char *trouble = pods ? reflector_trouble(pods) : "the nodes are not listed yet";

        if (watch->phase != TABLE_STARTED && (!pods || reflector_is_awaited(pods)))
                health_fail(check, "%s", trouble);
        else if (trouble[0] == '\0')
                health_pass(check, "%s", with);
        else
                health_pass(check,
                            "%s the pod watch is not open (the service account needs list and "
                            "watch on pods): %s",
                            without, trouble);
}

/* Without it, the controller's annotation counts. */
static void look_at_bindings(struct table_watch *watch) {
        settle_live(watch);
        if (needs_bindings(node_table_policy(watch->options.table)))
                look_at_pods(watch, watch->bindings_check,
                             watch->bindings ? binding_watch_reflector(watch->bindings) : NULL,
                             "counted from the pod watch", "using node_hot_value annotations,");
}

/* Without pods, the estimate uses readings only, and without ConfigMaps, no workload is measured.
 */
static void look_at_estimate(struct table_watch *watch) {
        static const char no_need[] = "not needed: the policy's scoring is not estimate";
        const char *trouble = watch->usage ? usage_watch_trouble(watch->usage)
                                           : "the nodes are not listed yet";
        struct estimator_stats stats;

        estimator_stats(node_table_estimator(watch->options.table), table_now_mono_ms(watch),
                        &stats);
        metrics_set(watch->pods_held, (double)stats.pods);
        metrics_set(watch->last_binding, (double)watch->last_bound_unix_ms / MS_PER_S);
        metrics_set(watch->workloads, (double)stats.workloads);
        metrics_set(watch->reservations, (double)stats.reservations);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                metrics_set(watch->factor[r], stats.factor.ratio[r]);
        if (!uses_estimate(watch)) {
                health_pass(watch->pods_check, no_need);
                health_pass(watch->workloads_check, no_need);
                return;
        }
        _cleanup_(freep) char *pods = xasprintf("%zu pod%s", stats.pods, number_plural(stats.pods));
        _cleanup_(freep) char *but = xasprintf("%s, but", pods);
        look_at_pods(watch, watch->pods_check,
                     watch->estimate ? estimate_watch_reflector(watch->estimate) : NULL, pods, but);
        health_pass(watch->workloads_check, "%zu measured%s%s", stats.workloads,
                    *trouble ? ", but a watch of ConfigMaps is not open (the service account needs "
                               "list and watch on them): "
                             : "",
                    trouble);
}

static void table_look_at_nodes(struct table_watch *watch) {
        const char *trouble = reflector_trouble(watch->nodes);
        size_t count = node_table_count(watch->options.table);

        if (watch->phase == TABLE_LISTING)
                health_fail(watch->nodes_check,
                            "the first list of nodes is not complete (the service account needs "
                            "list and watch on nodes; see --kubeconfig, --master): %s",
                            trouble);
        else if (trouble[0] != '\0')
                health_pass(watch->nodes_check, "%zu node%s, but the watch is not open: %s", count,
                            number_plural(count), trouble);
        else
                health_pass(watch->nodes_check, "%zu node%s", count, number_plural(count));
}

static void look_at_watches(struct table_watch *watch) {
        table_look_at_nodes(watch);
        look_at_bindings(watch);
        look_at_estimate(watch);
}

static void look_at_table(struct table_watch *watch) {
        struct node_table_stats stats;

        node_table_stats(watch->options.table, table_now_unix_ms(watch), &stats);
        metrics_set(watch->rows, (double)stats.nodes);
        for (size_t state = 0; state < READING_STATE_COUNT; state++)
                metrics_set(watch->readings[state], (double)stats.readings[state]);
        metrics_set(watch->skewed, (double)stats.skewed);
        if ((stats.skewed > 0) == watch->is_skewed)
                return;
        watch->is_skewed = stats.skewed > 0;
        if (watch->is_skewed)
                log_warn(MSG("annotations have timestamps in the future: clocks differ, or "
                             "--annotation-timezone is wrong"),
                         INT("readings", stats.skewed));
        else
                log_info(MSG("annotations no longer have timestamps in the future"));
}

static void table_watch_look(void *userdata) {
        struct table_watch *watch = userdata;
        int64_t now_mono_ms = table_now_mono_ms(watch);

        if (watch->phase == TABLE_STARTING && now_mono_ms >= watch->start_until_mono_ms)
                watch->phase = TABLE_STARTED;
        look_at_watches(watch);
        look_at_table(watch);
        touched(watch);
        int64_t pause_ms = watch->phase == TABLE_STARTED ? LOOK_INTERVAL_MS : START_LOOK_MS;
        loop_timer_arm(watch->options.daemon->loop, &watch->look_timer, now_mono_ms + pause_ms,
                       table_watch_look, watch);
}

static void estimate_register_metrics(struct table_watch *watch) {
        static const char *const resources[] = {"cpu", "mem"};
        struct metrics *metrics = watch->options.daemon->metrics;

        watch->pods_held = metrics_gauge(metrics, "plimsoll_extender_pods",
                                         "Bound pods in the estimate.", NULL);
        watch->last_binding = metrics_gauge(
                metrics, "plimsoll_extender_last_binding_timestamp_seconds",
                "Time of the last binding of a pod that kube-scheduler places; 0: none is known.",
                NULL);
        watch->workloads = metrics_gauge(metrics, "plimsoll_extender_workloads",
                                         "Workloads whose pods a controller has measured.", NULL);
        watch->reservations = metrics_gauge(metrics, "plimsoll_extender_reservations",
                                            "Answers without a binding so far: of the last 5 "
                                            "seconds, or of 10 minutes for pods "
                                            "with claims of volumes or devices.",
                                            NULL);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                watch->factor[r] = metrics_gauge(
                        metrics, "plimsoll_extender_usage_to_request_ratio",
                        "Usage of all pods in the cluster as a share of their requests.",
                        LABELS("resource", resources[r]));
        }
}

static void table_register_metrics(struct table_watch *watch) {
        struct metrics *metrics = watch->options.daemon->metrics;

        watch->rows = metrics_gauge(metrics, "plimsoll_extender_table_nodes",
                                    "Nodes in the node table.", NULL);
        for (enum reading_state state = 0; state < READING_STATE_COUNT; state++)
                watch->readings[state] = metrics_gauge(
                        metrics, "plimsoll_extender_readings",
                        "Readings of all nodes and metrics of the policy, by state. A metric that "
                        "only other pools use does not count as missing.",
                        LABELS("state", node_reading_state_name(state)));
        watch->skewed = metrics_gauge(metrics, "plimsoll_extender_skewed_readings",
                                      "Readings with a timestamp more than a minute in the future.",
                                      NULL);
        watch->publications = metrics_counter(metrics, "plimsoll_extender_table_publications_total",
                                              "Published snapshots of the node table.", NULL);
        watch->publish_duration = metrics_histogram(
                metrics, "plimsoll_extender_table_publication_duration_seconds",
                "Time taken to publish a snapshot.", NULL, &metrics_duration_bounds);
}

static void watch_nodes(struct table_watch *watch) {
        const struct daemon *daemon = watch->options.daemon;

        watch->nodes = reflector_new(daemon->loop, daemon->api, daemon->metrics,
                                     &(struct reflector_spec){
                                             .name = "nodes",
                                             .path = KUBE_NODES,
                                             .proto = &kube_proto_node,
                                             .max_objects = NODE_TABLE_MAX_ROWS,
                                             .on_event = table_on_node,
                                             .on_synced = table_on_nodes_synced,
                                             .userdata = watch,
                                     });
}

struct table_watch *table_watch_new(const struct table_watch_options *options) {
        struct health *health = options->daemon->health;
        struct table_watch *watch = xcalloc(1, sizeof(*watch));

        watch->options = *options;
        watch->awaits_policy = options->awaits_policy;
        table_register_metrics(watch);
        estimate_register_metrics(watch);
        watch->nodes_check = health_add(health, "nodes", "not listed yet");
        watch->bindings_check = health_add(health, "bindings", "not listed yet");
        watch->pods_check = health_add(health, "pods", "not listed yet");
        watch->workloads_check = health_add(health, "workloads", "not listed yet");
        watch_nodes(watch);
        watch_bindings(watch);
        table_watch_look(watch);
        return watch;
}

void table_watch_free(struct table_watch *watch) {
        if (!watch)
                return;
        loop_timer_disarm(watch->options.daemon->loop, &watch->publish_timer);
        loop_timer_disarm(watch->options.daemon->loop, &watch->look_timer);
        binding_watch_free(watch->bindings);
        estimate_watch_free(watch->estimate);
        usage_watch_free(watch->usage);
        reflector_free(watch->nodes);
        free(watch);
}

void table_watch_set_policy(struct table_watch *watch, struct policy *policy) {
        node_table_set_policy(watch->options.table, policy, table_now_unix_ms(watch));
        watch_bindings(watch);
        watch_estimate(watch);
        /* Publish now: once the policy is reported to be in force, answers use it. */
        watch->awaits_policy = false;
        publish(watch);
        look_at_watches(watch);
}

void table_watch_keep_policy(struct table_watch *watch) {
        if (!watch->awaits_policy)
                return;
        watch->awaits_policy = false;
        publish(watch);
}
