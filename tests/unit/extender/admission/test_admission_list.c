/* Which nodes are listed for pods of each size, and with which weights. */
#include "tests/unit/fixture/node_words.h"

#include <stdio.h>

#include "extender/admission/admission_list.h"

#define AT(cpu) "cpu_usage_avg_5m=" cpu ",2026-07-23T09:46:40Z"
#define FOUR "cpu=4 memory=40Gi"
#define TEN "cpu=10 memory=100Gi"
#define TWENTY "cpu=20 memory=200Gi"
#define SPEC "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
#define LIMIT "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65}]\n"
#define WEIGHT "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
#define ESTIMATE "  extender: {scoring: estimate}\n"
#define SCORING(of) "  extender: {scoring: " of "}\n"

/* By the largest request. */
enum { CLASS_100M, CLASS_250M, CLASS_500M, CLASS_1, CLASS_2, CLASS_4, CLASS_8, CLASS_LARGER };

static json_t *lists_of(struct node_table *table) {
        _cleanup_(admission_lister_freep) struct admission_lister *lister = admission_lister_new();
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);
        struct admission_list list;
        json_t *json = NULL;

        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        admission_lister_make(lister, snapshot, NOW, &list);
        (void)buf_putc(&text, '{');
        admission_list_write(&list, snapshot, &text);
        (void)buf_putc(&text, '}');
        node_snapshot_unref(snapshot);
        assert_int_equal(json_parse(text.data, text.len, &json, NULL), 0);
        return json;
}

static const json_t *nodes_of(const json_t *lists, size_t class) {
        const json_t *classes = json_object_get(lists, "classes");

        assert_int_equal(json_array_size(classes), ADMISSION_CLASSES);
        return json_object_get(json_array_get(classes, class), "nodes");
}

/* "a=100 b=79 " */
static char *words_of(const json_t *nodes) {
        struct buf words = BUF_INIT(4096);
        const json_t *node;
        size_t i;

        (void)buf_puts(&words, "");
        json_array_foreach (nodes, i, node)
                (void)buf_printf(&words, "%s=%d ", json_string_at(node, "name", NULL),
                                 (int)json_int_at(0, node, "weight", NULL));
        return buf_take(&words);
}

TEST(listed) {
        static const struct {
                const char *policy;
                struct node_words nodes[3];
                size_t class;
                const char *listed;
        } rows[] = {
                /* 0.7 for each percent; of those that are equal, the one that came first */
                {ESTIMATE,
                 {{"a", AT("0.5"), NULL, TEN},
                  {"b", AT("0.2"), NULL, TEN},
                  {"c", AT("0.2"), NULL, TEN}},
                 CLASS_100M,
                 "b=100 c=100 a=79 "},
                {ESTIMATE,
                 {{"a", AT("0"), NULL, TEN}, {"b", AT("1"), NULL, TEN}},
                 CLASS_100M,
                 "a=100 b=30 "},
                {ESTIMATE,
                 {{"a", AT("0"), NULL, TEN}, {"b", AT("1.9"), NULL, TEN}},
                 CLASS_100M,
                 "a=100 b=1 "},
                {LIMIT ESTIMATE,
                 {{"a", AT("0.5"), NULL, TEN}, {"b", AT("0.7"), NULL, TEN}},
                 CLASS_100M,
                 "a=100 "},
                /* Limits that reject every node reject none. */
                {LIMIT ESTIMATE, {{"a", AT("0.7"), NULL, TEN}}, CLASS_100M, "a=100 "},
                /* Half of a nominal pod fits. It has 2 GiB for each core, the largest 16 cores. */
                {ESTIMATE,
                 {{"a", AT("0.2"), NULL, TEN}, {"b", AT("0"), NULL, "cpu=0.9 memory=100Gi"}},
                 CLASS_2,
                 "a=100 "},
                {ESTIMATE,
                 {{"a", AT("0.2"), NULL, TEN}, {"b", AT("0"), NULL, "cpu=10 memory=7Gi"}},
                 CLASS_8,
                 "a=100 "},
                {ESTIMATE,
                 {{"a", AT("0"), NULL, "cpu=7 memory=100Gi"},
                  {"b", AT("0"), NULL, "cpu=8 memory=16Gi"}},
                 CLASS_LARGER,
                 "b=100 "},
                /* A pod, which counts six times, takes more of a small node. */
                {ESTIMATE,
                 {{"a", AT("0.2"), NULL, "cpu=5 memory=100Gi"}, {"b", AT("0.2"), NULL, TEN}},
                 CLASS_1,
                 "b=100 a=58 "},
                /* Without a reading, as without an annotation. */
                {SCORING("absolute"),
                 {{"a", AT("0.5"), NULL, NULL}, {"b", AT("0.2"), NULL, NULL}, {.name = "c"}},
                 CLASS_100M,
                 "b=100 a=79 c=44 "},
                {ESTIMATE, {{NULL}}, CLASS_100M, ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *policy = xasprintf(SPEC WEIGHT "%s", rows[i].policy);
                _cleanup_(node_table_freep) struct node_table *table = table_of(policy);
                for (size_t n = 0; n < ARRAY_LEN(rows[i].nodes) && rows[i].nodes[n].name; n++)
                        put_node(table, &rows[i].nodes[n], NOW);
                json_auto_t *lists = lists_of(table);
                _cleanup_(freep) char *words = words_of(nodes_of(lists, rows[i].class));
                if (strcmp(words, rows[i].listed) != 0)
                        fail_msg("row %zu: %s", i, words);
        }
}

/* What pods request of it counts, whether they use it or not. */
TEST(requested) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(SPEC WEIGHT ESTIMATE);
        const struct pod_facts pod = {
                .id = 1, .node = {"a", 1}, .request = {{9.5, 1}}, .runs_unix_ms = NOW};
        size_t nodes = 0;

        put_node(table, &(struct node_words){"a", AT("0.1"), NULL, TEN}, NOW);
        estimator_bind(node_table_estimator(table), &pod);
        json_auto_t *before = lists_of(table);
        for (size_t i = 0; i < ADMISSION_CLASSES; i++)
                nodes += json_array_size(nodes_of(before, i));
        assert_int_equal(nodes, CLASS_1 + 1);
        estimator_end(node_table_estimator(table), "a", 1, 1, NOW);
        json_auto_t *after = lists_of(table);
        assert_int_equal(json_array_size(nodes_of(after, CLASS_8)), 1);
}

TEST(closed) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(SPEC WEIGHT ESTIMATE);
        json_auto_t *cordoned = json_pack("{s:{s:s},s:{s:b}}", "metadata", "name", "a", "spec",
                                          "unschedulable", 1);

        put_node(table, &(struct node_words){.name = "b"}, NOW);
        assert_true(node_table_put(table, cordoned, NOW));
        json_auto_t *lists = lists_of(table);
        _cleanup_(freep) char *words = words_of(nodes_of(lists, CLASS_LARGER));
        assert_string_equal(words, "b=100 ");
}

/* Some equal nodes, and how many of them are listed. */
struct nodes {
        const char *labels, *capacity;
        size_t count, listed;
};

static void put_nodes(struct node_table *table, char letter, const struct nodes *nodes) {
        char name[32];

        for (size_t i = 0; i < nodes->count; i++) {
                (void)snprintf(name, sizeof(name), "%c%zu", letter, i);
                put_node(table,
                         &(struct node_words){name, AT("0.1"), nodes->labels, nodes->capacity},
                         NOW);
        }
}

static size_t count_of(const json_t *nodes, char letter) {
        const json_t *node;
        size_t i, count = 0;

        json_array_foreach (nodes, i, node)
                count += json_string_at(node, "name", NULL)[0] == letter;
        return count;
}

/* Each pool has an equal share of the places in each zone, and needs not use it. Once half of its
 * cores there are listed, no nodes are that are much smaller. */
TEST(groups) {
#define GPU "pool=gpu"
#define SPOT "pool=spot"
#define ZONE(name) "topology.kubernetes.io/zone=" name
        static const struct nodes rows[][3] = {
                {{NULL, TEN, 31, 31}},
                {{NULL, TEN, 40, 32}},
                {{NULL, NULL, 40, 32}},
                /* A pod takes less of larger nodes, so they are the best. */
                {{NULL, TWENTY, 20, 20}, {NULL, TEN, 50, 12}},
                {{NULL, TWENTY, 20, 20}, {NULL, FOUR, 50, 0}},
                {{NULL, TWENTY, 5, 5}, {NULL, FOUR, 40, 8}},
                {{NULL, TEN, 40, 16}, {GPU, TEN, 40, 16}},
                {{NULL, TEN, 40, 16}, {GPU, TEN, 2, 2}},
                {{NULL, TEN, 3, 3}, {GPU, TEN, 40, 11}, {SPOT, TEN, 40, 11}},
                {{GPU, TEN, 40, 32}},
                {{ZONE("a"), TWENTY, 40, 16}, {ZONE("b"), FOUR, 10, 10}},
                {{ZONE("a"), TEN, 40, 11},
                 {ZONE("a") " " GPU, TWENTY, 40, 11},
                 {ZONE("b") " " GPU, TEN, 40, 10}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_of(
                        SPEC WEIGHT ESTIMATE
                        "  pools: [{nodeSelector: {pool: gpu}}, {nodeSelector: {pool: spot}}]\n");
                for (size_t n = 0; n < ARRAY_LEN(rows[i]); n++)
                        put_nodes(table, (char)('a' + n), &rows[i][n]);
                json_auto_t *lists = lists_of(table);
                for (size_t n = 0; n < ARRAY_LEN(rows[i]); n++) {
                        size_t listed = count_of(nodes_of(lists, CLASS_1), (char)('a' + n));
                        if (listed != rows[i][n].listed)
                                fail_msg("row %zu, %zu: %zu", i, n, listed);
                }
        }
}

TEST(sizes) {
        static const double cores[] = {0.1, 0.25, 0.5, 1, 2, 4, 8};
        _cleanup_(node_table_freep) struct node_table *table = table_of(SPEC);
        json_auto_t *lists = lists_of(table);
        const json_t *classes = json_object_get(lists, "classes");

        for (size_t i = 0; i < ARRAY_LEN(cores); i++)
                assert_true(json_number_value(json_object_get(json_array_get(classes, i),
                                                              "maxCores")) == cores[i]);
        assert_null(json_object_get(json_array_get(classes, CLASS_LARGER), "maxCores"));
}

/* An API server has no such nodes but the last; even so each name stays one name. */
TEST(names) {
        static const char *const names[] = {"\"},{\"", "\\", "\x01\n", "\xc3\xa9", "a..b"};
        _cleanup_(node_table_freep) struct node_table *table = table_of(SPEC);
        char longest[254] = "";

        memset(longest, 'a', sizeof(longest) - 1);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                put_node(table, &(struct node_words){.name = names[i]}, NOW);
        put_node(table, &(struct node_words){.name = longest}, NOW);
        json_auto_t *lists = lists_of(table);
        const json_t *nodes = nodes_of(lists, CLASS_100M);
        assert_int_equal(json_array_size(nodes), ARRAY_LEN(names) + 1);
        for (size_t i = 0; i < json_array_size(nodes); i++)
                assert_string_equal(json_string_at(json_array_get(nodes, i), "name", NULL),
                                    i < ARRAY_LEN(names) ? names[i] : longest);
}
