/* The names of --exporter, and what sources that scrape are. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/mem.h"
#include "controller/source/scrape/scrape_settings.h"
#include "controller/source/source_set.h"
#include "program/options.h"

static const struct source_kind *const kinds[] = {&node_exporter_kind, &node_metrics_kind,
                                                  &kubelet_kind, NULL};

static void parse(const struct source_kind *kind, const char *first, const char *second) {
        char *argv[] = {(char *)(uintptr_t) "test", (char *)(uintptr_t)first,
                        (char *)(uintptr_t)second, NULL};
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int words, argc = second ? 3 : first ? 2 : 1;

        if (options_parse(kind->rows, kind->row_count, argc, argv, &outcome, &words, &err) < 0)
                fail_msg("%s", err.msg);
}

/* With one --exporter, and perhaps another one. */
static int configure(const char *order, const char *exporter, struct source_set_options *ret) {
        struct error err = ERROR_NULL;
        const struct node_network_options network = {0};

        assert_int_equal(source_set_order(order, kinds, ret, &err), 0);
        parse(&kubelet_kind, NULL, NULL);
        parse(&node_exporter_kind, "--exporter=dcgm=http://{address}/", exporter);
        int r = source_set_configure(ret, &(struct source_setup){.network = &network}, &err);
        options_done(node_exporter_kind.rows, node_exporter_kind.row_count);
        options_done(kubelet_kind.rows, kubelet_kind.row_count);
        return r;
}

TEST(exporter_names) {
        static const struct {
                const char *flag;
                int expected;
        } rows[] = {
                {"--exporter=gpu=http://{address}/", 0},
                {"--exporter=gpu-2=http://{address}/", 0},
                {"--exporter=dcgn=http://{address}/", 0},
                {"--exporter=abcdefghijklmnopqrstuvwxyz012345=http://{address}/", 0},
                /* 33 characters */
                {"--exporter=abcdefghijklmnopqrstuvwxyz0123456=http://{address}/", -EINVAL},
                {"--exporter=dcgm=http://{address}/", -EINVAL}, /* is there already */
                /* These have a meaning. */
                {"--exporter=node-exporter=http://{address}/", -EINVAL},
                {"--exporter=node-metrics=http://{address}/", -EINVAL},
                {"--exporter==http://{address}/", -EINVAL},
                {"--exporter=GPU=http://{address}/", -EINVAL},
                {"--exporter=a b=http://{address}/", -EINVAL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct source_set_options set;
                int r = configure("node-exporter", rows[i].flag, &set);
                if (r != rows[i].expected)
                        fail_msg("\"%s\": %d", rows[i].flag, r);
                if (r == 0)
                        assert_non_null(strstr(rows[i].flag, set.items[2].kind->name));
        }
}

TEST(traits) {
        struct source_set_options set;

        assert_int_equal(configure("node-metrics,node-exporter,kubelet", NULL, &set), 0);
        assert_int_equal(set.count, 4);
        for (size_t i = 0; i < set.count; i++) {
                const struct source_traits *traits = &set.items[i].traits;
                assert_int_equal(traits->interval_ms, 15000);
                assert_true(traits->is_ready_made == (i == 0));
                assert_true(traits->is_on_demand == (i == 2));
                assert_true((traits->scope.resources != 0) == (i == 2));
        }
        assert_null(set.items[1].traits.scope.exporter);
        assert_string_equal(set.items[3].traits.scope.exporter, "dcgm");
        assert_false(source_set_takes_targets(&set));
        assert_int_equal(source_set_in_flight(&set, 5000), 4 * (256 + 32) + 16);
        assert_int_equal(source_set_in_flight(&set, 100000), 4 * (1562 + 195) + 16);
}
