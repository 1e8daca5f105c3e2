/* A node's taints: which are ours, and patches that leave those of others as they are. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "policy/node_taints.h"
#include "tests/unit/fixture/rows.h"

#define SOFT(key) "{\"key\":\"" key "\",\"effect\":\"PreferNoSchedule\"}"
#define OURS(level) SOFT("load.plimsoll.io/" level)

static void show(const char *text, size_t len, struct buf *out) {
        json_auto_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
        struct node_taints taints = node_taints_read(json);

        buf_printf(out, "%zu,", (size_t)taints.count);
        for (size_t level = 0; level < POLICY_MAX_LEVELS; level++)
                buf_printf(out, " %zu", (size_t)taints.at[level]);
        buf_puts(out, taints.is_closed ? ", closed" : "");
}

TEST(read) {
        rows_check("node-taints.tsv", show);
        assert_int_equal(node_taints_read(NULL).count, 0);
}

#define TEST_OP(path, value)                                                                       \
        "{\"op\":\"test\",\"path\":\"/spec/taints" path "\",\"value\":" value "}"
#define REMOVE(at, level)                                                                          \
        TEST_OP("/" at "/key", "\"load.plimsoll.io/" level "\"")                                   \
        "," TEST_OP("/" at "/effect",                                                              \
                    "\"PreferNoSchedule\"") ","                                                    \
                                            "{\"op\":\"remove\",\"path\":\"/spec/taints/" at "\"}"
#define ADD(level) "{\"op\":\"add\",\"path\":\"/spec/taints/-\",\"value\":" OURS(level) "}"
#define FIRST                                                                                      \
        TEST_OP("", "null")                                                                        \
        ","                                                                                        \
        "{\"op\":\"add\",\"path\":\"/spec/taints\",\"value\":[]}"

TEST(patch) {
        static const struct {
                struct node_taints from;
                unsigned level;
                const char *patch;
        } rows[] = {
                {{.count = 0}, 0, ""},
                {{.count = 2, .at = {1, 2}}, 2, ""},
                {{.count = 0}, 2, "[" FIRST "," ADD("1") "," ADD("2") "]"},
                {{.count = 1}, 1, "[" ADD("1") "]"},
                {{.count = 3, .at = {2}}, 2, "[" ADD("2") "]"},
                {{.count = 1, .at = {1}}, 0, "[" REMOVE("0", "1") "]"},
                /* The last first, in whatever order they are. */
                {{.count = 4, .at = {4, 1, 3}},
                 0,
                 "[" REMOVE("3", "1") "," REMOVE("2", "3") "," REMOVE("0", "2") "]"},
                {{.count = 4, .at = {4, 1, 3}}, 2, "[" REMOVE("2", "3") "]"},
                /* Somebody has taken out one of them. */
                {{.count = 2, .at = {0, 2, 0, 1}}, 2, "[" REMOVE("0", "4") "," ADD("1") "]"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(buf_done) struct buf out = BUF_INIT(4096);
                assert_int_equal(node_taints_patch(&rows[i].from, rows[i].level, NULL, &out),
                                 rows[i].patch[0] != '\0');
                assert_string_equal(out.data ? out.data : "", rows[i].patch);
        }
}

/* Half a patch would leave a node at another level. */
TEST(patch_that_does_not_fit) {
        const struct node_taints from = {.count = 4, .at = {4, 1, 3}};
        _cleanup_(buf_done) struct buf whole = BUF_INIT(4096);

        assert_true(node_taints_patch(&from, 0, "0-1", &whole));
        for (size_t max_bytes = 0; max_bytes <= whole.len; max_bytes++) {
                _cleanup_(buf_done) struct buf out = BUF_INIT(max_bytes);
                assert_int_equal(node_taints_patch(&from, 0, "0-1", &out), max_bytes == whole.len);
        }
        assert_non_null(strstr(whole.data, "[{\"op\":\"test\",\"path\":\"/metadata/uid\","
                                           "\"value\":\"0-1\"},{"));
}
