/* What an earlier policy has left on a node is removed, and nothing else. */
#include "tests/unit/fixture/policy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "codec/json.h"
#include "controller/track/stale_annotations.h"
#include "tests/unit/fixture/rows.h"

#define NOW_UNIX_MS INT64_C(1784808000000) /* 2026-07-23T12:00:00Z */
#define OLD "0.5,2026-07-22T11:59:59Z"
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
        buf_printf(&patch, "{\"written\":\"0.1,T\"");
        stale_annotations_append(&kept, policy, &style, NOW_UNIX_MS, &patch);
        buf_putc(&patch, '}');
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
        for (struct rows rows = rows_open("stale-annotations.tsv"); rows_next(&rows);) {
                const char *policy = strcmp(rows.cells[0], "hot") == 0 ? HOT : POLICY;
                bool is_removed = strcmp(rows.cells[4], "yes") == 0;
                json_auto_t *annotations = json_pack("{s:s}", rows.cells[2], rows.cells[3]);
                _cleanup_(freep) char *keys = removed(policy, rows.cells[1], annotations);
                _cleanup_(freep) char *wanted = xasprintf("%s ", rows.cells[2]);
                if (strcmp(keys, is_removed ? wanted : "") != 0)
                        fail_msg("%s: removed '%s'", rows.place, keys);
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
