#include <math.h>

/* Workloads of ConfigMaps, and what they should request. */
#include "tests/unit/fixture/test.h"

#include "cli/workloads/workload_list.h"

#define LINE(name) name " pods=4 request=0.5/1000 mean=0.1/200 p95=0.2/250 max=0.4/300\n"

static json_t *config_map(const char *shards, const char *lines) {
        return json_pack("{s:{s:s*, s:s}}", "data", "shards", shards, "workloads", lines);
}

TEST(wanted) {
        json_auto_t *map = config_map("1", LINE("shop/ReplicaSet/web"));
        _cleanup_(workload_list_done) struct workload_list list = {0};

        workload_list_add(&list, map, NULL);
        assert_int_equal(list.count, 1);
        assert_string_equal(list.items[0].name, "shop/ReplicaSet/web");
        assert_true(fabs((double)list.items[0].wanted.of[ESTIMATE_CPU] - 0.2) < 1e-9);
        assert_true(fabs((double)list.items[0].wanted.of[ESTIMATE_MEM] - 345) < 1e-9);
        assert_true(fabs((double)list.items[0].unused[ESTIMATE_CPU] - 4 * 0.3) < 1e-9);
        assert_true(fabs((double)list.items[0].unused[ESTIMATE_MEM] - 4 * 655) < 1e-9);
}

TEST(lines) {
        static const struct {
                const char *lines;
                size_t count, malformed;
        } rows[] = {
                {"", 0, 0},
                {"\n", 0, 1},
                {LINE("shop/a/b") LINE("shop/a/c"), 2, 0},
                {LINE("shop/a/b") "bad\n" LINE("shop/a/c"), 2, 1},
                {LINE("shop/a/b") "shop/a/c mean=1/2", 2, 0}, /* without its end */
                {LINE("shop"), 0, 0},
                {LINE("shopping/a/b"), 0, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *map = config_map(NULL, rows[i].lines);
                _cleanup_(workload_list_done) struct workload_list list = {0};
                workload_list_add(&list, map, "shop");
                assert_int_equal(list.count, rows[i].count);
                assert_int_equal(list.malformed, rows[i].malformed);
        }
}
