#include "extender/table/feed.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/binding_watch.h"
#include "kube/reflector.h"
#include "policy/hot_value.h"

enum {
        PUBLISH_INTERVAL_MS = 10,
        PUBLISH_SHARE = 20, /* at most one part in so many of the time goes into publishing */
        LOOK_INTERVAL_MS = 1000,
        /* A verdict due later than this is looked at again, in case the wall clock is stepped. */
        CHANGE_MAX_MS = 60000,
};

struct feed {
        struct feed_options options;
        struct reflector *nodes;
        struct binding_watch *bindings; /* NULL as long as no policy had hot values */

        struct loop_timer publish_timer; /* something is dirty */
        struct loop_timer change_timer;  /* a reading will expire, or a hot value fall */
        struct loop_timer look_timer;    /* troubles and gauges */
        int64_t publish_not_before_mono_ms;
        bool is_synced;
        bool is_skewed; /* and said so */

        struct health_check *nodes_check, *bindings_check;
        struct metric *rows, *readings[READING_STATE_COUNT], *skewed, *publications;
        struct metric *publish_duration;
        uint64_t publications_counted;
};

static int64_t now_unix_ms(const struct feed *feed) {
        return loop_now_unix_ms(feed->options.loop);
}

static int64_t now_mono_ms(const struct feed *feed) {
        return loop_now_mono_ms(feed->options.loop);
}

static void publish(void *userdata) {
        struct feed *feed = userdata;
        struct node_table *table = feed->options.table;
        int64_t begin_ns = clock_mono_ns();

        node_table_publish(table, now_unix_ms(feed));
        int64_t spent_ns = clock_mono_ns() - begin_ns;
        int64_t pause_ms = spent_ns * PUBLISH_SHARE / 1000000;
        if (pause_ms < PUBLISH_INTERVAL_MS)
                pause_ms = PUBLISH_INTERVAL_MS;
        feed->publish_not_before_mono_ms = now_mono_ms(feed) + pause_ms;
        metric_observe(feed->publish_duration, (double)spent_ns / 1e9);

        int64_t change_ms = node_table_next_change_unix_ms(table) - now_unix_ms(feed);
        if (change_ms > CHANGE_MAX_MS || change_ms < 0)
                change_ms = CHANGE_MAX_MS;
        if (change_ms < pause_ms)
                change_ms = pause_ms;
        loop_timer_arm(feed->options.loop, &feed->change_timer, now_mono_ms(feed) + change_ms,
                       publish, feed);
}

/* After anything that may have changed the table. The timer fires after this turn's events, so
 * that a burst of them makes one snapshot. */
static void touched(struct feed *feed) {
        if (!feed->is_synced || !node_table_is_dirty(feed->options.table) ||
            loop_timer_is_armed(&feed->publish_timer))
                return;
        loop_timer_arm(feed->options.loop, &feed->publish_timer, feed->publish_not_before_mono_ms,
                       publish, feed);
}

static void on_node(void *userdata, enum reflector_event event, const json_t *object) {
        struct feed *feed = userdata;
        const char *name = json_string_at(object, "metadata", "name", NULL);

        if (!name)
                return;
        if (event == REFLECTOR_DELETED)
                node_table_remove(feed->options.table, name);
        else
                node_table_put(feed->options.table, name,
                               json_at(object, "metadata", "annotations", NULL), now_unix_ms(feed));
        touched(feed);
}

static void on_nodes_synced(void *userdata, size_t count) {
        struct feed *feed = userdata;

        feed->is_synced = true;
        publish(feed); /* first: whoever sees us ready asks about nodes that the workers know */
        health_pass(feed->nodes_check, "%zu nodes", count);
}

/* Returns whether our own count of bindings is what counts. */
static bool settle_live(struct feed *feed) {
        bool is_live = binding_watch_is_live(feed->bindings);

        node_table_set_live(feed->options.table, is_live, now_unix_ms(feed));
        return is_live;
}

static void on_binding(void *userdata, const char *node, int64_t at_unix_ms) {
        struct feed *feed = userdata;

        node_table_bind(feed->options.table, node, at_unix_ms, now_unix_ms(feed));
        /* A burst may come before the next look. While the watch is being made there is none. */
        if (feed->bindings)
                settle_live(feed);
        touched(feed);
}

static void watch_bindings(struct feed *feed) {
        const struct policy *policy = node_table_policy(feed->options.table);

        if (policy->hot_value_count == 0) {
                health_pass(feed->bindings_check, "not needed: the policy has no hotValue");
                return;
        }
        /* Once started it stays: starting anew would report, and count, the same bindings again. */
        if (!feed->bindings)
                feed->bindings = binding_watch_new(feed->options.loop, feed->options.api,
                                                   feed->options.metrics, hot_value_keep_ms(policy),
                                                   on_binding, feed);
}

/* Without a watch the extender goes on: readings expire by themselves, and the controller's
 * annotation stands in for our own count. So trouble is told, but does not make us unready. */
static void look_at_bindings(struct feed *feed) {
        if (!feed->bindings || node_table_policy(feed->options.table)->hot_value_count == 0)
                return;
        if (settle_live(feed))
                health_pass(feed->bindings_check, "counted from our own watch of pods");
        else
                health_pass(feed->bindings_check,
                            "node_hot_value annotations are used, our own watch of pods is not "
                            "open (the service account needs list and watch on pods): %s",
                            reflector_trouble(binding_watch_reflector(feed->bindings)));
}

static void look_at_nodes(struct feed *feed) {
        const char *trouble = reflector_trouble(feed->nodes);
        size_t count = node_table_count(feed->options.table);

        if (!feed->is_synced)
                health_fail(feed->nodes_check,
                            "the first list of nodes is not complete (the service account needs "
                            "list and watch on nodes; see --kubeconfig, --master): %s",
                            trouble);
        else if (trouble[0] != '\0')
                health_pass(feed->nodes_check, "%zu nodes, but the watch is not open: %s", count,
                            trouble);
        else
                health_pass(feed->nodes_check, "%zu nodes", count);
}

static void look_at_table(struct feed *feed) {
        struct node_table_stats stats;

        node_table_stats(feed->options.table, now_unix_ms(feed), &stats);
        metric_set(feed->rows, (double)stats.nodes);
        for (size_t state = 0; state < READING_STATE_COUNT; state++)
                metric_set(feed->readings[state], (double)stats.readings[state]);
        metric_set(feed->skewed, (double)stats.skewed);
        metric_add(feed->publications, stats.publications - feed->publications_counted);
        feed->publications_counted = stats.publications;
        if ((stats.skewed > 0) == feed->is_skewed)
                return;
        feed->is_skewed = stats.skewed > 0;
        if (feed->is_skewed)
                log_warn(MSG("annotations are stamped in the future: clocks differ, or "
                             "--annotation-timezone is not the writer's"),
                         INT("readings", stats.skewed));
        else
                log_info(MSG("no annotation is stamped in the future any more"));
}

static void look(void *userdata) {
        struct feed *feed = userdata;

        look_at_nodes(feed);
        look_at_bindings(feed);
        look_at_table(feed);
        touched(feed);
        loop_timer_arm(feed->options.loop, &feed->look_timer, now_mono_ms(feed) + LOOK_INTERVAL_MS,
                       look, feed);
}

static void register_metrics(struct feed *feed) {
        struct metrics *metrics = feed->options.metrics;

        feed->rows = metrics_gauge(metrics, "plimsoll_extender_table_nodes",
                                   "Nodes in the node table.", NULL);
        for (enum reading_state state = 0; state < READING_STATE_COUNT; state++)
                feed->readings[state] = metrics_gauge(
                        metrics, "plimsoll_extender_readings",
                        "Metrics of the policy times nodes, by whether there is a usable value.",
                        LABELS("state", reading_state_name(state)));
        feed->skewed = metrics_gauge(metrics, "plimsoll_extender_skewed_readings",
                                     "Readings stamped more than a minute ahead of our clock.",
                                     NULL);
        feed->publications = metrics_counter(metrics, "plimsoll_extender_table_publications_total",
                                             "Snapshots of the node table made for the workers.",
                                             NULL);
        feed->publish_duration = metrics_histogram(
                metrics, "plimsoll_extender_table_publication_duration_seconds",
                "Time that making a snapshot took.", NULL, metrics_duration_bounds_s,
                metrics_duration_bounds_count);
}

struct feed *feed_new(const struct feed_options *options) {
        struct feed *feed = xcalloc(1, sizeof(*feed));

        feed->options = *options;
        register_metrics(feed);
        feed->nodes_check = health_add(options->health, "nodes", "not listed yet");
        feed->bindings_check = health_add(options->health, "bindings", "not listed yet");
        feed->nodes = reflector_new(options->loop, options->api, options->metrics,
                                    &(struct reflector_spec){
                                            .name = "nodes",
                                            .path = "/api/v1/nodes",
                                            .metadata_only = true,
                                            .max_objects = NODE_TABLE_MAX_ROWS,
                                            .on_event = on_node,
                                            .on_synced = on_nodes_synced,
                                            .userdata = feed,
                                    });
        watch_bindings(feed);
        look(feed);
        return feed;
}

void feed_free(struct feed *feed) {
        if (!feed)
                return;
        loop_timer_disarm(feed->options.loop, &feed->publish_timer);
        loop_timer_disarm(feed->options.loop, &feed->change_timer);
        loop_timer_disarm(feed->options.loop, &feed->look_timer);
        if (feed->bindings)
                binding_watch_free(feed->bindings);
        if (feed->nodes)
                reflector_free(feed->nodes);
        free(feed);
}

bool feed_sees_nodes(const struct feed *feed) {
        return feed->is_synced && reflector_trouble(feed->nodes)[0] == '\0';
}

void feed_set_policy(struct feed *feed, struct policy *policy) {
        node_table_set_policy(feed->options.table, policy, now_unix_ms(feed));
        watch_bindings(feed);
        touched(feed);
}
