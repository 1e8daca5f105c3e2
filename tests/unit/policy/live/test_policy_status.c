/* The status of a policy object: what is written, and when nothing is. */
#include "tests/unit/fixture/test.h"

#include "codec/json.h"
#include "policy/live/policy_status.h"
#include "tests/unit/fixture/rows.h"

static const int64_t NOW_UNIX_MS = INT64_C(1784805954000); /* 2026-07-23T11:25:54Z */

static json_t *parse(const char *text) {
        json_t *json = NULL;

        assert_int_equal(json_parse(text, strlen(text), &json, NULL), 0);
        return json;
}

/* Of the object that was read, and so of the one that may be patched. */
static void add_version(json_t *json) {
        assert_int_equal(json_object_set_new(json, "metadata",
                                             json_pack("{s:s}", "resourceVersion", "4711")),
                         0);
}

/* "-": NULL */
static const char *text_or_null(const char *cell) {
        return strcmp(cell, "-") == 0 ? NULL : cell;
}

TEST(patch) {
        for (struct rows rows = rows_open("policy-status.tsv"); rows_next(&rows);) {
                const struct policy_status status = {
                        .generation = strtoll(rows.cells[0], NULL, 10),
                        .metric_count = strtoul(rows.cells[1], NULL, 10),
                        .problem = text_or_null(rows.cells[2]),
                        .warning = text_or_null(rows.cells[3]),
                };
                const char *wanted = text_or_null(rows.cells[5]);
                json_auto_t *object = parse(rows.cells[4]), *expected = NULL;
                add_version(object);
                json_auto_t *patch = policy_status_patch(object, &status, NOW_UNIX_MS);
                if (wanted) {
                        expected = parse(wanted);
                        add_version(expected);
                }
                if (!expected != !patch || (patch && json_equal(patch, expected) != 1))
                        fail_msg("%s gave %s", rows.place,
                                 patch ? json_dumps(patch, 0) : "nothing");
        }
}
