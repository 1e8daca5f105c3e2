/* Nodes from list and watch into the table, against a server that answers from a script. */
#include "tests/unit/fixture/policy.h"

#include "base/clock.h"
#include "extender/table/table_watch.h"
#include "tests/unit/fixture/scripted_fixture.h"

static const char policy_text[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                  "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n";

#define NODE(name, version, cpu)                                                                   \
        "{\"metadata\":{" name "\"resourceVersion\":\"" version                                    \
        "\",\"annotations\":{\"cpu_usage_avg_5m\":\"" cpu "\"}}}"
#define A "\"name\":\"a\","
#define NODES(items)                                                                               \
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" items "]}"
#define POD(name, bound)                                                                           \
        "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\",\"uid\":\"" name                 \
        "\",\"resourceVersion\":\"5\"},\"spec\":{\"nodeName\":\"a\"},\"status\":{\"conditions\":[" \
        "{"                                                                                        \
        "\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"" bound "\"}]}}"
#define PODS(items)                                                                                \
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" items "]}"

static double nodes_of(void *table) {
        return (double)node_table_count(table);
}

static double skewed_of(void *table) {
        struct node_table_stats stats;

        node_table_stats(table, standing_ms, &stats);
        return (double)stats.skewed;
}

static double skewed_shown(const struct fixture *f) {
        return metrics_value(
                metrics_gauge(f->rig.metrics, "plimsoll_extender_skewed_readings", "", NULL));
}

struct watched {
        struct fixture f;
        struct daemon daemon;
        struct node_table *table;
        struct table_watch *watch;
};

/* After the script has been written. */
static void begin_with(struct watched *w, const char *more, bool awaits_policy) {
        _cleanup_(freep) char *text = xasprintf("%s%s", policy_text, more);

        start(&w->f);
        w->daemon = (struct daemon){
                .loop = w->f.rig.loop,
                .api = w->f.rig.api,
                .metrics = w->f.rig.metrics,
                .health = health_new(),
        };
        w->table = node_table_new(
                &(struct node_table_options){.annotation_prefix = "", .metrics = w->f.rig.metrics},
                policy_of(text), standing_ms);
        scripted_add_usual(&w->f.rig.server,
                           (struct scripted_reply){.expect = {"/configmaps?"},
                                                   .response = scripted_http(404, "", "{}")});
        w->watch = table_watch_new(&(struct table_watch_options){
                .daemon = &w->daemon,
                .table = w->table,
                .namespace = "kube-system",
                .awaits_policy = awaits_policy,
        });
}

static void begin(struct watched *w, const char *more) {
        begin_with(w, more, false);
}

static void end(struct watched *w) {
        table_watch_free(w->watch);
        node_table_free(w->table);
        health_free(w->daemon.health);
        stop(&w->f);
}

static void set_policy(struct table_watch *watch, const char *more) {
        _cleanup_(freep) char *text = xasprintf("%s%s", policy_text, more);

        table_watch_set_policy(watch, policy_of(text));
}

static void usually(struct fixture *f, const char *path, const char *what, char *response,
                    bool waits, bool holds) {
        scripted_add_usual(&f->rig.server,
                           (struct scripted_reply){.expect = {path, what},
                                                   .response = response,
                                                   .before = waits ? wait_for_test : NULL,
                                                   .holds = holds});
}

/* The node "a" whenever nodes are listed, and a watch of nodes that stays silent. */
static void usual_node(struct fixture *f, bool waits) {
        usually(f, "/nodes?",
                "limit=", scripted_http(200, "", NODES(NODE(A, "5", "0.5,2026-07-23T11:25:54Z"))),
                waits, false);
        usually(f, "/nodes?", "watch=1", scripted_stream(""), false, true);
}

static struct metrics_series *lists_of(const struct fixture *f, const char *resource,
                                       const char *result) {
        return metrics_counter(f->rig.metrics, "plimsoll_list_total",
                               "List requests (one per page) by result.",
                               LABELS("resource", resource, "result", result));
}

/* Timestamps of the future are counted as long as there are some; an object without a name is no
 * node. */
TEST(skew) {
        struct watched w = {0};

        expect(&w.f, 200, "GET /api/v1/nodes?limit=", NULL,
               NODES(NODE(A, "5", "0.5,2026-07-23T12:25:54Z") "," NODE("", "6", "0.5")));
        scripted_add(&w.f.rig.server,
                     (struct scripted_reply){
                             .expect = {"watch=1&resourceVersion=10&"},
                             .response = scripted_stream("{\"type\":\"MODIFIED\",\"object\":" NODE(
                                     A, "11", "0.5,2026-07-23T11:25:54Z") "}\n"),
                             .before = wait_for_test,
                             .holds = true,
                     });
        begin(&w, "");
        run_until(&w.f, nodes_of, w.table, 1);
        assert_true(skewed_shown(&w.f) == 0); /* as of the last look */
        pass(&w.f, MS_PER_S);
        assert_true(skewed_shown(&w.f) == 1);
        assert_int_equal(sem_post(&w.f.go_on), 0);
        run_until(&w.f, skewed_of, w.table, 0);
        assert_true(skewed_shown(&w.f) == 1);
        pass(&w.f, MS_PER_S);
        assert_true(skewed_shown(&w.f) == 0);
        assert_int_equal(node_table_count(w.table), 1);
        end(&w);
}

static double hot_of(void *table) {
        node_table_publish(table, standing_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        double hot = snapshot->nodes.count > 0 ? snapshot->nodes.columns.readings.hot[0] : -1;

        node_snapshot_unref(snapshot);
        return hot;
}

/* A policy that looks further back than the one before counts what was too old for that. The
 * metric counts each binding once, when it is new. */
TEST(longer_hot_value) {
        static const char short_hot[] = "  hotValue: [{timeRange: 5m, count: 1}]\n",
                          long_hot[] = "  hotValue: [{timeRange: 1h, count: 1}]\n";
        struct watched w = {0};

        usual_node(&w.f, false);
        usually(&w.f, "/pods?", "limit=",
                scripted_http(
                        200, "",
                        PODS(POD("new", "2026-07-23T11:25:00Z") "," POD(
                                "older", "2026-07-23T11:00:00Z") "," POD("old", "2026-07-23T09:00:"
                                                                                "00Z"))),
                false, false);
        usually(&w.f, "/pods?", "watch=1", scripted_stream(""), false, true);
        begin(&w, short_hot);
        struct metrics_series *lists = lists_of(&w.f, "pods", "ok");
        run_until(&w.f, nodes_of, w.table, 1);
        run_until(&w.f, counted, lists, 1);
        pass(&w.f, MS_PER_S);
        assert_true(hot_of(w.table) == 1);
        set_policy(w.watch, long_hot);
        run_until(&w.f, counted, lists, 2);
        pass(&w.f, MS_PER_S);
        assert_true(hot_of(w.table) == 2);
        set_policy(w.watch, short_hot); /* no list */
        assert_true(hot_of(w.table) == 1);
        set_policy(w.watch, long_hot);
        run_until(&w.f, counted, lists, 3);
        pass(&w.f, MS_PER_S);
        assert_true(hot_of(w.table) == 2);
        end(&w);
}

/* Bindings count from the first that is seen, not from the next look at the watch's state. */
TEST(binding_between_looks) {
        struct watched w = {0};

        usual_node(&w.f, false);
        usually(&w.f, "/pods?", "limit=", scripted_http(200, "", PODS("")), false, false);
        usually(&w.f, "/pods?", "watch=1",
                scripted_stream(
                        "{\"type\":\"ADDED\",\"object\":" POD("new", "2026-07-23T11:25:00Z") "}\n"),
                false, true);
        begin(&w, "  hotValue: [{timeRange: 5m, count: 1}]\n");
        run_until(&w.f, hot_of, w.table, 1);
        end(&w);
}

static double answered(void *server) {
        return (double)atomic_load(&((struct scripted_server *)server)->answered);
}

/* The policy of a cluster, which comes after the built-in one, may not need the pods. */
TEST(pods_are_not_needed) {
        static const char estimate[] = "  extender: {scoring: estimate}\n";
        struct watched w = {0};

        usual_node(&w.f, true);
        expect(&w.f, 200, "/pods?", "limit=", PODS(POD("new", "2026-07-23T11:25:00Z")));
        scripted_add(&w.f.rig.server, (struct scripted_reply){.expect = {"/pods?", "watch=1"},
                                                              .response = scripted_stream(""),
                                                              .holds = true});
        begin(&w, estimate);
        set_policy(w.watch, "");
        assert_int_equal(sem_post(&w.f.go_on), 0);
        run_until(&w.f, answered, &w.f.rig.server, 2); /* the nodes' list and watch */
        assert_int_equal(atomic_load(&w.f.rig.server.served), 0);
        set_policy(w.watch, estimate);
        run_until(&w.f, served, &w.f.rig.server, 2);
        end(&w);
}

/* What a probe sees. */
static bool says(const struct health *health, bool is_ready, const char *text) {
        struct buf out = BUF_INIT(4096);
        bool is_said = health_write_ready(health, &out) == is_ready && strstr(out.data, text);

        buf_done(&out);
        return is_said;
}

#define ESTIMATE "  extender: {scoring: estimate}\n"
#define HOT "  hotValue: [{timeRange: 5m, count: 1}]\n"

/* Behind its nodes a new extender waits for the pods that its policy needs, as long as they can
 * still come, for 20 s at most. */
TEST(waits_for_pods) {
        static const char closed[] = "[+] pods: 0 pods, but the pod watch is not open",
                          annotated[] = "[+] bindings: using node_hot_value annotations";
        static const struct {
                const char *policy;
                int status;         /* 0: no answer */
                const char *result; /* of the list; NULL: there is none */
                const char *pods, *waiting, *told;
        } rows[] = {
                {ESTIMATE, 200, "ok", PODS(POD("a", "2026-07-23T11:25:00Z")), NULL, "pods: 1 pod"},
                {ESTIMATE, 403, "forbidden", "{}", NULL, closed},
                {ESTIMATE, 404, "not_found", "{}", NULL, closed},
                {ESTIMATE, 500, "unavailable", "{}", "[-] pods: list: 500", closed},
                {ESTIMATE, 0, NULL, "", "[-] pods: list: not complete yet", closed},
                {HOT, 200, "ok", PODS(""), NULL, "[+] bindings: counted from the pod watch"},
                {HOT, 403, "forbidden", "{}", NULL, annotated},
                {HOT, 0, NULL, "", "[-] bindings: list: not complete yet", annotated},
                {"", 0, NULL, "", NULL, "[+] pods: not needed"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct watched w = {0};

                usual_node(&w.f, true);
                usually(&w.f, "/pods?", "limit=",
                        rows[i].status ? scripted_http(rows[i].status, "", rows[i].pods)
                                       : xstrdup(""),
                        false, true);
                usually(&w.f, "/pods?", "watch=1", scripted_stream(""), false, true);
                begin(&w, rows[i].policy);
                pass(&w.f, 30 * MS_PER_S); /* they count from the nodes on */
                assert_true(says(w.daemon.health, false, "[-] nodes: "));
                assert_int_equal(sem_post(&w.f.go_on), 0);
                run_until(&w.f, nodes_of, w.table, 1);
                if (rows[i].result)
                        run_until(&w.f, counted, lists_of(&w.f, "pods", rows[i].result), 1);
                pass(&w.f, 100);
                if (rows[i].waiting) {
                        assert_true(says(w.daemon.health, false, rows[i].waiting));
                        pass(&w.f, 19 * MS_PER_S);
                        assert_true(says(w.daemon.health, false, ""));
                        pass(&w.f, MS_PER_S);
                }
                if (!says(w.daemon.health, true, rows[i].told))
                        fail_msg("row %zu", i);
                end(&w);
        }
}

/* What goes is what the event names; an object without a name is no node. */
TEST(deleted) {
        struct watched w = {0};

        usually(&w.f, "/nodes?", "limit=",
                scripted_http(
                        200, "",
                        NODES(NODE(A, "5", "0.5") "," NODE("\"name\":\"b\",", "6", "0.5") "," NODE(
                                "\"name\":\"c\",", "7", "0.5"))),
                false, false);
        usually(&w.f, "/nodes?", "watch=1",
                scripted_stream("{\"type\":\"DELETED\",\"object\":" NODE(
                        "", "11", "0.5") "}\n"
                                         "{\"type\":\"DELETED\",\"object\":" NODE(A, "12",
                                                                                  "0.5") "}\n"),
                false, true);
        begin(&w, "");
        run_until(&w.f, nodes_of, w.table, 2);
        node_table_publish(w.table, clock_wall_unix_ms());
        struct node_snapshot *snapshot = node_table_acquire(w.table);
        assert_int_equal(node_names_find(snapshot->names, "a", 1), NODE_ROW_NONE);
        node_snapshot_unref(snapshot);
        end(&w);
}

static double publications_of(const struct watched *w) {
        return metrics_value(metrics_counter(
                w->f.rig.metrics, "plimsoll_extender_table_publications_total", "", NULL));
}

/* A snapshot is made again when a reading expires, and no sooner after another one than any is. */
TEST(expiry) {
        enum { SOON_MS = 4, PAUSE_MS = 10 };
        struct watched w = {0};

        usually(&w.f, "/nodes?",
                "limit=", scripted_http(200, "", NODES(NODE(A, "5", "0.5,2026-07-23T11:18:54Z"))),
                false, false);
        usually(&w.f, "/nodes?", "watch=1", scripted_stream(""), false, true);
        begin(&w, "");
        run_until(&w.f, nodes_of, w.table, 1);
        int64_t left_ms = node_table_next_change_unix_ms(w.table) - standing_ms;
        assert_true(left_ms > 0 && left_ms <= MS_PER_MIN);
        double before = publications_of(&w);
        pass(&w.f, left_ms - SOON_MS);
        assert_true(publications_of(&w) == before);
        set_policy(w.watch, ""); /* is in force at once */
        assert_true(publications_of(&w) == before + 1);
        pass(&w.f, SOON_MS);
        assert_true(publications_of(&w) == before + 1);
        pass(&w.f, PAUSE_MS - SOON_MS);
        assert_true(publications_of(&w) == before + 2);
        end(&w);
}

/* Before it is known by which policy to judge, workers have a table without nodes. */
TEST(awaits_the_policy) {
        for (int is_known = 0; is_known <= 1; is_known++) {
                struct watched w = {0};

                usual_node(&w.f, false);
                begin_with(&w, "", true);
                double before = publications_of(&w);
                if (is_known) /* before the nodes are */
                        table_watch_keep_policy(w.watch);
                assert_true(publications_of(&w) == before);
                run_until(&w.f, nodes_of, w.table, 1);
                pass(&w.f, MS_PER_S);
                assert_true(publications_of(&w) == before + is_known);
                table_watch_keep_policy(w.watch);
                table_watch_keep_policy(w.watch);
                assert_true(publications_of(&w) == before + 1);
                end(&w);
        }
}
