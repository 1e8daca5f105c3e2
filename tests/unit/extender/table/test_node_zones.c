/* Zones as small numbers: by themselves, and as a column of the node table. */
#include "tests/unit/fixture/node_words.h"

#include <stdio.h>

#include "extender/table/node_zones.h"

static json_t *labels_of(const char *zone) {
        _cleanup_(freep) char *words = zone ? xasprintf("a=b topology.kubernetes.io/zone=%s", zone)
                                            : xstrdup("zone=x");

        return json_of_words(words);
}

static uint8_t move(struct node_zones *zones, uint8_t from, const char *zone) {
        json_auto_t *labels = labels_of(zone);

        return node_zones_move(zones, from, labels, NULL);
}

TEST(numbers) {
        struct node_zones zones = {0};
        char longest[NODE_ZONE_NAME_MAX + 2];

        assert_int_equal(move(&zones, 0, "a"), 1);
        assert_int_equal(move(&zones, 0, "b"), 2);
        assert_int_equal(move(&zones, 0, "a"), 1);
        assert_int_equal(move(&zones, 1, "a"), 1); /* stays */
        assert_int_equal(zones.of[1].nodes, 2);
        assert_int_equal(move(&zones, 0, NULL), NODE_ZONE_NONE);
        assert_int_equal(move(&zones, 0, ""), NODE_ZONE_NONE);
        assert_int_equal(move(&zones, 1, "b"), 2);
        assert_int_equal(move(&zones, 1, NULL), NODE_ZONE_NONE); /* the last of "a" */
        assert_int_equal(move(&zones, 0, "c"), 1);
        /* as long as a label's value may be, and one more */
        memset(longest, 'z', sizeof(longest));
        longest[NODE_ZONE_NAME_MAX + 1] = '\0';
        assert_int_equal(move(&zones, 0, longest), NODE_ZONE_NONE);
        longest[NODE_ZONE_NAME_MAX] = '\0';
        assert_int_equal(move(&zones, 0, longest), 3);
        node_zones_done(&zones);
}

TEST(odd_nodes) {
        static const char *const rows[] = {
                "null", "[]", "{}", "7", "{\"topology.kubernetes.io/zone\":7}",
        };
        struct node_zones zones = {0};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *odd = json_loads(rows[i], JSON_DECODE_ANY, NULL);
                assert_non_null(odd);
                assert_int_equal(node_zones_move(&zones, 0, odd, odd), NODE_ZONE_NONE);
        }
        node_zones_done(&zones);
}

/* Nodes to be avoided are apart, with a zone or without one. */
TEST(taints) {
        struct node_zones zones = {0};
        json_auto_t *soft = json_loads("[{\"effect\":\"NoExecute\"},{},7,"
                                       "{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}]",
                                       0, NULL);
        json_auto_t *hard = json_loads("[{\"effect\":\"NoSchedule\"}]", 0, NULL);
        json_auto_t *load = json_loads("[{\"key\":\"load.plimsoll.io/1\","
                                       "\"effect\":\"PreferNoSchedule\"}]",
                                       0, NULL);
        json_auto_t *labels = labels_of("a");

        assert_int_equal(node_zones_move(&zones, 0, labels, soft), 1);
        assert_int_equal(node_zones_move(&zones, 0, labels, hard), 2);
        assert_int_equal(node_zones_move(&zones, 0, NULL, soft), 3);
        /* Of spec.taints: it is busy, not idle. */
        assert_int_equal(node_zones_move(&zones, 0, labels, load), 2);
        assert_int_equal(node_zones_move(&zones, 0, NULL, hard), NODE_ZONE_NONE);
        assert_int_equal(node_zones_move(&zones, 1, labels, NULL), 2);
        node_zones_done(&zones);
}

TEST(ceiling) {
        struct node_zones zones = {0};
        char name[16];

        for (int i = 1; i < 2 * NODE_ZONES_MAX; i++) {
                (void)snprintf(name, sizeof(name), "z%d", i);
                assert_int_equal(move(&zones, 0, name), i < NODE_ZONES_MAX ? i : NODE_ZONE_NONE);
        }
        assert_int_equal(move(&zones, 7, NULL), NODE_ZONE_NONE);
        assert_int_equal(move(&zones, 0, "new"), 7);
        node_zones_done(&zones);
}

/* Return: the zone of a node in the next snapshot */
static int zone_of(struct node_table *table, const char *name) {
        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        uint32_t row = node_names_find(snapshot->names, name, strlen(name));
        assert_true(row < snapshot->nodes.count);
        int zone = snapshot->nodes.columns.zone[row];
        node_snapshot_unref(snapshot);
        return zone;
}

static void put(struct node_table *table, const char *name, const char *zone) {
        json_auto_t *labels = labels_of(zone);

        put_node_parts(table, name, NULL, labels, NULL, NOW);
}

TEST(table) {
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = ""}, policy_default(), NOW);

        put(table, "n1", "a");
        put(table, "n2", "b");
        put(table, "n3", NULL);
        assert_int_equal(zone_of(table, "n1"), 1);
        assert_int_equal(zone_of(table, "n2"), 2);
        assert_int_equal(zone_of(table, "n3"), NODE_ZONE_NONE);
        put(table, "n1", "a");
        assert_false(node_table_is_dirty(table));
        put(table, "n3", "b");
        assert_true(node_table_is_dirty(table));
        assert_int_equal(zone_of(table, "n3"), 2);
        /* rows move, and another policy makes new columns */
        node_table_remove(table, "n1");
        put(table, "n4", "c");
        assert_int_equal(zone_of(table, "n3"), 2);
        assert_int_equal(zone_of(table, "n4"), 1);
        node_table_set_policy(table, policy_default(), NOW);
        assert_int_equal(zone_of(table, "n2"), 2);
        assert_int_equal(zone_of(table, "n4"), 1);
        node_table_free(table);
}
