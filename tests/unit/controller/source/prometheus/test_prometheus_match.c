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
        };
        char seconds[][16] = {"fd00::1", "", "", "192.168.0.8", "192.168.0.8", "", ""};
        static const uint64_t orders[ARRAY_LEN(seconds)] = {1, 2, 3, 7, 4, 5, 6};
        struct node nodes[ARRAY_LEN(texts_of)];
        static const struct {
                const char *instance, *node, *nodename, *kubernetes_node;
                int expected; /* -1: none */
                bool is_weak;
        } rows[] = {
                {"10.0.0.1:9100", "", "", "", 0, false},
                {"node-1:9100", "", "", "", 0, false},
                {"NODE-1", "", "", "", 0, false},
                {"[fd00::1]:9100", "", "", "", 0, false},
                {"[fd00::2]:9100", "", "", "", 1, false},
                {"10.0.0.3:9100", "", "", "", 2, false},
                {"192.168.0.3", "", "", "", 2, false},
                /* Several have it: the label decides, else the one that had it first. */
                {"10.0.0.9:9100", "", "", "", 4, false},
                {"192.168.0.8:9100", "", "", "", 4, false},
                {"10.0.0.9:9100", "gone", "", "", 4, false},
                {"10.0.0.9:9100", "twin-a", "", "", 3, true},
                {"10.244.3.4:9100", "homeless", "", "", 5, true},
                {"10.244.3.4:9100", "", "homeless", "", 5, true},
                {"", "", "", "homeless", 5, false},
                {"10.244.3.4:9100", "", "", "gone", -1, true},
                /* instance stands above the rest. */
                {"10.0.0.1:9100", "node-2", "", "", 0, false},
                /* A label that is an address is no name. */
                {"", "10.0.0.1", "", "", -1, false},
                {"", "", "", "", -1, false},
        };
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
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *const texts[] = {rows[i].instance, rows[i].node, rows[i].nodename,
                                             rows[i].kubernetes_node};
                struct prometheus_series series = {0};
                for (size_t l = 0; l < ARRAY_LEN(texts); l++)
                        (void)snprintf(series.labels[PROMETHEUS_INSTANCE + l], PROMETHEUS_LABEL_MAX,
                                       "%s", texts[l]);
                const struct node *expected = rows[i].expected < 0 ? NULL
                                                                   : &nodes[rows[i].expected];
                bool is_weak = false;
                if (prometheus_match_find(&match, &series, &is_weak) != expected ||
                    is_weak != rows[i].is_weak)
                        fail_msg("row %zu", i);
        }
        assert_ptr_equal(match.newest.node, &nodes[3]);
        assert_ptr_equal(match.newest.first, &nodes[4]);
        assert_int_equal(match.newest.order, 17);
        prometheus_match_done(&match);
}
