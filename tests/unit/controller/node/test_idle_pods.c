/* Pods on idle CPU by node: lists, ends, repeated names, ceilings, and when they are watched. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/clock.h"
#include "controller/node/idle_pods.h"
#include "controller/node/node_set.h"
#include "tests/unit/fixture/reflector_fixture.h"

static const int64_t NOW_MONO_MS = 5000000;

struct cluster {
        struct idle_pods *pods;
        struct node_set *set;
};

static void on_node(void *userdata, struct node *node) {
}

static struct cluster cluster_new(void) {
        const struct node_set_events events = {.on_added = on_node};
        struct cluster cluster = {.pods = idle_pods_new()};

        cluster.set = node_set_new(&(struct node_set_options){.idle_pods = cluster.pods}, &events);
        assert_int_equal(node_set_add_target(cluster.set, "a=http://127.0.0.1/", NULL), 0);
        assert_int_equal(node_set_add_target(cluster.set, "b=http://127.0.0.2/", NULL), 0);
        return cluster;
}

static void cluster_free(struct cluster *cluster) {
        node_set_free(cluster->set);
        idle_pods_free(cluster->pods);
}

static struct skim_string text_of(const char *text) {
        return (struct skim_string){.text = text, .len = strlen(text)};
}

static void put(struct idle_pods *pods, uint64_t id, const char *node, const char *name,
                double idle_cores) {
        struct pod_facts facts = {.id = id,
                                  .namespace = text_of("n"),
                                  .name = text_of(name),
                                  .node = text_of(node),
                                  .idle_cores = idle_cores};

        idle_pods_events.pod(pods, &facts, false);
}

static struct idle_pods_use use_of(const struct cluster *cluster, const char *node) {
        return idle_pods_use(node_set_get(cluster->set, node), NOW_MONO_MS);
}

static void assert_taken(const struct cluster *cluster, const char *node, double cores) {
        assert_float_equal(use_of(cluster, node).taken_cores, cores, 0);
}

static struct kubelet_pod *find(const struct cluster *cluster, const char *node, const char *name) {
        struct idle_pods_node *idle = idle_pods_of(node_set_get(cluster->set, node));

        assert_non_null(idle);
        return idle_pods_find(idle, "n", 1, name, strlen(name));
}

TEST(by_node) {
        _cleanup_(cluster_free) struct cluster cluster = cluster_new();

        assert_null(idle_pods_of(node_set_get(cluster.set, "a")));
        put(cluster.pods, 1, "a", "x", 2);
        put(cluster.pods, 2, "a", "y", 0.5);
        put(cluster.pods, 3, "b", "z", 1);
        put(cluster.pods, 4, "later", "w", 1); /* a node that is not there yet */
        put(cluster.pods, 5, "b", "service", 0);
        put(cluster.pods, 6, "b", "little", 0.0004);
        assert_int_equal(idle_pods_count(cluster.pods), 4);
        assert_taken(&cluster, "a", 2.5);
        assert_taken(&cluster, "b", 1);
        assert_int_equal(node_set_add_target(cluster.set, "later=http://127.0.0.3/", NULL), 0);
        assert_taken(&cluster, "later", 1);

        assert_non_null(find(&cluster, "a", "x"));
        assert_ptr_not_equal(find(&cluster, "a", "x"), find(&cluster, "a", "y"));
        assert_null(find(&cluster, "a", "z"));
        assert_null(find(&cluster, "b", "service"));
        struct idle_pods_node *idle = idle_pods_of(node_set_get(cluster.set, "a"));
        assert_null(idle_pods_find(idle, "", 0, "nx", 2));
        assert_null(idle_pods_find(idle, "nx", 2, "", 0));
        assert_null(idle_pods_find(idle, "m", 1, "x", 1));

        put(cluster.pods, 1, "a", "x", 3); /* seen again */
        assert_taken(&cluster, "a", 3.5);
        put(cluster.pods, 2, "a", "y", 0);
        assert_taken(&cluster, "a", 3);
        idle_pods_events.gone(cluster.pods, &(struct pod_facts){.id = 1});
        idle_pods_events.gone(cluster.pods, &(struct pod_facts){.id = 5});
        idle_pods_events.gone(cluster.pods, &(struct pod_facts){.id = 99});
        assert_null(idle_pods_of(node_set_get(cluster.set, "a")));
        assert_taken(&cluster, "a", 0);
        assert_int_equal(idle_pods_count(cluster.pods), 2);
}

/* What a list no longer has is gone. One that fails begins again. */
TEST(lists) {
        const struct pod_watch_events *events = &idle_pods_events;
        _cleanup_(cluster_free) struct cluster cluster = cluster_new();

        events->list_begins(cluster.pods);
        put(cluster.pods, 1, "a", "x", 1);
        put(cluster.pods, 2, "a", "y", 1);
        put(cluster.pods, 3, "b", "z", 1);
        assert_true(idle_pods_taken_milli(node_set_get(cluster.set, "a")) < 0);
        events->list_ended(cluster.pods);
        assert_int_equal(idle_pods_taken_milli(node_set_get(cluster.set, "a")), 2000);
        put(cluster.pods, 4, "a", "w", 1);
        struct kubelet_pod *before = find(&cluster, "a", "x");
        events->list_begins(cluster.pods);
        put(cluster.pods, 2, "a", "y", 1);
        events->list_begins(cluster.pods);
        assert_int_equal(idle_pods_count(cluster.pods), 4);
        put(cluster.pods, 1, "a", "x", 1);
        put(cluster.pods, 4, "a", "w", 1);
        events->list_ended(cluster.pods);
        assert_int_equal(idle_pods_count(cluster.pods), 2);
        assert_taken(&cluster, "a", 2);
        assert_taken(&cluster, "b", 0);
        assert_ptr_equal(find(&cluster, "a", "x"), before); /* with its samples */
}

/* A StatefulSet's pod ends and starts while the watch is closed: the list has the new one before
 * the old one is known to be gone. */
TEST(a_name_that_is_used_again) {
        _cleanup_(cluster_free) struct cluster cluster = cluster_new();

        put(cluster.pods, 1, "a", "x", 1);
        struct kubelet_pod *first = find(&cluster, "a", "x");
        put(cluster.pods, 2, "a", "x", 1);
        struct kubelet_pod *second = find(&cluster, "a", "x");
        assert_ptr_not_equal(first, second);
        assert_taken(&cluster, "a", 2);
        idle_pods_events.gone(cluster.pods, &(struct pod_facts){.id = 1});
        assert_ptr_equal(find(&cluster, "a", "x"), second);
        put(cluster.pods, 3, "b", "x", 1); /* now on another node */
        struct kubelet_pod *third = find(&cluster, "b", "x");
        assert_ptr_not_equal(third, second);
        assert_ptr_equal(find(&cluster, "a", "x"), second); /* which its kubelet still shows */
        idle_pods_events.gone(cluster.pods, &(struct pod_facts){.id = 2});
        assert_null(idle_pods_of(node_set_get(cluster.set, "a")));
        assert_ptr_equal(find(&cluster, "b", "x"), third);
        idle_pods_events.gone(cluster.pods, &(struct pod_facts){.id = 3});
        assert_int_equal(idle_pods_count(cluster.pods), 0);
}

TEST(used) {
        _cleanup_(cluster_free) struct cluster cluster = cluster_new();

        assert_float_equal(use_of(&cluster, "a").used_cores, 0, 0);
        put(cluster.pods, 1, "a", "x", 1);
        assert_true(use_of(&cluster, "a").used_cores < 0);
        struct idle_pods_node *idle = idle_pods_of(node_set_get(cluster.set, "a"));
        idle->used_cores = 0.75;
        idle->used_mono_ms = NOW_MONO_MS - IDLE_PODS_USED_MS;
        assert_float_equal(use_of(&cluster, "a").used_cores, 0.75, 0);
        idle->used_mono_ms--;
        assert_true(use_of(&cluster, "a").used_cores < 0);
}

TEST(too_many) {
        static char long_name[POD_FACTS_NAME_MAX + 2];
        _cleanup_(cluster_free) struct cluster cluster = cluster_new();
        char name[32];

        memset(long_name, 'n', sizeof(long_name) - 1);
        put(cluster.pods, 1, long_name, "x", 1);
        assert_int_equal(idle_pods_count(cluster.pods), 0);
        for (uint64_t id = 1; id <= IDLE_PODS_MAX + 1; id++) {
                (void)snprintf(name, sizeof(name), "pod-%u", (unsigned)id);
                put(cluster.pods, id, "a", name, 1);
        }
        assert_int_equal(idle_pods_count(cluster.pods), IDLE_PODS_MAX);
        assert_taken(&cluster, "a", IDLE_PODS_MAX);
        idle_pods_events.gone(cluster.pods, &(struct pod_facts){.id = 7});
        put(cluster.pods, IDLE_PODS_MAX + 2, "b", "x", 1);
        assert_taken(&cluster, "b", 1);
}

#define POD(uid, phase)                                                                            \
        "{\"metadata\":{\"name\":\"" uid "\",\"namespace\":\"n\",\"uid\":\"" uid                   \
        "\",\"resourceVersion\":\"11\"},\"spec\":{\"nodeName\":\"a\",\"containers\":[{"            \
        "\"resources\":{\"requests\":{\"plimsoll.io/idle-milli-cpu\":\"1500\"}}}]},\"status\":{"   \
        "\"phase\":\"" phase "\"}}"

/* From the API server, while the policy says so. */
TEST(watched) {
        const struct policy with = {.idle_line_ratio = 0.65}, without = {0};
        struct fixture f = {0};
        struct cluster cluster = cluster_new();

        idle_pods_follow(cluster.pods, &with, NULL, NULL, NULL);
        assert_null(idle_pods_reflector(cluster.pods)); /* there is no API server */
        answer(&f, "GET /api/v1/pods?",
               scripted_http(200, "",
                             "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"10\"},"
                             "\"items\":[" POD("x", "Running") "," POD("y", "Pending") "]}"),
               false);
        answer(&f, "watch=1",
               scripted_stream("{\"type\":\"MODIFIED\",\"object\":" POD(
                       "x", "Succeeded") "}\n"
                                         "{\"type\":\"ADDED\",\"object\":" POD(
                                                 "z",
                                                 "Running") "}\n"
                                                            "{\"type\":\"DELETED\",\"object\":" POD(
                                                                    "y", "Running") "}\n"),
               true);
        start(&f);
        idle_pods_follow(cluster.pods, &without, f.rig.loop, f.rig.api, f.rig.metrics);
        assert_null(idle_pods_reflector(cluster.pods));
        for (int i = 0; i < 2; i++) /* one watch */
                idle_pods_follow(cluster.pods, &with, f.rig.loop, f.rig.api, f.rig.metrics);
        assert_non_null(idle_pods_reflector(cluster.pods));
        do {
                run(&f); /* what the server has sent is perhaps not read yet */
        } while (idle_pods_count(cluster.pods) != 1 || !find(&cluster, "a", "z"));
        assert_true(reflector_is_synced(idle_pods_reflector(cluster.pods)));
        assert_taken(&cluster, "a", 1.5);

        idle_pods_follow(cluster.pods, &without, f.rig.loop, f.rig.api, f.rig.metrics);
        assert_null(idle_pods_reflector(cluster.pods));
        assert_int_equal(idle_pods_count(cluster.pods), 0);
        assert_taken(&cluster, "a", 0);
        cluster_free(&cluster);
        stop(&f);
}
