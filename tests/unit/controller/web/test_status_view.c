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
#include "tests/unit/fixture/rows.h"

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
        double usage_ratio[5]; /* negative: not usable */
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
                json_auto_t *object = json_loads(
                        rows[i].labels_json && *rows[i].labels_json ? rows[i].labels_json : "{}", 0,
                        NULL);
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

static struct row row_of(const struct rows *rows) {
        char *usage = rows->cells[2], *idle = rows->cells[7];
        struct row row = {.name = rows_unescape(rows->cells[1]),
                          .labels_json = rows_unescape(rows->cells[4]),
                          .failure = *rows->cells[5] ? rows->cells[5] : NULL,
                          .closed_by = *rows->cells[6] ? rows->cells[6] : NULL,
                          .hot = -1};

        for (size_t i = 0; usage; i++) {
                const char *ratio = strsep(&usage, ",");
                row.usage_ratio[i] = strcmp(ratio, "-") == 0 ? -1 : strtod(ratio, NULL);
        }
        if (strcmp(rows->cells[3], "-") != 0)
                row.hot = strtoll(rows->cells[3], NULL, 10);
        row.taint_level = (unsigned)strtoul(idle, &idle, 10);
        row.pool = (uint8_t)strtoul(idle, &idle, 10);
        for (size_t i = 0; *idle; i++)
                row.idle_cores[i] = strtod(idle + 1, &idle);
        return row;
}

TEST(views) {
        struct row nodes[5];
        size_t count = 0;

        for (struct rows rows = rows_open("status-views.tsv"); rows_next(&rows);) {
                if (strcmp(rows.cells[0], "=") != 0) {
                        nodes[count++] = row_of(&rows);
                        continue;
                }
                _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compile(
                        rows_unescape(rows.cells[1]));
                json_auto_t *json = view_of(compiled, nodes, count);
                assert_shows(json, rows_unescape(rows.cells[2]));
                count = 0;
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
