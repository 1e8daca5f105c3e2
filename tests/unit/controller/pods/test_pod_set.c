/* Pods on idle CPU by node: lists, ends, repeated names, ceilings, and when they are watched. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "controller/pods/pod_set.h"
#include "tests/unit/fixture/reflector_fixture.h"

static const int64_t NOW_MONO_MS = 5000000;

static struct skim_string text_of(const char *text) {
        return (struct skim_string){.text = text, .len = strlen(text)};
}

static void put(struct pod_set *pods, uint64_t id, const char *node, const char *name,
                double idle_cores) {
        struct pod_facts facts = {.id = id,
                                  .namespace = text_of("n"),
                                  .name = text_of(name),
                                  .node = text_of(node),
                                  .idle_cores = idle_cores};

        pod_set_events.pod(pods, &facts, false);
}

static struct idle_use use_of(const struct pod_set *pods, const char *node) {
        return pod_set_idle_use(pods, node, NOW_MONO_MS);
}

static void assert_taken(const struct pod_set *pods, const char *node, double cores) {
        assert_float_equal(use_of(pods, node).taken_cores, cores, 0);
}

/* NULL: the node has no such pod. */
static struct kubelet_pod *find(const struct pod_set *pods, const char *node, const char *name) {
        struct measured_pod *pod;

        LIST_FOREACH (pod, &pod_set_node(pods, node)->pods, entry) {
                if (strcmp(strchr(pod->name, '/') + 1, name) == 0)
                        return &pod->page;
        }
        return NULL;
}

/* A resize, and the end of the pod, change the count. */
TEST(mixed) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct pod_facts facts = {.id = 1, .node = text_of("a"), .idle_cores = 1};

        put(pods, 2, "a", "x", 1);
        pod_set_events.pod(pods, &facts, false);
        assert_int_equal(pod_view_count_all(pods, 0).mixed, 0);
        facts.request.of[ESTIMATE_CPU] = 0.5;
        for (int again = 0; again < 2; again++) {
                pod_set_events.pod(pods, &facts, false);
                assert_int_equal(pod_view_count_all(pods, 0).mixed, 1);
        }
        pod_set_events.gone(pods, &facts);
        assert_int_equal(pod_view_count_all(pods, 0).mixed, 0);
}

TEST(by_node) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();

        assert_null(pod_set_node(pods, "a"));
        put(pods, 1, "a", "x", 2);
        put(pods, 2, "a", "y", 0.5);
        put(pods, 3, "b", "z", 1);
        put(pods, 4, "later", "w", 1); /* a node that is not there yet */
        put(pods, 5, "b", "service", 0);
        put(pods, 6, "b", "little", 0.0004);
        assert_int_equal(pods->by_id.len, 4);
        assert_taken(pods, "a", 2.5);
        assert_taken(pods, "b", 1);
        assert_taken(pods, "later", 1);

        put(pods, 1, "a", "x", 3); /* seen again */
        assert_taken(pods, "a", 3.5);
        put(pods, 2, "a", "y", 0);
        assert_taken(pods, "a", 3);
        pod_set_events.gone(pods, &(struct pod_facts){.id = 1});
        pod_set_events.gone(pods, &(struct pod_facts){.id = 5});
        pod_set_events.gone(pods, &(struct pod_facts){.id = 99});
        assert_null(pod_set_node(pods, "a"));
        assert_taken(pods, "a", 0);
        assert_int_equal(pods->by_id.len, 2);
}

/* What a list no longer has is gone. One that fails begins again. */
TEST(lists) {
        const struct pod_watch_events *events = &pod_set_events;
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();

        events->list_begins(pods);
        put(pods, 1, "a", "x", 1);
        put(pods, 2, "a", "y", 1);
        put(pods, 3, "b", "z", 1);
        assert_true(pod_set_taken_milli(pods, "a") < 0);
        events->list_ended(pods);
        assert_int_equal(pod_set_taken_milli(pods, "a"), 2000);
        put(pods, 4, "a", "w", 1);
        struct kubelet_pod *before = find(pods, "a", "x");
        events->list_begins(pods);
        put(pods, 2, "a", "y", 1);
        events->list_begins(pods);
        assert_int_equal(pods->by_id.len, 4);
        put(pods, 1, "a", "x", 1);
        put(pods, 4, "a", "w", 1);
        events->list_ended(pods);
        assert_int_equal(pods->by_id.len, 2);
        assert_taken(pods, "a", 2);
        assert_taken(pods, "b", 0);
        assert_ptr_equal(find(pods, "a", "x"), before); /* with its samples */
}

/* A StatefulSet's pod ends and starts while the watch is closed: the list has the new one before
 * the old one is known to be gone. */
TEST(a_name_that_is_used_again) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();

        put(pods, 1, "a", "x", 1);
        struct kubelet_pod *first = find(pods, "a", "x");
        put(pods, 2, "a", "x", 1);
        struct kubelet_pod *second = find(pods, "a", "x");
        assert_ptr_not_equal(first, second);
        assert_taken(pods, "a", 2);
        pod_set_events.gone(pods, &(struct pod_facts){.id = 1});
        assert_ptr_equal(find(pods, "a", "x"), second);
        put(pods, 3, "b", "x", 1); /* now on another node */
        struct kubelet_pod *third = find(pods, "b", "x");
        assert_ptr_not_equal(third, second);
        assert_ptr_equal(find(pods, "a", "x"), second); /* which its kubelet still shows */
        pod_set_events.gone(pods, &(struct pod_facts){.id = 2});
        assert_null(pod_set_node(pods, "a"));
        assert_ptr_equal(find(pods, "b", "x"), third);
        pod_set_events.gone(pods, &(struct pod_facts){.id = 3});
        assert_int_equal(pods->by_id.len, 0);
}

TEST(used) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();

        assert_float_equal(use_of(pods, "a").used_cores, 0, 0);
        put(pods, 1, "a", "x", 1);
        assert_true(use_of(pods, "a").used_cores < 0);
        struct pod_node *idle = pod_set_node(pods, "a");
        idle->used_cores = 0.75;
        idle->used_mono_ms = NOW_MONO_MS - POD_SET_MEASURED_MS;
        assert_float_equal(use_of(pods, "a").used_cores, 0.75, 0);
        idle->used_mono_ms--;
        assert_true(use_of(pods, "a").used_cores < 0);
}

/* The cores of the pod after a sample. */
static double take_at(const struct pod_set *pods, struct measured_pod *pod, double cores,
                      int64_t at_unix_ms, int64_t now_mono_ms) {
        const struct pod_sample sample = {
                .load = {{cores, 1e6}}, .window_s = 15, .at_unix_ms = at_unix_ms};

        pod_set_take(pods, pod, &sample, &(struct kubelet_clocks){now_mono_ms, at_unix_ms});
        return (double)pod->page.cores;
}

/* Several servers answer in turn. */
TEST(samples_in_place_of_pages) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct strmap unread;

        pods->read_ms = 60000;
        put(pods, 1, "a", "x", 1);
        put(pods, 2, "b", "y", 1);
        pod_set_node(pods, "b")->read_mono_ms = NOW_MONO_MS;
        pod_set_unread(pods, NOW_MONO_MS, &unread);
        assert_int_equal(unread.len, 1);
        struct measured_pod *pod = strmap_get(&unread, "n/x", strlen("n/x"));
        strmap_done(&unread);
        pod_set_unread(pods, NOW_MONO_MS + 120001, &unread);
        assert_int_equal(unread.len, 2);
        strmap_done(&unread);

        assert_float_equal(take_at(pods, pod, 1, 100000, NOW_MONO_MS), 1, 0);
        assert_float_equal(take_at(pods, pod, 2, 100000, NOW_MONO_MS + 60000), 1, 0);
        assert_float_equal(take_at(pods, pod, 3, 160000, NOW_MONO_MS + 60000), 3, 0);
        assert_float_equal(take_at(pods, pod, 4, 150000, NOW_MONO_MS + 120000), 3, 0);
        int64_t later_mono_ms = NOW_MONO_MS + 60001 + POD_SET_MEASURED_MS;
        assert_float_equal(take_at(pods, pod, 5, 150000, later_mono_ms), 5, 0);
}

TEST(too_many) {
        static char long_name[POD_FACTS_NAME_MAX + 2];
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        char name[32];

        memset(long_name, 'n', sizeof(long_name) - 1);
        put(pods, 1, long_name, "x", 1);
        assert_int_equal(pods->by_id.len, 0);
        for (uint64_t id = 1; id <= POD_SET_MAX + 1; id++) {
                (void)snprintf(name, sizeof(name), "pod-%u", (unsigned)id);
                put(pods, id, "a", name, 1);
        }
        assert_int_equal(pods->by_id.len, POD_SET_MAX);
        assert_taken(pods, "a", POD_SET_MAX);
        pod_set_events.gone(pods, &(struct pod_facts){.id = 7});
        put(pods, POD_SET_MAX + 2, "b", "x", 1);
        assert_taken(pods, "b", 1);
}

#define POD(uid, phase)                                                                            \
        "{\"metadata\":{\"name\":\"" uid "\",\"namespace\":\"n\",\"uid\":\"" uid                   \
        "\",\"resourceVersion\":\"11\"},\"spec\":{\"nodeName\":\"a\",\"containers\":[{"            \
        "\"resources\":{\"requests\":{\"plimsoll.io/idle-milli-cpu\":\"1500\"}}}]},\"status\":{"   \
        "\"phase\":\"" phase "\"}}"

/* From the API server, while the policy says so. */
TEST(watched) {
        const struct policy with = {.idle_line_ratio = 0.65}, without = {0},
                            all = {.scoring = POLICY_SCORING_ESTIMATE};
        struct fixture f = {0};
        struct pod_set *pods = pod_set_new();

        pod_set_follow(pods, &with, NULL, NULL, NULL);
        assert_null(pod_set_reflector(pods)); /* there is no API server */
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
        pod_set_follow(pods, &without, f.rig.loop, f.rig.api, f.rig.metrics);
        assert_null(pod_set_reflector(pods));
        for (int i = 0; i < 2; i++) /* one watch */
                pod_set_follow(pods, &with, f.rig.loop, f.rig.api, f.rig.metrics);
        assert_non_null(pod_set_reflector(pods));
        do {
                run(&f); /* what the server has sent is perhaps not read yet */
        } while (pods->by_id.len != 1 || pod_set_taken_milli(pods, "a") != 1500);
        assert_true(reflector_is_synced(pod_set_reflector(pods)));
        assert_taken(pods, "a", 1.5);

        /* Of all pods there is another list. */
        pod_set_follow(pods, &all, f.rig.loop, f.rig.api, f.rig.metrics);
        assert_false(reflector_is_synced(pod_set_reflector(pods)));
        assert_int_equal(pods->by_id.len, 0);

        pod_set_follow(pods, &without, f.rig.loop, f.rig.api, f.rig.metrics);
        assert_null(pod_set_reflector(pods));
        assert_int_equal(pods->by_id.len, 0);
        assert_taken(pods, "a", 0);
        pod_set_free(pods);
        stop(&f);
}
