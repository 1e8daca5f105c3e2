/* The tables of what is requested, with idle CPU where the policy offers it, and without. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/top/top_requests.h"
#include "codec/json.h"

#define GIB (1024.0 * 1024 * 1024)

enum { NARROW = 80 };

static char node_name[] = "node";
static struct top_requests_row node_row = {
        .name = node_name,
        .pods = 3,
        .capacity.of = {8, 32 * GIB},
        .requested.of = {2, 8 * GIB},
        .used.of = {1, -1},
        .unused.of = {1, -1},
        .idle_offered_cores = 4.25,
        .idle_taken_cores = 2,
};

static struct top_requests_sum sum_of(bool has_idle) {
        struct top_requests_sum sum = {
                .nodes = {.items = &node_row, .count = 1},
                .total = node_row,
                .has_idle = has_idle,
        };

        sum.total.name = NULL;
        return sum;
}

/* Its first lines, in as many columns. */
static void assert_begins(bool has_idle, size_t width, const char *expected) {
        const struct style style = {"", "", "", "", "", "", false, width};
        const struct top_requests_sum sum = sum_of(has_idle);
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        top_requests_print(&sum, &style, false, out);
        assert_int_equal(fclose(out), 0);
        assert_true(len > strlen(expected));
        text[strlen(expected)] = '\0';
        assert_string_equal(text, expected);
}

TEST(without_idle_cpu) {
        assert_begins(
                false, NARROW,
                "NODE        PODS   CPU REQ      USED    UNUSED   MEM REQ      USED    UNUSED\n"
                "node           3      2.00      1.00      1.00      8.00         -         -\n"
                "all nodes      3      2.00      1.00      1.00      8.00         -         -\n"
                "\n");
        assert_begins(false, 130,
                      "NODE        PODS      CPUS      REQUESTED           USED    UNUSED"
                      "   MEM GiB      REQUESTED           USED    UNUSED\n");
}

TEST(with_idle_cpu) {
        assert_begins(
                true, NARROW,
                "NODE        PODS   CPU REQ      USED   MEM REQ      USED      IDLE     TAKEN\n"
                "node           3      2.00      1.00      8.00         -      4.25      2.00\n"
                "all nodes      3      2.00      1.00      8.00         -      4.25      2.00\n"
                "\n");
        assert_begins(true, 130, "NODE        PODS   CPU REQ ");
        assert_begins(
                true, 150,
                "NODE        PODS      CPUS      REQUESTED           USED    UNUSED   MEM GiB "
                "     REQUESTED           USED    UNUSED      IDLE     TAKEN\n"
                "node           3       8.0      2.00  25%      1.00  12%      1.00      32.0 "
                "     8.00  25%         -              -      4.25      2.00\n");
}

TEST(documents) {
        const struct top_requests_sum without = sum_of(false), with = sum_of(true);
        json_auto_t *plain = top_requests_json(&without), *json = top_requests_json(&with);
        const json_t *node = json_array_get(json_object_get(json, "nodes"), 0);
        const json_t *all = json_object_get(json, "all");

        assert_true(json_real_value(json_object_get(node, "offeredIdleCores")) == 4.25);
        assert_true(json_real_value(json_object_get(node, "takenIdleCores")) == 2);
        assert_true(json_equal(json_object_get(all, "offeredIdleCores"),
                               json_object_get(node, "offeredIdleCores")));
        assert_null(json_object_get(json_object_get(plain, "all"), "takenIdleCores"));
        node = json_array_get(json_object_get(plain, "nodes"), 0);
        assert_null(json_object_get(node, "offeredIdleCores"));
}

TEST_GROUP(NULL, NULL)
