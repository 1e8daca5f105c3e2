/* Nodes as the API server may send them, and as it should not. */
#include "tests/unit/fixture/policy.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/json.h"
#include "controller/node/node_set.h"
#include "kube/kube_path.h"

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
        options.keeps_labels = true;
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

/* A node's pool follows its labels, all of them. */
TEST(pools) {
        _cleanup_(policy_freep) struct policy *policy = policy_of(
                "  pools: [{nodeSelector: {a: b}}, {nodeSelector: {c: d}}]\n");
        _cleanup_(policy_freep) struct policy *other = policy_of("  pools: []\n");
        struct seen seen;
        struct node_set *set = new_set(&seen, "InternalIP");
        char longer[NODE_SET_MAX_LABELS_BYTES * 2];

        assert_true(node_set_set_policy(set, policy));
        snprintf(longer, sizeof(longer),
                 "{\"metadata\":{\"name\":\"n\",\"labels\":{\"x\":\"%0*d\",\"c\":\"d\"}}}",
                 NODE_SET_MAX_LABELS_BYTES, 0);
        apply(set, REFLECTOR_PRESENT, longer);
        const struct node *node = set->slots[0];
        assert_int_equal(node->pool, 2);
        apply(set, REFLECTOR_PRESENT,
              "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\",\"c\":\"d\"}}}");
        assert_int_equal(node->pool, 1);
        assert_true(node_set_set_policy(set, other));
        assert_int_equal(node->pool, 0);
        node_set_free(set);
}

TEST(addresses) {
        static const struct {
                const char *status;
                const char *expected, *second;
        } rows[] = {
                {"{\"addresses\":[{\"type\":\"Hostname\",\"address\":\"h\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"}]}",
                 "10.0.0.7"},
                {"{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"fd00::7\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"}]}",
                 "fd00::7", /* dual stack: the first is the primary one */
                 "10.0.0.7"},
                {"{\"addresses\":[{\"type\":\"ExternalIP\",\"address\":\"192.0.2.1\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"no.ip\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"10.0.0.8\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"10.0.0.9\"}]}",
                 "10.0.0.7", "10.0.0.8"},
                {"{\"addresses\":[{\"type\":\"Hostname\",\"address\":\"node-a.example\"}]}",
                 "node-a.example"},
                {"{\"addresses\":[{\"type\":\"ExternalDNS\",\"address\":\"x\"}]}", NULL},
                {"{\"addresses\":[{\"type\":\"Hostname\",\"address\":\"\"}]}", NULL},
                {"{\"addresses\":[{\"type\":\"InternalIP\",\"address\":7}]}", NULL},
                {"{\"addresses\":[]}", NULL},
                {"{\"addresses\":{\"type\":\"InternalIP\"}}", NULL},
                {"{\"addresses\":[null,1,\"x\",[],{\"type\":1,\"address\":[]}]}", NULL},
                {"{}", NULL},
                {"[]", NULL},
                {"null", NULL},
                {"\"InternalIP\"", NULL},
                {"{\"addresses\":[{\"type\":\"ExternalIP\",\"address\":\"192.0.2.1\"}]}",
                 "192.0.2.1"},
                {"{\"addresses\":[{\"type\":\"ExternalIP\",\"address\":\"no.ip\"}]}", NULL},
                /* an address that would become another URL */
                {"{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"evil/x?\"}]}", NULL},
                {"{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"fe80::1%eth0\"}]}", NULL},
                {"{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"\"}]}", NULL},
                {"{\"addresses\":[{\"type\":\"Hostname\",\"address\":\"user@host\"}]}", NULL},
                {"{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"no.ip\"},"
                 "{\"type\":\"InternalIP\",\"address\":\"10.1.1.1\"}]}",
                 "10.1.1.1"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct seen seen;
                char text[512];
                _cleanup_(node_set_freep) struct node_set *set = new_set(
                        &seen, "InternalIP,ExternalIP,Hostname");
                snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"a\"},\"status\":%s}",
                         rows[i].status);
                apply(set, REFLECTOR_PRESENT, text);
                const struct node *node = node_set_get(set, "a");
                assert_non_null(node);
                if (!rows[i].expected)
                        assert_null(node->address);
                else
                        assert_string_equal(node->address, rows[i].expected);
                assert_string_equal(node->second_address ? node->second_address : "",
                                    rows[i].second ? rows[i].second : "");
        }
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
TEST(no_labels) {
        struct seen seen = {0};
        const struct node_set_options options = {.address_types = {"InternalIP"},
                                                 .address_type_count = 1};
        struct node_set *set = node_set_new(&options, &(struct node_set_events){
                                                              .on_added = on_added,
                                                              .on_seen = on_seen,
                                                              .on_removed = on_removed,
                                                              .userdata = &seen,
                                                      });
        static const char node[] = "{\"metadata\":{\"name\":\"n\",\"labels\":{\"c\":\"d\"}}}";

        apply(set, REFLECTOR_PRESENT, node);
        assert_null(node_set_get(set, "n")->labels_json);
        node_set_free(set);
}

#define NODE(name, address)                                                                        \
        "{\"metadata\":{\"name\":\"" name "\"},\"status\":{\"addresses\":["                        \
        "{\"type\":\"InternalIP\",\"address\":\"" address "\"}]}}"

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
}

TEST(allocatable) {
        static const struct {
                const char *status;
                double cpu_cores, memory_bytes;
        } rows[] = {
                {"{\"allocatable\":{\"cpu\":\"3920m\",\"memory\":\"32931948Ki\"}}", 3.92,
                 32931948.0 * 1024},
                {"{\"allocatable\":{\"cpu\":\"8\"},\"capacity\":{\"memory\":\"1Gi\"}}", 8, 0},
                /* nothing to divide by */
                {"{\"allocatable\":{\"cpu\":\"0\",\"memory\":\"-1Gi\"}}", 0, 0},
                {"{\"allocatable\":{\"cpu\":8,\"memory\":\"lots\"}}", 0, 0},
                {"{\"allocatable\":[]}", 0, 0},
                {"{}", 0, 0},
                {"null", 0, 0},
        };
        struct seen seen;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        /* One node throughout: what it no longer says is no longer known. */
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[512];
                snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"a\"},\"status\":%s}",
                         rows[i].status);
                apply(set, REFLECTOR_PRESENT, text);
                const struct node *node = node_set_get(set, "a");
                if (node->allocatable_cpu_cores != rows[i].cpu_cores ||
                    node->allocatable_memory_bytes != rows[i].memory_bytes)
                        fail_msg("row %zu gave %g, %g", i, node->allocatable_cpu_cores,
                                 node->allocatable_memory_bytes);
        }
        assert_int_equal(seen.added, 1);
        assert_int_equal(seen.moved, 0);
}

/* Where the kubelet is, and the capacity that its page has not. */
TEST(kubelet) {
        static const struct {
                const char *annotations, *status;
                int moved; /* so far */
                uint16_t port;
                const char *path;
                double swap_bytes;
        } rows[] = {
                {"{}",
                 "{\"capacity\":{\"cpu\":\"8\",\"memory\":\"32Gi\"},"
                 "\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":10247}},"
                 "\"nodeInfo\":{\"swap\":{\"capacity\":4096}}}",
                 0, 10247, NULL, 4096},
                {"{}", "{}", 1, KUBE_PORT_KUBELET, NULL, 0},
                {"{\"metrics.k8s.io/resource-metrics-path\":\"/metrics/nodes/a/x\"}", "{}", 2,
                 KUBE_PORT_KUBELET, "/metrics/nodes/a/x", 0},
                {"{\"metrics.k8s.io/resource-metrics-path\":\"/metrics/nodes/a/x\"}", "null", 2,
                 KUBE_PORT_KUBELET, "/metrics/nodes/a/x", 0},
                /* what no URL may have, and what is no port */
                {"{\"metrics.k8s.io/resource-metrics-path\":\"@host/\"}",
                 "{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":65536}}}", 3,
                 KUBE_PORT_KUBELET, NULL, 0},
                {"{\"metrics.k8s.io/resource-metrics-path\":\"/exec?command=ls\"}",
                 "{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":-1}}}", 3, KUBE_PORT_KUBELET,
                 NULL, 0},
                {"{\"metrics.k8s.io/resource-metrics-path\":\"/a b\"}",
                 "{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":\"1\"}},"
                 "\"nodeInfo\":{\"swap\":{\"capacity\":-1}}}",
                 3, KUBE_PORT_KUBELET, NULL, 0},
                {"[]", "{\"daemonEndpoints\":[],\"nodeInfo\":{\"swap\":[]},\"capacity\":1}", 3,
                 KUBE_PORT_KUBELET, NULL, 0},
        };
        struct seen seen;
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[1024];
                snprintf(text, sizeof(text),
                         "{\"metadata\":{\"name\":\"a\",\"annotations\":%s},\"status\":%s}",
                         rows[i].annotations, rows[i].status);
                apply(set, REFLECTOR_PRESENT, text);
                const struct node_kubelet *kubelet = &node_set_get(set, "a")->kubelet;
                assert_int_equal(kubelet->port, rows[i].port);
                assert_int_equal(seen.moved, rows[i].moved);
                assert_true(kubelet->capacity.swap_bytes == rows[i].swap_bytes);
                assert_true(kubelet->capacity.cpu_cores == (i == 0 ? 8 : 0));
                assert_true(kubelet->capacity.memory_bytes == (i == 0 ? 32.0 * (1 << 30) : 0));
                assert_int_equal(!kubelet->path, !rows[i].path);
                if (rows[i].path)
                        assert_string_equal(kubelet->path, rows[i].path);
        }
}

/* Labels as the page shows them; names and values may be anything. */
TEST(labels) {
        static const struct {
                const char *labels;
                const char *expected;
        } rows[] = {
                {"{\"zone\":\"a\",\"pool\":\"web\"}", "{\"zone\":\"a\",\"pool\":\"web\"}"},
                {"{\"kubernetes.io/hostname\":\"a-1\",\"zone\":\"b\"}", "{\"zone\":\"b\"}"},
                {"{\"beta.kubernetes.io/os\":\"linux\","
                 "\"failure-domain.beta.kubernetes.io/zone\":\"b\"}",
                 NULL},
                {"{\"role\":\"\"}", "{\"role\":\"\"}"},
                {"{\"x\":\"</script>\\\"\\u0007\"}", "{\"x\":\"</script>\\\"\\u0007\"}"},
                {"{\"x\":1,\"y\":null,\"z\":{}}", NULL},
                {"{}", NULL},
                {"[\"x\"]", NULL},
                {"null", NULL},
        };
        struct seen seen;
        char text[NODE_SET_MAX_LABELS_BYTES * 5];
        _cleanup_(node_set_freep) struct node_set *set = new_set(&seen, "InternalIP");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"a-1\",\"labels\":%s}}",
                         rows[i].labels);
                apply(set, REFLECTOR_PRESENT, text);
                const char *labels = node_set_get(set, "a-1")->labels_json;
                if (!rows[i].expected)
                        assert_null(labels);
                else
                        assert_string_equal(labels, rows[i].expected);
        }
        /* One that is too long is left out, and so is one that does not fit next to the others. */
        char more[NODE_SET_MAX_LABELS_BYTES - 200] = {0};
        memset(more, 'm', sizeof(more) - 1);
        snprintf(text, sizeof(text),
                 "{\"metadata\":{\"name\":\"a-1\",\"labels\":"
                 "{\"a\":\"1\",\"long\":\"%s%s\",\"b\":\"%s\",\"c\":\"%s\",\"d\":\"2\"}}}",
                 more, more, more, more);
        apply(set, REFLECTOR_PRESENT, text);
        const char *labels = node_set_get(set, "a-1")->labels_json;
        assert_true(strlen(labels) <= NODE_SET_MAX_LABELS_BYTES);
        json_auto_t *kept = json_loads(labels, 0, NULL);
        assert_non_null(kept);
        assert_int_equal(json_object_size(kept), 3);
        assert_non_null(json_object_get(kept, "d"));
        /* Wherever the end falls within the second label, it is there whole, or not at all. */
        for (int len = NODE_SET_MAX_LABELS_BYTES - 40; len < NODE_SET_MAX_LABELS_BYTES; len++) {
                snprintf(text, sizeof(text),
                         "{\"metadata\":{\"name\":\"a-1\",\"labels\":{\"a\":\"%.*s%.*s\","
                         "\"second\":\"whole\"}}}",
                         (int)sizeof(more) - 1, more, len - (int)sizeof(more), more);
                apply(set, REFLECTOR_PRESENT, text);
                labels = node_set_get(set, "a-1")->labels_json;
                json_auto_t *some = labels ? json_loads(labels, 0, NULL) : json_object();
                assert_non_null(some);
                assert_true(!labels || strlen(labels) <= NODE_SET_MAX_LABELS_BYTES);
                json_t *second = json_object_get(some, "second");
                assert_true(!second || strcmp(json_string_value(second), "whole") == 0);
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
