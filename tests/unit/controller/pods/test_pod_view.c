/* Pages of a kubelet to what pods use: what is measured, told and shown. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>

#include "controller/pods/pod_set.h"

enum { STEP_MS = 60000, PODS = 20 };
static const struct kubelet_capacity capacity = {.cpu_cores = 10, .memory_bytes = 1e10};
static const int64_t BEGAN_UNIX_MS = INT64_C(1795294586458);

static struct skim_string text_of(const char *text) {
        return (struct skim_string){.text = text, .len = strlen(text)};
}

static struct pod_set *begin(void) {
        struct pod_set *set = pod_set_new();

        set->is_metering = true;
        set->read_ms = STEP_MS;
        for (int i = 0; i < PODS; i++) {
                char name[16], uid[40];
                (void)snprintf(name, sizeof(name), "pod-%d", i);
                (void)snprintf(uid, sizeof(uid), "%08x-0000-4000-8000-000000000000", i + 1);
                struct pod_facts facts = {.id = (uint64_t)i + 1,
                                          .namespace = text_of("n"),
                                          .name = text_of(name),
                                          .uid = text_of(uid),
                                          .node = text_of("a"),
                                          .workload = "n/ReplicaSet/w",
                                          .workload_len = strlen("n/ReplicaSet/w"),
                                          .request = {{0.1, 1e8}}};
                pod_set_events.pod(set, &facts, false);
        }
        return set;
}

/* Pod number i uses cores(i) in every step. */
static struct kubelet_clocks read_steps(struct pod_set *set, int steps, double (*cores)(int pod)) {
        struct kubelet_clocks clocks = {1000, BEGAN_UNIX_MS};

        for (int step = 0; step < steps; step++) {
                struct buf text = BUF_INIT(1 << 16);
                clocks.now_mono_ms += STEP_MS;
                clocks.now_unix_ms += STEP_MS;
                for (int i = 0; i < PODS; i++)
                        buf_printf(&text,
                                   "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"pod-%d\"} %g "
                                   "%lld\npod_memory_working_set_bytes{namespace=\"n\",pod="
                                   "\"pod-%d\"} 1e+08 %lld\n",
                                   i, 60 * cores(i) * (step + 1), (long long)clocks.now_unix_ms, i,
                                   (long long)clocks.now_unix_ms);
                struct pod_node *node = pod_set_node(set, "a");
                assert_true(pod_set_is_due(set, node, clocks.now_mono_ms));
                assert_int_equal(pod_set_read(set, node,
                                              &(struct pod_page){.text = text.data,
                                                                 .text_bytes = text.len,
                                                                 .is_complete = true,
                                                                 .clocks = &clocks,
                                                                 .capacity = &capacity}),
                                 0);
                assert_false(pod_set_is_due(set, node, clocks.now_mono_ms + STEP_MS / 2));
                buf_done(&text);
        }
        return clocks;
}

static double same(int pod) {
        (void)pod;
        return 0.2;
}

/* Two that differ by 0.02 of a node or more, one by a little. */
static double various(int pod) {
        return pod == 3 ? 4 : pod == 5 ? 2 : pod == 7 ? 0.21 : 0.2;
}

static double all_differ(int pod) {
        return pod / 2.0;
}

/* The kubelet is asked for the sake of its pods alone, unless it is a source of its node. */
TEST(pages_for_pods) {
        static const struct {
                int64_t passed_ms, after_ms; /* since the pods were read */
                bool is_worth_a_page;
        } rows[] = {
                {-1, 30000, false},    {-1, 60000, true},      {0, 60000, false},
                {15000, 60000, false}, {15000, 100000, false}, {15000, 105000, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_set *set = begin();
                struct pod_node *node = pod_set_node(set, "a");
                assert_true(pod_set_is_worth_a_page(set, node, 1000));
                int64_t now_mono_ms = read_steps(set, 1, same).now_mono_ms;
                if (rows[i].passed_ms >= 0)
                        node->passed_mono_ms = now_mono_ms + rows[i].passed_ms;
                assert_int_equal(pod_set_is_worth_a_page(set, node, now_mono_ms + rows[i].after_ms),
                                 rows[i].is_worth_a_page);
                set->is_metering = false; /* of pods on idle CPU alone, none is due */
                assert_false(pod_set_is_due(set, node, now_mono_ms + rows[i].after_ms));
                pod_set_free(set);
        }
}

TEST(list) {
        static const struct {
                double (*cores)(int pod);
                int steps;
                bool is_known;
                size_t count;
                uint32_t first;
        } rows[] = {
                {same, 1, false, 0, 0},
                {same, 3, false, 0, 0}, /* two rates cover 120 s */
                {same, 4, true, 0, 0},
                {various, 5, true, PODS - 4, 4},
                {all_differ, 5, true, POD_USAGE_MAX, 20},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(pod_set_freep) struct pod_set *set = begin();
                struct pod_usage_list list;
                struct kubelet_clocks clocks = read_steps(set, rows[i].steps, rows[i].cores);
                assert_int_equal(
                        pod_view_list(pod_set_node(set, "a"), &capacity, clocks.now_mono_ms, &list),
                        rows[i].is_known);
                if (rows[i].cores == various)
                        assert_in_range(list.count, 2, POD_USAGE_MAX);
                else
                        assert_int_equal(list.count, rows[i].count);
                if (list.count > 0)
                        assert_int_equal(list.pods[0].uid, rows[i].first);
                struct pod_count count = pod_view_count_all(set, clocks.now_mono_ms);
                assert_int_equal(count.bound, PODS);
                assert_int_equal(count.measured, rows[i].is_known ? PODS : 0);
                /* Old means are not told. */
                assert_false(pod_view_list(pod_set_node(set, "a"), &capacity,
                                           clocks.now_mono_ms + POD_SET_MEASURED_MS + 1, &list));
        }
}

TEST(page) {
        _cleanup_(pod_set_freep) struct pod_set *set = begin();
        struct kubelet_clocks clocks = read_steps(set, 5, same);
        struct buf out = BUF_INIT(1 << 20);

        pod_view_page(set, "a", clocks.now_mono_ms, &out);
        assert_non_null(strstr(out.data, "{\"node\":\"a\",\"pods\":[{\"name\":\"n/pod-19\","
                                         "\"workload\":\"n/ReplicaSet/w\",\"request\":{"
                                         "\"cpuCores\":0.1,\"memoryBytes\":1e+08},\"mean\":{"));
        buf_clear(&out);
        pod_view_page(set, "b\"", clocks.now_mono_ms, &out);
        assert_string_equal(out.data, "{\"node\":\"b\\\"\",\"pods\":[]}\n");
        buf_done(&out);
}

/* A pod without UID is not told to its node, and of a node of unknown size nothing is. */
TEST(little_is_known) {
        static const struct kubelet_capacity unknown = {0};
        _cleanup_(pod_set_freep) struct pod_set *set = begin();
        const struct pod_facts facts = {.id = 99,
                                        .namespace = text_of("n"),
                                        .name = text_of("pod-3"),
                                        .node = text_of("a"),
                                        .request = {{0.1, 1e8}}};
        _cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
        struct pod_usage_list list;
        struct pod_load mean;

        pod_view_page(set, "a", 1000, &out);
        assert_null(strstr(out.data, "ean\""));
        buf_clear(&out);
        pod_set_events.pod(set, &facts, false);
        struct pod_node *node = pod_set_node(set, "a");
        const struct kubelet_clocks clocks = read_steps(set, 5, various);
        pod_view_page(set, "a", clocks.now_mono_ms, &out);
        assert_non_null(strstr(out.data, "{\"name\":\"n/pod-3\",\"request\":{\"cpuCores\":0.1,"
                                         "\"memoryBytes\":1e+08},\"mean\":{\"cpuCores\":4,"
                                         "\"memoryBytes\":1e+08}},"));
        assert_true(pod_view_list(node, &capacity, clocks.now_mono_ms, &list));
        assert_int_equal(list.pods[0].uid, 6); /* pod-5 */
        assert_true(pod_view_list(node, &unknown, clocks.now_mono_ms, &list));
        assert_int_equal(list.count, 0);
        pod_set_meter(set, node, &clocks, &unknown); /* nor is anything cut */
        assert_true(workload_meter_pod_mean(&LIST_FIRST(&node->pods)->meter, &mean));
        assert_float_equal(mean.of[ESTIMATE_CPU], 4, 1e-6);
        assert_float_equal(pod_set_idle_use(set, "a", clocks.now_mono_ms).taken_cores, 0, 0);
}

/* More than the node has is cut, and a resize moves the request. */
TEST(cut_and_resized) {
        _cleanup_(pod_set_freep) struct pod_set *set = begin();
        struct kubelet_clocks clocks = read_steps(set, 5, all_differ);
        struct pod_facts facts = {.id = 1,
                                  .namespace = text_of("n"),
                                  .name = text_of("pod-0"),
                                  .node = text_of("a"),
                                  .workload = "n/ReplicaSet/w",
                                  .workload_len = strlen("n/ReplicaSet/w"),
                                  .request = {{2.1, 1e8}}};

        pod_set_events.pod(set, &facts, false);
        const struct measured_pod *pod = LIST_FIRST(&pod_set_node(set, "a")->pods);
        assert_true(fabs(pod->workload->usage.request.of[ESTIMATE_CPU] - 0.2) < 1e-9);
        assert_int_equal(pod->workload->usage.pods, PODS);
        pod_set_tick(set, clocks.now_unix_ms);
        assert_true(pod->workload->bound[ESTIMATE_CPU] <= 0); /* one node */
}
