/* The status page's JSON: verdicts, failures, what is missing, hostile texts, and many nodes. */
#include "tests/unit/fixture/policy.h"

#include "tests/unit/fixture/shows.h"

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

#define CPU_MEAN "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
#define MEANS                                                                                      \
        "  syncPolicy:\n"                                                                          \
        "  - {name: cpu_usage_avg_5m, period: 3m}\n"                                               \
        "  - {name: mem_usage_avg_5m, period: 3m}\n"
#define LIMIT "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]\n"
#define OVER "reason: cpu_usage_avg_5m above 0.5"

TEST(views) {
        static const struct {
                const char *policy;
                struct row rows[5]; /* up to one without a name */
                const char *shown;
        } views[] = {
                {"  extender: {scoring: estimate}\n"
                 "  taints: {}\n" MEANS "  priority:\n"
                 "  - {name: cpu_usage_avg_5m, weight: 2}\n"
                 "  - {name: mem_usage_avg_5m, weight: 1}\n",
                 {{"a", NULL, NULL, {0.2, 0.9}, -1, 2}, {"half", NULL, NULL, {0.2, -1}, -1}},
                 "{nodes: [{taintLevel: 2}, {taintLevel: 0}]}"},
                {"  syncPolicy:\n"
                 "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                 "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                 "  idle: {}\n",
                 {{"a", NULL, NULL, {0.2, 0.3}, -1, .idle_cores = {2.8, 2, 1.5, 3.2}},
                  {"unread", NULL, NULL, {0.2, 0.3}, -1, .idle_cores = {0, 4, -1, -0.001}}},
                 "{nodes: [{idle: {offeredCores: 2.8, roomCores: 3.2, takenCores: 2, "
                 "usedCores: 1.5}}, {idle: {offeredCores: 0, roomCores: absent, takenCores: 4, "
                 "usedCores: absent}}]}"},
                /* A node of a pool has its limits next to it: those of the policy are others. */
                {MEANS "  predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0.9}]\n"
                       "  pools:\n"
                       "  - nodeSelector: {pool: strict}\n"
                       "    predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.2}]\n"
                       "  - {nodeSelector: {pool: as-others}}\n",
                 {{"none", NULL, NULL, {0.3, 0.3}, -1},
                  {"strict", NULL, NULL, {0.3, 0.95}, -1, .pool = 1},
                  {"as-others", NULL, NULL, {0.3, 0.45}, -1, .pool = 2}},
                 "{policy: {metrics: [{limit: absent}, {limit: 0.9}], pools: [{nodeSelector: "
                 "{pool: strict}, limits: [0.2, null]}, {nodeSelector: {pool: as-others}, limits: "
                 "[null, 0.9]}]}, nodes: [{limits: absent, pool: absent}, {pool: 1, limits: [0.2, "
                 "null], limitShare: 1.5, reason: cpu_usage_avg_5m above 0.2}, {pool: 2, limits: "
                 "[null, 0.9]}]}"},
                /* It passes, but is no node like any other. */
                {CPU_MEAN "  predicate:\n"
                          "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.5, overLimit: last}\n",
                 {{"over", NULL, NULL, {0.6}, -1}, {"below", NULL, NULL, {0.4}, -1}},
                 "{nodes: [{verdict: passes, " OVER "}, {verdict: passes, reason: absent}], "
                 "verdicts: {passes: 2}}"},
                /* The scheduler does not ask about it, so it is not one of all nodes. */
                {CPU_MEAN LIMIT "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                "  extender: {whenAllOver: pass}\n",
                 {{"over", NULL, NULL, {0.9}, -1},
                  {"cordoned", NULL, NULL, {0.01}, -1, .closed_by = "cordoned"},
                  {"over too", NULL, NULL, {0.95}, -1, .closed_by = "taint a/b"},
                  {"unread", NULL, "timeout", {-1}, -1, .closed_by = "taint a/b"}},
                 "{isAllOver: true, verdicts: {passes: 1, closed: 3}, nodes: [{}, {verdict: "
                 "closed, reason: cordoned}, {verdict: closed, reason: taint a/b}, {verdict: "
                 "closed, reason: taint a/b, failure: timeout}]}"},
                /* Where every node is above a limit, the extender lets every node pass; not where
                 * one is not read. */
                {CPU_MEAN LIMIT "  extender: {whenAllOver: pass}\n",
                 {{NULL}},
                 "{isAllOver: false, nodes: [], verdicts: {passes: 0}}"},
                {CPU_MEAN LIMIT "  extender: {whenAllOver: pass}\n",
                 {{"a", NULL, NULL, {0.6}, -1}, {"b", NULL, NULL, {0.7}, -1}},
                 "{isAllOver: true, nodes: [{verdict: passes, " OVER "}, {verdict: passes, " OVER
                 "}], verdicts: {passes: 2}}"},
                {CPU_MEAN LIMIT "  extender: {whenAllOver: pass}\n",
                 {{"a", NULL, NULL, {0.6}, -1}, {"unread", NULL, "timeout", {-1}, -1}},
                 "{isAllOver: false, nodes: [{verdict: rejected, " OVER "}, {}], verdicts: "
                 "{rejected: 1}}"},
                {CPU_MEAN LIMIT "  extender: {whenAllOver: reject}\n",
                 {{"a", NULL, NULL, {0.6}, -1}, {"b", NULL, NULL, {0.7}, -1}},
                 "{isAllOver: false, nodes: [{verdict: rejected, " OVER "}, {}], verdicts: "
                 "{rejected: 2}}"},
                {limits_text,
                 {{"calm",
                   "{\"kubernetes.io/hostname\": \"calm\", \"beta.kubernetes.io/os\": \"linux\", "
                   "\"zone\": \"a\", \"x\": \"\\\"\\u0007\"}",
                   NULL,
                   {0.4, 0.6, -1},
                   2},
                  {"busy", NULL, NULL, {0.9, 0.95, 0.1}, 0},
                  {"gpu", NULL, NULL, {0.8, 0.8, 0.75}, -1}, /* at a limit is not above it */
                  {"gone", NULL, "timeout", {-1, -1, -1}, 0}},
                 "{at: '2026-07-23T11:25:54.000Z', nodes: [{verdict: passes, reason: absent, "
                 "limitShare: 0.5, hot: 2, labels: {zone: a, x: '\"?', "
                 "kubernetes.io/hostname: absent, beta.kubernetes.io/os: absent}, usage: [0.4, "
                 "0.6, "
                 "null], missing: {gpu_busy: the exporter has no such gauge}}, {verdict: rejected, "
                 "reason: "
                 "cpu_usage_avg_5m above 0.8, missing: absent}, {reason: gpu_busy above 0.5, "
                 "limitShare: 1.5, hot: absent, taintLevel: absent, idle: absent}, {verdict: "
                 "unknown, reason: timeout, failure: timeout, limitShare: absent, source: absent, "
                 "ageSeconds: absent}], verdicts: {passes: 1, rejected: 2, unknown: 1}}"},
                {limits_text,
                 {{NULL}},
                 "{role: standby, checks: ['[+] a: \"b\"', '[-] c'], policy: {name: limits, pools: "
                 "[], metrics: [{limit: 0.8, weight: 1}, {limit: absent}, {resource: absent}]}, "
                 "historyResources: [cpu], nodes: []}"},
                /* A policy that asks for nothing: nobody is without data. */
                {bare_text,
                 {{"a", NULL, NULL, {0.5}, 0}},
                 "{nodes: [{verdict: passes}], policy: {warningCount: 3}}"},
                /* hostile names */
                {limits_text,
                 {{"</script><img src=x onerror=alert(1)>",
                   "{\"</script>\":\"\\\"\"}",
                   NULL,
                   {0.4, 0.4, -1},
                   0},
                  {"\x1b[31m\"\\\xff\xe2\x80\xa8", NULL, NULL, {1e9, 1e-300, 0}, INT64_MAX}},
                 "{nodes: [{name: '</script><img src=x onerror=alert(1)>'}, {name: "
                 "\"\\e[31m\\\"\\\\\\uFFFD\\u2028\", usage: [1e9, 0, 0]}]}"},
        };

        for (size_t i = 0; i < ARRAY_LEN(views); i++) {
                _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(
                        views[i].policy);
                size_t count = 0;
                while (views[i].rows[count].name)
                        count++;
                json_auto_t *json = view_of(compiled, views[i].rows, count);
                assert_shows(json, views[i].shown);
        }
}

TEST(history) {
        static const struct row row = {"a", NULL, NULL, {0.4}, 0};
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(limits_text);
        json_auto_t *json = view_of(compiled, &row, 1);
        const json_t *history = json_array_get(json_at(node(json, 0), "history", NULL), 0);

        assert_int_equal(json_array_size(history), STATUS_VIEW_STEPS);
        assert_int_equal(json_integer_value(json_array_get(history, STATUS_VIEW_STEPS - 1)), 40);
        assert_true(json_is_null(json_array_get(history, 0)));
}

TEST(policy) {
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(bare_text);
        json_auto_t *json = view_of(compiled, NULL, 0);
        const json_t *policy = json_at(json, "policy", NULL),
                     *warning = json_array_get(json_at(policy, "warnings", NULL), 1);

        assert_non_null(strstr(json_string_value(warning), "oddity"));
        assert_non_null(strstr(json_string_at(policy, "text", NULL), "estimate"));
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
        assert_shows(json,
                     "{failures: [{reason: timeout, see: its interval, nodes: 20, examples: "
                     "[n0, n3, n6, n9, n12]}, {}, {see: its url}], sources: [{nodesFailing: 60, "
                     "nodesServed: 0}, {}]}");

        /* More reasons than there can be: the rest is counted. */
        for (size_t i = 0; i < COUNT; i++) {
                snprintf(made_up[i], sizeof(made_up[i]), "\"<b>%zu", i);
                rows[i].failure = made_up[i];
        }
        json_auto_t *many = view_of(compiled, rows, COUNT);
        assert_int_equal(json_array_size(json_at(many, "failures", NULL)), STATUS_VIEW_MAX_GROUPS);
        assert_shows(many, "{sources: [{nodesFailing: 60}, {}]}");
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
