/* The status page's JSON: verdicts, failures, what is missing, hostile texts, and many nodes. */
#include "tests/unit/fixture/policy.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "controller/web/status_text.h"
#include "controller/web/status_view.h"

static const int64_t now_unix_ms = INT64_C(1784805954000); /* 2026-07-23T11:25:54Z */
static const int64_t now_mono_ms = INT64_C(50000000);

static const char limits_text[] = "  syncPolicy:\n"
                                  "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                  "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                                  "  - {name: gpu_busy, period: 3m}\n"
                                  "  predicate:\n"
                                  "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.8}\n"
                                  "  - {name: gpu_busy, maxLimitPecent: 0.5}\n"
                                  "  priority:\n"
                                  "  - {name: cpu_usage_avg_5m, weight: 1}\n"
                                  "  hotValue:\n"
                                  "  - {timeRange: 5m, count: 1}\n"
                                  "metadata: {name: limits}\n";
static const char bare_text[] = "  extender: {scoring: estimate}\n"
                                "  oddity: 1\n";

static const struct source_hint hints[] = {{"timeout", "its interval"}, {NULL, "its url"}};
static const struct source_kind kind = {.hints = hints};
static const struct source_spec sources[] = {{.kind = &kind, .name = "node-exporter"},
                                             {.kind = &kind, .name = "prometheus"}};

static struct compiled_policy *compile(const char *text) {
        return compiled_policy_new(
                policy_of(text),
                &(struct compiled_policy_options){
                        .style = {.prefix = ""},
                        .sources = {{.interval_ms = 15 * MS_PER_S}, {.interval_ms = 60 * MS_PER_S}},
                        .source_count = 2});
}

/* A node as a row of a test. */
struct row {
        const char *name, *labels_json, *failure;
        double usage_ratio[3]; /* negative: not usable */
        int64_t hot;           /* negative: not counted */
        unsigned taint_level;
        double idle_cores[4]; /* offered, taken, used, room */
        uint8_t pool;
        const char *closed_by;
};

static struct plan_values values_of(const struct row *row, size_t count) {
        struct plan_values values = {.pool = row->pool, .has_hot = row->hot >= 0, .hot = row->hot};

        for (size_t i = 0; i < count; i++) {
                values.ratio[i] = row->usage_ratio[i];
                if (row->usage_ratio[i] >= 0)
                        values.usable |= UINT64_C(1) << i;
        }
        return values;
}

/* Five minutes at the node's usage of CPU, or a failure. */
static void feed(struct node_track *track, const struct compiled_policy *compiled,
                 const struct row *row) {
        node_track_init(track, compiled, now_mono_ms);
        for (int64_t ago_ms = 5 * MS_PER_MIN; ago_ms >= 0 && !row->failure;
             ago_ms -= 15 * MS_PER_S) {
                struct window_step step = {.at_mono_ms = now_mono_ms - ago_ms,
                                           .counters = 1u << METRIC_CPU};
                step.den[METRIC_CPU] = 15;
                step.num[METRIC_CPU] = 15 * row->usage_ratio[0];
                node_track_reading(track, 0, &(struct source_reading){.step = &step},
                                   now_mono_ms - ago_ms);
        }
        if (row->failure)
                node_track_failed(track, 0, row->failure);
}

struct described {
        const struct compiled_policy *compiled;
        const struct row *rows;
        struct node_track *tracks;
        struct kept_texts *labels;
};

static void describe(void *userdata, size_t index, struct status_node *ret) {
        const struct described *described = userdata;
        const struct row *row = &described->rows[index];

        *ret = (struct status_node){
                .name = row->name,
                .closed_by = row->closed_by,
                .labels = &described->labels[index],
                .track = &described->tracks[index],
                .values = values_of(row, described->compiled->policy->metric_count),
                .taint_level = row->taint_level,
                .idle_offered_cores = row->idle_cores[0],
                .idle_taken_cores = row->idle_cores[1],
                .idle_used_cores = row->idle_cores[2],
                .idle_room_cores = row->idle_cores[3],
        };
}

static json_t *view_of(const struct compiled_policy *compiled, const struct row *rows,
                       size_t count) {
        struct buf out = BUF_INIT(64 << 20);
        struct node_track *tracks = xcalloc(count + 1, sizeof(*tracks));
        struct kept_texts *labels = xcalloc(count + 1, sizeof(*labels));
        struct described described = {compiled, rows, tracks, labels};
        const struct status_head head = {
                .compiled = compiled,
                .sources = sources,
                .role = "standby",
                .is_ready = true,
                .checks = "[+] a: \"b\"\n[-] c\n",
                .now_mono_ms = now_mono_ms,
                .now_unix_ms = now_unix_ms,
                .node_count = count,
                .describe = describe,
                .userdata = &described,
        };
        json_t *json = NULL;
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < count; i++) {
                json_auto_t *object = json_loads(rows[i].labels_json ? rows[i].labels_json : "{}",
                                                 0, NULL);
                (void)kept_texts_set_labels(&labels[i], object);
                feed(&tracks[i], compiled, &rows[i]);
        }
        status_view_write(&head, &out);
        assert_false(out.overflow);
        if (json_parse(out.data, out.len, &json, &err) < 0)
                fail_msg("%s", err.msg);
        for (size_t i = 0; i < count; i++) {
                node_track_done(&tracks[i]);
                kept_texts_done(&labels[i]);
        }
        free(labels);
        free(tracks);
        buf_done(&out);
        return json;
}

static json_t *node(const json_t *json, size_t index) {
        return json_array_get(json_at(json, "nodes", NULL), index);
}

static double number(const json_t *json, const char *key) {
        return json_number_value(json_at(json, key, NULL));
}

/* As plimsoll_node_score, see test_node_series.c. */
TEST(scores) {
        static const char text[] = "  extender: {scoring: estimate}\n"
                                   "  taints: {}\n"
                                   "  syncPolicy:\n"
                                   "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                   "  - {name: mem_usage_avg_5m, period: 3m}\n"
                                   "  priority:\n"
                                   "  - {name: cpu_usage_avg_5m, weight: 2}\n"
                                   "  - {name: mem_usage_avg_5m, weight: 1}\n";
        static const struct row rows[] = {
                {"a", NULL, NULL, {0.2, 0.9}, -1, 2},
                {"half", NULL, NULL, {0.2, -1}, -1},
        };
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(text);
        json_auto_t *json = view_of(compiled, rows, ARRAY_LEN(rows));

        assert_float_equal(number(node(json, 0), "score100"), 55, 0);
        assert_null(json_at(node(json, 1), "score100", NULL));
        assert_int_equal(json_int_at(-1, node(json, 0), "taintLevel", NULL), 2);
        assert_int_equal(json_int_at(-1, node(json, 1), "taintLevel", NULL), 0);
}

TEST(idle_cpu) {
        static const char text[] = "  syncPolicy:\n"
                                   "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                   "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                                   "  idle: {}\n";
        static const struct row rows[] = {
                {"a", NULL, NULL, {0.2, 0.3}, -1, .idle_cores = {2.8, 2, 1.5, 3.2}},
                {"unread", NULL, NULL, {0.2, 0.3}, -1, .idle_cores = {0, 4, -1, -0.001}},
        };
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(text);
        json_auto_t *json = view_of(compiled, rows, ARRAY_LEN(rows));
        const json_t *idle = json_at(node(json, 0), "idle", NULL);

        assert_float_equal(number(idle, "offeredCores"), 2.8, 1e-9);
        assert_float_equal(number(idle, "roomCores"), 3.2, 1e-9);
        assert_float_equal(number(idle, "takenCores"), 2, 0);
        assert_float_equal(number(idle, "usedCores"), 1.5, 1e-9);
        idle = json_at(node(json, 1), "idle", NULL);
        assert_float_equal(number(idle, "offeredCores"), 0, 0);
        assert_float_equal(number(idle, "takenCores"), 4, 0);
        assert_null(json_at(idle, "roomCores", NULL));
        assert_null(json_at(idle, "usedCores", NULL));
}

/* A node of a pool has its limits next to it: those of the policy are others. */
TEST(limits_of_pools) {
        static const char text[] = "  syncPolicy:\n"
                                   "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                   "  - {name: mem_usage_avg_5m, period: 3m}\n"
                                   "  predicate:\n"
                                   "  - {name: mem_usage_avg_5m, maxLimitPecent: 0.9}\n"
                                   "  pools:\n"
                                   "  - nodeSelector: {pool: strict}\n"
                                   "    predicate:\n"
                                   "    - {name: cpu_usage_avg_5m, maxLimitPecent: 0.2}\n"
                                   "  - {nodeSelector: {pool: as-others}}\n";
        static const struct row rows[] = {
                {"none", NULL, NULL, {0.3, 0.3}, -1},
                {"strict", NULL, NULL, {0.3, 0.95}, -1, .pool = 1},
                {"as-others", NULL, NULL, {0.3, 0.45}, -1, .pool = 2},
        };
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(text);
        json_auto_t *json = view_of(compiled, rows, ARRAY_LEN(rows));
        const json_t *metrics = json_at(json, "policy", "metrics", NULL), *strict = node(json, 1);

        assert_null(json_at(json_array_get(metrics, 0), "limit", NULL));
        assert_float_equal(number(json_array_get(metrics, 1), "limit"), 0.9, 0);
        assert_null(json_at(node(json, 0), "limits", NULL));
        assert_null(json_at(node(json, 0), "pool", NULL));
        assert_string_equal(json_string_at(strict, "reason", NULL), "cpu_usage_avg_5m above 0.2");
        assert_float_equal(number(strict, "limitShare"), 1.5, 1e-4);
        assert_int_equal(json_int_at(-1, strict, "pool", NULL), 1);
        const json_t *limits = json_at(strict, "limits", NULL);
        assert_int_equal(json_array_size(limits), 2);
        assert_float_equal(json_number_value(json_array_get(limits, 0)), 0.2, 0);
        assert_true(json_is_null(json_array_get(limits, 1)));
        limits = json_at(node(json, 2), "limits", NULL);
        assert_true(json_is_null(json_array_get(limits, 0)));
        assert_float_equal(json_number_value(json_array_get(limits, 1)), 0.9, 0);

        const json_t *pools = json_at(json, "policy", "pools", NULL);
        assert_int_equal(json_array_size(pools), 2);
        const json_t *pool = json_array_get(pools, 0);
        assert_string_equal(json_string_at(pool, "nodeSelector", "pool", NULL), "strict");
        assert_true(json_equal(json_at(pool, "limits", NULL), json_at(strict, "limits", NULL)));
        pool = json_array_get(pools, 1);
        assert_string_equal(json_string_at(pool, "nodeSelector", "pool", NULL), "as-others");
        assert_true(json_equal(json_at(pool, "limits", NULL), limits));
}

/* It passes, but is no node like any other. */
TEST(over_a_limit_and_last) {
        static const char text[] =
                "  syncPolicy:\n"
                "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                "  predicate:\n"
                "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.5, overLimit: last}\n";
        static const struct row rows[] = {{"over", NULL, NULL, {0.6}, -1},
                                          {"below", NULL, NULL, {0.4}, -1}};
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(text);
        json_auto_t *json = view_of(compiled, rows, ARRAY_LEN(rows));

        assert_string_equal(json_string_at(node(json, 0), "verdict", NULL), "passes");
        assert_string_equal(json_string_at(node(json, 0), "reason", NULL),
                            "cpu_usage_avg_5m above 0.5");
        assert_null(json_at(node(json, 1), "reason", NULL));
        assert_int_equal(json_int_at(0, json, "verdicts", "passes", NULL), 2);
}

/* The scheduler does not ask about it, so it has no score, and is not one of all nodes. */
TEST(closed) {
        static const struct row rows[] = {
                {"over", NULL, NULL, {0.9}, -1},
                {"cordoned", NULL, NULL, {0.01}, -1, .closed_by = "cordoned"},
                {"over too", NULL, NULL, {0.95}, -1, .closed_by = "taint a/b"},
                {"unread", NULL, "timeout", {-1}, -1, .closed_by = "taint a/b"},
        };
        static const char text[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                   "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]\n"
                                   "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                   "  extender: {whenAllOver: pass}\n";
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(text);
        json_auto_t *json = view_of(compiled, rows, ARRAY_LEN(rows));

        assert_true(json_is_true(json_at(json, "isAllOver", NULL)));
        assert_int_equal(json_int_at(-1, json, "verdicts", "passes", NULL), 1);
        assert_int_equal(json_int_at(-1, json, "verdicts", "closed", NULL), 3);
        for (size_t i = 1; i < ARRAY_LEN(rows); i++) {
                assert_string_equal(json_string_at(node(json, i), "verdict", NULL), "closed");
                assert_string_equal(json_string_at(node(json, i), "reason", NULL),
                                    rows[i].closed_by);
                assert_null(json_at(node(json, i), "score100", NULL));
        }
        assert_string_equal(json_string_at(node(json, 3), "failure", NULL), "timeout");
}

/* Where every node is above a limit, the extender lets every node pass; not where one is not read.
 */
TEST(over_a_limit_as_all_are) {
        static const struct row rows[] = {{"a", NULL, NULL, {0.6}, -1},
                                          {"b", NULL, NULL, {0.7}, -1},
                                          {"unread", NULL, "timeout", {-1}, -1}};

        for (size_t is_pass = 0; is_pass < 2; is_pass++) {
                for (size_t count = 0; count <= ARRAY_LEN(rows); count++) {
                        _cleanup_(freep) char *text = xasprintf(
                                "  syncPolicy:\n"
                                "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                "  predicate:\n"
                                "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.5}\n"
                                "  extender: {whenAllOver: %s}\n",
                                is_pass ? "pass" : "reject");
                        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(
                                text);
                        json_auto_t *json = view_of(compiled, rows, count);
                        bool is_all_over = is_pass && (count == 1 || count == 2);
                        const char *verdict = is_all_over ? "passes" : "rejected";
                        assert_int_equal(json_is_true(json_at(json, "isAllOver", NULL)),
                                         is_all_over);
                        assert_int_equal(json_array_size(json_at(json, "nodes", NULL)), count);
                        assert_int_equal(json_int_at(0, json, "verdicts", verdict, NULL),
                                         count < 2 ? count : 2);
                        for (size_t i = 0; i < count && i < 2; i++) {
                                assert_true(json_is_at(verdict, node(json, i), "verdict", NULL));
                                assert_true(json_is_at("cpu_usage_avg_5m above 0.5", node(json, i),
                                                       "reason", NULL));
                        }
                }
        }
}

TEST(nodes) {
        static const struct row rows[] = {
                {"calm",
                 "{\"kubernetes.io/hostname\": \"calm\", \"beta.kubernetes.io/os\": \"linux\", "
                 "\"zone\": "
                 "\"a\", \"x\": \"\\\"\\u0007\"}",
                 NULL,
                 {0.4, 0.6, -1},
                 2},
                {"busy", NULL, NULL, {0.9, 0.95, 0.1}, 0},
                {"gpu", NULL, NULL, {0.8, 0.8, 0.75}, -1}, /* at a limit is not above it */
                {"gone", NULL, "timeout", {-1, -1, -1}, 0},
        };
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(limits_text);
        json_auto_t *json = view_of(compiled, rows, ARRAY_LEN(rows));
        const json_t *calm = node(json, 0), *busy = node(json, 1), *gpu = node(json, 2),
                     *gone = node(json, 3);

        assert_string_equal(json_string_at(json, "at", NULL), "2026-07-23T11:25:54.000Z");
        assert_string_equal(json_string_at(calm, "labels", "zone", NULL), "a");
        assert_string_equal(json_string_at(calm, "labels", "x", NULL), "\"?");
        assert_int_equal(json_object_size(json_at(calm, "labels", NULL)), 2);
        assert_string_equal(json_string_at(calm, "verdict", NULL), "passes");
        assert_null(json_at(calm, "reason", NULL));
        assert_float_equal(number(calm, "limitShare"), 0.5, 1e-4);
        assert_float_equal(number(calm, "score100"), 40, 0); /* 60 free, less 10 per hot value */
        assert_int_equal(json_int_at(-1, calm, "hot", NULL), 2);
        assert_true(json_is_null(json_array_get(json_at(calm, "usage", NULL), 2)));
        assert_non_null(json_string_at(calm, "missing", "gpu_busy", NULL));
        const json_t *history = json_array_get(json_at(calm, "history", NULL), 0);
        assert_int_equal(json_array_size(history), STATUS_VIEW_STEPS);
        assert_int_equal(json_integer_value(json_array_get(history, STATUS_VIEW_STEPS - 1)), 40);
        assert_true(json_is_null(json_array_get(history, 0)));

        assert_string_equal(json_string_at(busy, "verdict", NULL), "rejected");
        assert_string_equal(json_string_at(busy, "reason", NULL), "cpu_usage_avg_5m above 0.8");
        assert_null(json_at(busy, "missing", NULL));
        assert_string_equal(json_string_at(gpu, "reason", NULL), "gpu_busy above 0.5");
        assert_float_equal(number(gpu, "limitShare"), 1.5, 1e-4);
        assert_null(json_at(gpu, "hot", NULL));
        assert_null(json_at(gpu, "taintLevel", NULL));
        assert_null(json_at(gpu, "idle", NULL));

        assert_string_equal(json_string_at(gone, "verdict", NULL), "unknown");
        assert_string_equal(json_string_at(gone, "reason", NULL), "timeout");
        assert_string_equal(json_string_at(gone, "failure", NULL), "timeout");
        assert_null(json_at(gone, "limitShare", NULL));
        assert_null(json_at(gone, "source", NULL));
        assert_null(json_at(gone, "ageSeconds", NULL));
        assert_int_equal(json_int_at(0, json, "verdicts", "passes", NULL), 1);
        assert_int_equal(json_int_at(0, json, "verdicts", "rejected", NULL), 2);
        assert_int_equal(json_int_at(0, json, "verdicts", "unknown", NULL), 1);
}

TEST(head) {
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(limits_text);
        _cleanup_(compiled_policy_freep) struct compiled_policy *bare = compile(bare_text);
        static const struct row row = {"a", NULL, NULL, {0.5}, 0};
        json_auto_t *json = view_of(compiled, NULL, 0);
        json_auto_t *little = view_of(bare, &row, 1);
        const json_t *metrics = json_at(json, "policy", "metrics", NULL);

        assert_string_equal(json_string_at(json, "role", NULL), "standby");
        assert_int_equal(json_array_size(json_at(json, "checks", NULL)), 2);
        assert_string_equal(json_string_value(json_array_get(json_at(json, "checks", NULL), 0)),
                            "[+] a: \"b\"");
        assert_string_equal(json_string_at(json, "policy", "name", NULL), "limits");
        assert_int_equal(json_array_size(metrics), 3);
        assert_int_equal(json_array_size(json_at(json, "policy", "pools", NULL)), 0);
        assert_float_equal(number(json_array_get(metrics, 0), "limit"), 0.8, 0);
        assert_float_equal(number(json_array_get(metrics, 0), "weight"), 1, 0);
        assert_null(json_at(json_array_get(metrics, 1), "limit", NULL));
        assert_null(json_at(json_array_get(metrics, 2), "resource", NULL));
        assert_int_equal(json_array_size(json_at(json, "historyResources", NULL)), 1);
        assert_int_equal(json_array_size(json_at(json, "nodes", NULL)), 0);

        /* A policy that asks for nothing: nobody is without data, and there is no score. */
        assert_string_equal(json_string_at(node(little, 0), "verdict", NULL), "passes");
        assert_null(json_at(node(little, 0), "score100", NULL));
        assert_int_equal(json_int_at(0, little, "policy", "warningCount", NULL), 3);
        assert_non_null(strstr(
                json_string_value(json_array_get(json_at(little, "policy", "warnings", NULL), 1)),
                "oddity"));
        assert_non_null(strstr(json_string_at(little, "policy", "text", NULL), "estimate"));
}

TEST(failures) {
        enum { COUNT = 60 };
        static const char *const reasons[] = {"timeout", "connect", "no_metrics"};
        static char names[COUNT][8], made_up[COUNT][16];
        struct row rows[COUNT];
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(limits_text);

        for (size_t i = 0; i < COUNT; i++) {
                snprintf(names[i], sizeof(names[i]), "n%zu", i);
                rows[i] = (struct row){names[i], NULL, reasons[i % 3], {-1, -1, -1}, 0};
        }
        json_auto_t *json = view_of(compiled, rows, COUNT);
        const json_t *groups = json_at(json, "failures", NULL);
        assert_int_equal(json_array_size(groups), 3);
        const json_t *first = json_array_get(groups, 0);
        assert_string_equal(json_string_at(first, "reason", NULL), "timeout");
        assert_string_equal(json_string_at(first, "see", NULL), "its interval");
        assert_string_equal(json_string_at(json_array_get(groups, 2), "see", NULL), "its url");
        assert_int_equal(json_int_at(0, first, "nodes", NULL), COUNT / 3);
        assert_int_equal(json_array_size(json_at(first, "examples", NULL)), STATUS_VIEW_EXAMPLES);
        const json_t *source = json_array_get(json_at(json, "sources", NULL), 0);
        assert_int_equal(json_int_at(0, source, "nodesFailing", NULL), COUNT);
        assert_int_equal(json_int_at(1, source, "nodesServed", NULL), 0);

        /* More reasons than there can be: the rest is counted. */
        for (size_t i = 0; i < COUNT; i++) {
                snprintf(made_up[i], sizeof(made_up[i]), "\"<b>%zu", i);
                rows[i].failure = made_up[i];
        }
        json_auto_t *many = view_of(compiled, rows, COUNT);
        assert_int_equal(json_array_size(json_at(many, "failures", NULL)), STATUS_VIEW_MAX_GROUPS);
        source = json_array_get(json_at(many, "sources", NULL), 0);
        assert_int_equal(json_int_at(0, source, "nodesFailing", NULL), COUNT);
}

/* Of too many nodes, those nearest to a limit; of equal ones as many as fit. */
TEST(too_many) {
        enum { COUNT = STATUS_VIEW_MAX_NODES + 700, BUSY = 100 };
        struct row *rows = xcalloc(COUNT, sizeof(*rows));
        char(*names)[16] = xcalloc(COUNT, sizeof(*names));
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(limits_text);
        size_t busy = 0, calm = 0;

        for (size_t i = 0; i < COUNT; i++) {
                double usage = i >= COUNT - BUSY ? 0.7 : i % 2 ? 0.5 : 0.2;
                snprintf(names[i], sizeof(names[i]), "n%zu", i);
                /* No windows: they would take minutes here. */
                rows[i] = (struct row){names[i], NULL, "timeout", {usage, usage, -1}, 0};
        }
        json_auto_t *json = view_of(compiled, rows, COUNT);
        assert_int_equal(json_int_at(0, json, "nodeCount", NULL), COUNT);
        assert_int_equal(json_int_at(0, json, "nodesShown", NULL), STATUS_VIEW_MAX_NODES);
        assert_int_equal(json_array_size(json_at(json, "nodes", NULL)), STATUS_VIEW_MAX_NODES);
        for (size_t i = 0; i < STATUS_VIEW_MAX_NODES; i++) {
                double share = number(node(json, i), "limitShare");
                busy += share > 0.8;
                calm += share < 0.5;
        }
        assert_int_equal(busy, BUSY);
        assert_int_equal(calm, STATUS_VIEW_MAX_NODES - BUSY - (COUNT - BUSY) / 2);
        /* All are counted, and once. */
        assert_int_equal(json_int_at(0, json, "verdicts", "passes", NULL), COUNT);
        assert_int_equal(
                json_int_at(0, json_array_get(json_at(json, "failures", NULL), 0), "nodes", NULL),
                COUNT);
        free(names);
        free(rows);
}

TEST(hostile_names) {
        static const struct row rows[] = {
                {"</script><img src=x onerror=alert(1)>",
                 "{\"</script>\":\"\\\"\"}",
                 NULL,
                 {0.4, 0.4, -1},
                 0},
                {"\x1b[31m\"\\\xff\xe2\x80\xa8", NULL, NULL, {1e9, 1e-300, 0}, INT64_MAX},
        };
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(limits_text);
        json_auto_t *json = view_of(compiled, rows, ARRAY_LEN(rows));

        assert_string_equal(json_string_at(node(json, 0), "name", NULL), rows[0].name);
        assert_string_equal(json_string_at(node(json, 1), "name", NULL),
                            "\x1b[31m\"\\\xef\xbf\xbd\xe2\x80\xa8");
        assert_float_equal(
                json_number_value(json_array_get(json_at(node(json, 1), "usage", NULL), 0)), 1e9,
                0);
}

TEST(numbers) {
        static const struct {
                double ratio;
                const char *expected;
        } rows[] = {
                {0, "0.0000"},         {0.00004, "0.0000"},
                {0.00005, "0.0001"},   {0.5, "0.5000"},
                {0.99999, "1.0000"},   {9.9998, "9.9998"},
                {9.99994, "10.0"},     {12.34, "12.3"},
                {1e9, "1000000000.0"}, {(double)INFINITY, "1000000000.0"},
        };
        static const float ratios[] = {-1, 0, 0.004F, 0.005F, 0.555F, 1, 9.98F, 1e9F};
        _cleanup_(buf_done) struct buf out = BUF_INIT(1024);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                buf_clear(&out);
                status_text_ratio(rows[i].ratio, &out);
                assert_string_equal(out.data, rows[i].expected);
        }
        buf_clear(&out);
        status_text_percents(ratios, ARRAY_LEN(ratios), &out);
        assert_string_equal(out.data, "[null,0,0,1,56,100,998,999]");
        buf_clear(&out);
        status_text_lines(NULL, "one\n\ntwo", &out);
        assert_string_equal(out.data, "[\"one\",\"\",\"two\"]");
}
