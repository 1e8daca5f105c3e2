/* Which node a series is about. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "controller/source/prometheus/prometheus_match.h"
#include "tests/unit/fixture/rows.h"

static void show_host(const char *text, size_t len, struct buf *out) {
        char host[PROMETHEUS_LABEL_MAX];

        prometheus_instance_host(text, host);
        buf_puts(out, host);
}

TEST(instance_host) {
        rows_check("instances.tsv", show_host);
}

TEST(find) {
        char texts_of[][2][16] = {
                {"node-1", "10.0.0.1"},
                {"node-2", "fd00:0::2"},
                {"10.0.0.3", "192.168.0.3"},
                {"twin-a", "10.0.0.9"},
                {"twin-b", "10.0.0.9"},
                {"homeless", ""},
                /* Its address is another's name: the name counts. */
                {"odd", "10.0.0.3"},
                {"triplet", "10.0.0.9"},
        };
        char seconds[][16] = {"fd00::1", "fd00::2", "", "192.168.0.8", "192.168.0.8", "", "", ""};
        static const uint64_t orders[ARRAY_LEN(seconds)] = {1, 2, 3, 7, 4, 5, 6, 8};
        struct node nodes[ARRAY_LEN(texts_of)];
        struct prometheus_match match = PROMETHEUS_MATCH_NULL;

        for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
                char *address = texts_of[i][1];
                nodes[i] = (struct node){.name = texts_of[i][0],
                                         .address = *address ? address : NULL,
                                         .second_address = *seconds[i] ? seconds[i] : NULL,
                                         .address_order = orders[i],
                                         .second_address_order = 10 + orders[i]};
                prometheus_match_add(&match, &nodes[i]);
        }
        for (struct rows rows = rows_open("prometheus-series.tsv"); rows_next(&rows);) {
                struct prometheus_series series = {0};
                bool is_weak = false;
                for (size_t l = 0; l < 4; l++)
                        (void)snprintf(series.labels[PROMETHEUS_INSTANCE + l], PROMETHEUS_LABEL_MAX,
                                       "%s", rows.cells[l]);
                const struct node *found = prometheus_match_find(&match, &series, &is_weak);
                if (strcmp(found ? found->name : "-", rows.cells[4]) != 0 ||
                    is_weak != (strcmp(rows.cells[5], "weak") == 0))
                        fail_msg("%s: %s", rows.place, found ? found->name : "none");
        }
        assert_ptr_equal(match.newest.node, &nodes[3]);
        assert_ptr_equal(match.newest.first, &nodes[4]);
        assert_int_equal(match.newest.order, 17);
        prometheus_match_done(&match);
}
