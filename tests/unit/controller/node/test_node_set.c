/* Nodes as the API server may send them, and as it should not. */
#include "tests/unit/fixture/policy.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/json.h"
#include "controller/node/node_set.h"
#include "tests/unit/fixture/rows.h"

struct seen {
        int added, moved, removed, annotated;
        size_t annotation_count;
};

static void on_added(void *userdata, struct node *node) {
        ((struct seen *)userdata)->added++;
        assert_null(node->userdata);
}

static void on_moved(void *userdata, struct node *node) {
        ((struct seen *)userdata)->moved++;
}

static void on_seen(void *userdata, struct node *node, const json_t *object) {
        struct seen *seen = userdata;

        seen->annotated++;
        seen->annotation_count = json_object_size(json_at(object, "metadata", "annotations", NULL));
}

static void on_removed(void *userdata, struct node *node) {
        ((struct seen *)userdata)->removed++;
}

static struct node_set *new_set(struct seen *seen, const char *types) {
        struct node_set_options options;
        struct error err = ERROR_NULL;

        *seen = (struct seen){0};
        assert_int_equal(node_set_address_types(types, &options, &err), 0);
        return node_set_new(&options, &(struct node_set_events){
                                              .on_added = on_added,
                                              .on_moved = on_moved,
                                              .on_seen = on_seen,
                                              .on_removed = on_removed,
                                              .userdata = seen,
                                      });
}

static void apply(struct node_set *set, enum reflector_event event, const char *text) {
        json_auto_t *object = json_loads(text, 0, NULL);

        assert_non_null(object);
        node_set_apply(set, event, object);
}

#define LABELLED(labels) "{\"metadata\":{\"name\":\"n\",\"labels\":{" labels "}}}"

/* A node's pool follows its labels and the policy. */
TEST(pools) {
        _cleanup_(policy_freep) struct policy *policy = policy_of(
                "  pools: [{nodeSelector: {a: b}}, {nodeSelector: {c: d}}]\n");
        _cleanup_(policy_freep) struct policy *other = policy_of(
                "  pools: [{nodeSelector: {x: z}}, {nodeSelector: {c: e}}, {nodeSelector: {c: "
                "d}}]\n");
        struct seen seen;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        apply(set, REFLECTOR_PRESENT, LABELLED("\"x\":\"y\",\"c\":\"d\""));
        const struct node *node = set->slots[0];
        assert_int_equal(node->pool, 0);
        node_set_set_policy(set, policy);
        assert_int_equal(node->pool, 2);
        node_set_set_policy(set, other);
        assert_int_equal(node->pool, 3);
        apply(set, REFLECTOR_PRESENT, LABELLED("\"x\":\"z\",\"c\":\"d\""));
        assert_int_equal(node->pool, 1);
        apply(set, REFLECTOR_PRESENT, LABELLED(""));
        assert_int_equal(node->pool, 0);
}

static bool has_fact(const struct node *node, char *fact) {
        const struct node_kubelet *kubelet = &node->kubelet;
        const struct {
                const char *name, *text;
                double number;
        } rows[] = {
                {"address", node->address ? node->address : "-"},
                {"second", node->second_address ? node->second_address : "-"},
                {"path", kubelet->path ? kubelet->path : "-"},
                {"cpu", NULL, node->allocatable_cpu_cores},
                {"memory", NULL, node->allocatable_memory_bytes},
                {"port", NULL, kubelet->port},
                {"swap", NULL, kubelet->capacity.swap_bytes},
                {"capacity-cpu", NULL, kubelet->capacity.cpu_cores},
                {"capacity-memory", NULL, kubelet->capacity.memory_bytes},
        };
        const char *name = strsep(&fact, "=");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (strcmp(rows[i].name, name) == 0)
                        return rows[i].text ? strcmp(rows[i].text, fact) == 0
                                            : rows[i].number == strtod(fact, NULL);
        return false;
}

/* One node throughout: what it no longer says is no longer known. */
TEST(table) {
        struct seen seen;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen,
                                                                 "InternalIP,ExternalIP,Hostname");

        for (struct rows rows = rows_open("nodes.tsv"); rows_next(&rows);) {
                char *rest = rows.cells[0], *fact;
                apply(set, REFLECTOR_PRESENT, rows.cells[1]);
                const struct node *node = node_set_get(set, "a-1");
                while ((fact = strsep(&rest, " ")))
                        if (!has_fact(node, fact))
                                fail_msg("%s: not this %s", rows.place, fact);
        }
        assert_int_equal(seen.added, 1);
}

/* One byte more than a name or a path may have. */
TEST(lengths) {
        struct seen seen;
        char name[254 + 1] = {0}, path[NODE_KUBELET_MAX_PATH + 1 + 1] = "/", text[2048];
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "Hostname");

        memset(name, 'h', sizeof(name) - 1);
        memset(path + 1, 'p', sizeof(path) - 2);
        for (int is_long = 1; is_long >= 0; is_long--) {
                snprintf(text, sizeof(text),
                         "{\"metadata\":{\"name\":\"a\",\"annotations\":{"
                         "\"metrics.k8s.io/resource-metrics-path\":\"%s\"}},\"status\":{"
                         "\"addresses\":[{\"type\":\"Hostname\",\"address\":\"%s\"}]}}",
                         path, name);
                apply(set, REFLECTOR_PRESENT, text);
                const struct node *node = node_set_get(set, "a");
                assert_int_equal(!node->address, is_long);
                assert_int_equal(!node->kubelet.path, is_long);
                name[sizeof(name) - 2] = path[sizeof(path) - 2] = '\0';
        }
}

/* Labels are not kept where nobody shows them. */
#define NODE(name, address)                                                                        \
        "{\"metadata\":{\"name\":\"" name "\"},\"status\":{\"addresses\":["                        \
        "{\"type\":\"InternalIP\",\"address\":\"" address "\"}]}}"

#define AT_KUBELET(name, annotations, endpoints)                                                   \
        "{\"metadata\":{\"name\":\"" name "\",\"annotations\":" annotations                        \
        "},\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.2\"}],"        \
        "\"daemonEndpoints\":" endpoints "}}"

TEST(life) {
        struct seen seen;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        apply(set, REFLECTOR_PRESENT, NODE("a", "10.0.0.1"));
        apply(set, REFLECTOR_PRESENT, NODE("b", "10.0.0.2"));
        apply(set, REFLECTOR_PRESENT, NODE("a", "10.0.0.1"));
        assert_int_equal(seen.added, 2);
        assert_int_equal(seen.moved, 0);
        assert_int_equal(seen.annotated, 3);
        apply(set, REFLECTOR_PRESENT, NODE("a", "10.0.0.9"));
        assert_int_equal(seen.moved, 1);
        apply(set, REFLECTOR_PRESENT,
              NODE("a", "10.0.0.9\"},{\"type\":\"InternalIP\",\"address\":\"fd00::9"));
        assert_int_equal(seen.moved, 2);
        apply(set, REFLECTOR_PRESENT, AT_KUBELET("b", "{}", "{\"kubeletEndpoint\":{\"Port\":1}}"));
        assert_int_equal(seen.moved, 3);
        for (int i = 0; i < 2; i++) {
                apply(set, REFLECTOR_PRESENT,
                      AT_KUBELET("b", "{\"metrics.k8s.io/resource-metrics-path\":\"/x\"}",
                                 "{\"kubeletEndpoint\":{\"Port\":1}}"));
                assert_int_equal(seen.moved, 4);
        }
        apply(set, REFLECTOR_DELETED, "{\"metadata\":{\"name\":\"a\"}}");
        apply(set, REFLECTOR_PRESENT, NODE("a", "10.0.0.9"));
        assert_int_equal(seen.removed, 1);
        assert_int_equal(seen.added, 3);
        assert_int_equal(node_set_count(set), 2);
        assert_int_equal(set->slot_count, 2); /* the slot is taken again */
        apply(set, REFLECTOR_DELETED, "{\"metadata\":{\"name\":\"b\"}}");
        apply(set, REFLECTOR_DELETED, "{\"metadata\":{\"name\":\"b\"}}");
        assert_int_equal(seen.removed, 2);
        assert_null(set->slots[1]);
        assert_null(node_set_get(set, "b"));
        set->slots[0]->pool = 7; /* of another policy */
        node_set_set_policy(set, &(struct policy){0});
        assert_int_equal(set->slots[0]->pool, 0);
}

/* What a node has had before it keeps, also if its two addresses change places. */
TEST(who_had_an_address_first) {
#define TWO(name, address, second)                                                                 \
        NODE(name, address "\"},{\"type\":\"InternalIP\",\"address\":\"" second)
        static const struct {
                const char *object, *name;
                uint64_t address_order, second_address_order;
        } rows[] = {
                {NODE("a", "10.0.0.1"), "a", 1, 0},
                {TWO("b", "10.0.0.2", "fd00::2"), "b", 2, 3},
                {TWO("a", "10.0.0.1", "10.0.0.2"), "a", 1, 4},
                {TWO("b", "fd00::2", "10.0.0.2"), "b", 3, 2},
                {TWO("a", "10.0.0.2", "fd00::2"), "a", 4, 5},
                {NODE("b", "10.0.0.2"), "b", 2, 0},
                {NODE("a", "10.0.0.1"), "a", 6, 0},
        };
        struct seen seen;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                apply(set, REFLECTOR_PRESENT, rows[i].object);
                const struct node *node = node_set_get(set, rows[i].name);
                if (node->address_order != rows[i].address_order ||
                    node->second_address_order != rows[i].second_address_order)
                        fail_msg("row %zu: %d, %d", i, (int)node->address_order,
                                 (int)node->second_address_order);
        }
}

TEST(odd_objects) {
        static const char *const rows[] = {
                "{}",
                "[]",
                "{\"metadata\":null}",
                "{\"metadata\":[]}",
                "{\"metadata\":{\"name\":7}}",
                "{\"metadata\":{\"name\":\"\"}}",
        };
        struct seen seen;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                apply(set, REFLECTOR_PRESENT, rows[i]);
                apply(set, REFLECTOR_DELETED, rows[i]);
        }
        assert_int_equal(seen.added, 0);
        apply(set, REFLECTOR_PRESENT,
              "{\"metadata\":{\"name\":\"a\",\"uid\":7,\"annotations\":[1]}}");
        assert_int_equal(seen.added, 1);
        assert_int_equal(seen.annotation_count, 0);
        apply(set, REFLECTOR_PRESENT,
              "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"1\"}}}");
        assert_int_equal(seen.annotation_count, 1);
        assert_null(node_set_get(set, "a")->uid);
        apply(set, REFLECTOR_PRESENT, "{\"metadata\":{\"name\":\"b\",\"uid\":\"0-1\"}}");
        assert_string_equal(node_set_get(set, "b")->uid, "0-1");
        for (int len = NODE_MAX_UID; len <= NODE_MAX_UID + 1; len++) {
                _cleanup_(freep) char *object = xasprintf(
                        "{\"metadata\":{\"name\":\"c%d\",\"uid\":\"%0*d\"}}", len, len, 0);
                _cleanup_(freep) char *name = xasprintf("c%d", len);
                apply(set, REFLECTOR_PRESENT, object);
                assert_int_equal(node_set_get(set, name)->uid != NULL, len == NODE_MAX_UID);
        }
}

TEST(address_types) {
        static const char *const bad[] = {
                "",
                ",",
                "InternalIP,",
                "internalip",
                "InternalIP,InternalIP",
                "InternalIP Hostname",
        };
        struct node_set_options options = {.address_type_count = 77};
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_int_equal(node_set_address_types(bad[i], &options, &err), -EINVAL);
        assert_int_equal(options.address_type_count, 77); /* not clobbered */
        assert_int_equal(
                node_set_address_types("Hostname,InternalIP,ExternalIP,InternalDNS,ExternalDNS",
                                       &options, &err),
                0);
        assert_int_equal(options.address_type_count, 5);
        assert_string_equal(options.address_types[0], "Hostname");
}

TEST(targets) {
        struct seen seen;
        struct error err = ERROR_NULL;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        assert_int_equal(node_set_add_target(set, "web-1=http://127.0.0.1:9100/metrics", &err), 0);
        assert_string_equal(node_set_get(set, "web-1")->url, "http://127.0.0.1:9100/metrics");
        assert_int_equal(node_set_add_target(set, "http://10.0.0.7:9100/metrics?x=y", &err), 0);
        assert_string_equal(node_set_get(set, "10.0.0.7:9100")->url,
                            "http://10.0.0.7:9100/metrics?x=y");
        assert_int_equal(node_set_add_target(set, "https://h", &err), 0);
        assert_string_equal(node_set_get(set, "h")->url, "https://h");
        static const char *const bad[] = {
                "",
                "web-1",
                "web-2=",
                "=http://h/",
                "x=h:1",
                "x=http:///path",
                "x=ftp://h/",
                "http://",
                "x=http://a b/",
                "web-1=http://127.0.0.1:1/", /* there already */
                "x=http://user:hunter2@h/",
                "http://user:hunter2@h/?a=b",
                "user:hunter2@h",
        };
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                assert_int_equal(node_set_add_target(set, bad[i], &err), -EINVAL);
                assert_null(strstr(err.msg, "hunter2"));
        }
        assert_int_equal(node_set_count(set), 3);
}
