/* What an earlier policy has left on a node is removed, and nothing else. */
#include "tests/unit/fixture/policy.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "controller/track/stale_annotations.h"

#define NOW_UNIX_MS INT64_C(1784808000000) /* 2026-07-23T12:00:00Z */
#define OLD "0.5,2026-07-22T11:59:59Z"
#define NEWER "0.5,2026-07-22T12:00:01Z"
#define POLICY "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: gpus, period: 3m}]\n"
#define HOT POLICY "  hotValue: [{timeRange: 5m, count: 1}]\n"

/* The keys that a patch removes, as one text. */
static char *removed(const char *policy_text, const char *prefix, const json_t *annotations) {
        struct policy *policy = policy_of(policy_text);
        struct buf patch = BUF_INIT(64 << 10), keys = BUF_INIT(64 << 10);
        struct kept_texts kept = {0};
        const struct plan_style style = {.prefix = prefix};
        json_t *json = NULL;
        const char *key;
        json_t *value;

        (void)kept_texts_set_annotations(&kept, annotations, prefix);
        buf_printf(&patch, "{\"written\":\"0.1,T\"}");
        stale_annotations_append(&kept, policy, &style, NOW_UNIX_MS, &patch);
        assert_int_equal(json_parse(patch.data, patch.len, &json, NULL), 0);
        assert_true(json_is_string(json_at(json, "written", NULL)));
        json_object_foreach (json, key, value)
                if (json_is_null(value))
                        buf_printf(&keys, "%s ", key);
        json_decref(json);
        kept_texts_done(&kept);
        buf_done(&patch);
        policy_free(policy);
        char *text = xstrdup(keys.len > 0 ? keys.data : "");
        buf_done(&keys);
        return text;
}

TEST(keys) {
        static const struct {
                const char *policy, *prefix, *key, *value;
                bool is_removed;
        } rows[] = {
                {POLICY, "", "cpu_usage_max_avg_1d", OLD, true},
                {POLICY, "", "cpu_usage_max_avg_1d_peak", OLD, true},
                {POLICY, "", "mem_usage_avg_5m", OLD, true},
                {POLICY, "a.b/", "a.b/mem_usage_avg_5m", OLD, true},
                {POLICY, "a.b/", "mem_usage_avg_5m", OLD, false},
                {POLICY, "", "a.b/mem_usage_avg_5m", OLD, false},
                /* Somebody may still use it, or its clock differs. */
                {POLICY, "", "mem_usage_avg_5m", NEWER, false},
                {POLICY, "", "mem_usage_avg_5m", "0.5,2027-01-01T00:00:00Z", false},
                /* The policy has it: its patches renew it. */
                {POLICY, "", "cpu_usage_avg_5m", OLD, false},
                {POLICY, "", "cpu_usage_avg_5m_peak", OLD, false},
                {POLICY, "", "gpus", OLD, false},
                {POLICY, "", "node_hot_value", "3,2026-07-22T11:59:59Z", true},
                {HOT, "", "node_hot_value", "3,2026-07-22T11:59:59Z", false},
                /* Not ours by name, or not by value. */
                {POLICY, "", "node_covered_seconds", "3,2026-07-22T11:59:59Z", false},
                {POLICY, "", "disks", OLD, false},
                {POLICY, "", "_peak", OLD, false},
                {POLICY, "", "mem_usage_avg_5m", "much", false},
                {POLICY, "", "mem_usage_avg_5m", "", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *annotations = json_pack("{s:s}", rows[i].key, rows[i].value);
                _cleanup_(freep) char *keys = removed(rows[i].policy, rows[i].prefix, annotations);
                _cleanup_(freep) char *wanted = xasprintf("%s ", rows[i].key);
                if (strcmp(keys, rows[i].is_removed ? wanted : "") != 0)
                        fail_msg("row %zu, %s: removed '%s'", i, rows[i].key, keys);
        }
}

TEST(nothing_is_carried) {
        _cleanup_(freep) char *keys = removed(POLICY, "", NULL);

        assert_string_equal(keys, "");
}

/* A patch has a ceiling; what remains is removed later. */
TEST(many) {
        json_auto_t *annotations = json_object();
        size_t count = 0;

        for (int hours = 1; hours <= 2 * STALE_ANNOTATIONS_MAX; hours++) {
                _cleanup_(freep) char *key = xasprintf("mem_usage_avg_%dm", hours);
                (void)json_object_set_new(annotations, key, json_string(OLD));
        }
        _cleanup_(freep) char *keys = removed(POLICY, "", annotations);
        for (const char *at = keys; *at; at++)
                count += *at == ' ';
        assert_int_equal(count, STALE_ANNOTATIONS_MAX);
}
