/* What the workload of a pod is called, by example and against a plain computation. */
#include "tests/unit/fixture/test.h"

#include "tests/unit/fixture/pod_property.h"

#define CONTAINER(cpu) "{\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}"
#define OWNER(kind, name) "{\"kind\":\"" kind "\",\"name\":\"" name "\"}"
#define CONTROLLER(kind, name) "{\"controller\":true,\"kind\":\"" kind "\",\"name\":\"" name "\"}"
#define OWNERS(list) "\"namespace\":\"shop\",\"ownerReferences\":[" list "]"
#define HASH(hash) ",\"labels\":{\"app\":\"web\",\"pod-template-hash\":\"" hash "\"}"
#define ROLLOUT(hash) ",\"labels\":{\"rollouts-pod-template-hash\":\"" hash "\"}"

TEST(workload) {
        static const struct {
                const char *metadata, *workload;
        } rows[] = {
                {"", ""},
                {OWNERS(""), ""},
                {OWNERS(OWNER("StatefulSet", "db")), "shop/StatefulSet/db"},
                {OWNERS(OWNER("DaemonSet", "agent-12345678")), "shop/DaemonSet/agent-12345678"},
                /* the controller, wherever it stands */
                {OWNERS(OWNER("Node", "n") "," CONTROLLER("StatefulSet", "db") "," CONTROLLER(
                         "StatefulSet", "db2")),
                 "shop/StatefulSet/db"},
                {OWNERS(OWNER("Foo", "a") "," OWNER("Bar", "b")), "shop/Foo/a"},
                {OWNERS("{\"kind\":\"Foo\",\"name\":\"a\",\"controller\":\"true\"}," OWNER("Bar",
                                                                                           "b")),
                 "shop/Foo/a"},
                {OWNERS("{},7,{\"kind\":\"Foo\"},{\"name\":\"x\",\"controller\":true}," OWNER("Bar",
                                                                                              "b")),
                 "shop/Bar/b"},
                {"\"ownerReferences\":[" OWNER("Foo", "a") "]", ""}, /* no namespace */
                /* ReplicaSets without their hash, wherever the label stands */
                {OWNERS(OWNER("ReplicaSet", "web-7d9c5b")) HASH("7d9c5b"), "shop/ReplicaSet/web"},
                {"\"labels\":{\"pod-template-hash\":\"7d9c5b\"}," OWNERS(
                         OWNER("ReplicaSet", "web-7d9c5b")),
                 "shop/ReplicaSet/web"},
                {OWNERS(OWNER("ReplicaSet", "web-7d9c5b")), "shop/ReplicaSet/web-7d9c5b"},
                {OWNERS(OWNER("ReplicaSet", "web-7d9c5b")) HASH("other"),
                 "shop/ReplicaSet/web-7d9c5b"},
                {OWNERS(OWNER("ReplicaSet", "web7d9c5b")) HASH("7d9c5b"),
                 "shop/ReplicaSet/web7d9c5b"},
                {OWNERS(OWNER("ReplicaSet", "-7d9c5b")) HASH("7d9c5b"), "shop/ReplicaSet/-7d9c5b"},
                {OWNERS(OWNER("ReplicaSet", "7d9c5b")) HASH("7d9c5b"), "shop/ReplicaSet/7d9c5b"},
                {OWNERS(OWNER("ReplicaSet", "web-")) HASH(""), "shop/ReplicaSet/web-"},
                {OWNERS(OWNER("StatefulSet", "web-7d9c5b")) HASH("7d9c5b"),
                 "shop/StatefulSet/web-7d9c5b"},
                /* an Argo Rollout's, whatever else the label of Deployments says */
                {OWNERS(OWNER("ReplicaSet", "web-6c5f4")) ROLLOUT("6c5f4"), "shop/ReplicaSet/web"},
                {"\"labels\":{\"pod-template-hash\":\"web\","
                 "\"rollouts-pod-template-hash\":\"6c5f4\"}," OWNERS(
                         OWNER("ReplicaSet", "web-6c5f4")),
                 "shop/ReplicaSet/web"},
                {OWNERS(OWNER("StatefulSet", "web-6c5f4")) ROLLOUT("6c5f4"),
                 "shop/StatefulSet/web-6c5f4"},
                /* Jobs without a CronJob's minutes */
                {OWNERS(OWNER("Job", "report-29384720")), "shop/Job/report"},
                {OWNERS(OWNER("Job", "report-2938472012")), "shop/Job/report"},
                {OWNERS(OWNER("Job", "report-2938472")), "shop/Job/report-2938472"},
                {OWNERS(OWNER("Job", "report29384720")), "shop/Job/report29384720"},
                {OWNERS(OWNER("Job", "report-2938472x")), "shop/Job/report-2938472x"},
                {OWNERS(OWNER("Job", "-29384720")), "shop/Job/-29384720"},
                {OWNERS(OWNER("Job", "29384720")), "shop/Job/29384720"},
                /* the last one counts */
                {OWNERS(OWNER("Foo", "a")) ",\"ownerReferences\":null", ""},
                {OWNERS(OWNER("Foo", "\xc3\xa9")), ""},
                {OWNERS(OWNER("Foo", "a\\u0062")), ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                char *text = xasprintf("{\"metadata\":{%s}}", rows[i].metadata);
                if (!pod_read(&facts, text))
                        fail_msg("row %zu is not read", i);
                if (facts.workload_len != strlen(rows[i].workload) ||
                    memcmp(facts.workload, rows[i].workload, facts.workload_len) != 0)
                        fail_msg("row %zu: '%.*s', expected '%s'", i, (int)facts.workload_len,
                                 facts.workload, rows[i].workload);
                free(text);
        }
}

/* Of runs, by what their pods request: no name lasts. */
TEST(workload_of_run) {
        static const struct {
                const char *kind, *containers, *workload;
        } rows[] = {
                {"TaskRun", CONTAINER("500m") "," CONTAINER("1"), "shop/TaskRun/1500m"},
                {"Workflow", "", "shop/Workflow/0m"},
                {"PipelineRun", CONTAINER("0.0004"), "shop/PipelineRun/0m"},
                {"EphemeralRunner", CONTAINER("1e9"), "shop/EphemeralRunner/10000000m"},
                {"Build", CONTAINER("2"), "shop/Build/2000m"},
                {"Pod", CONTAINER("2"), "shop/Pod/2000m"},
                {"TaskRuns", CONTAINER("2"), "shop/TaskRuns/x7k2p"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                char *text = xasprintf(
                        "{\"metadata\":{\"namespace\":\"shop\",\"ownerReferences\":[{"
                        "\"kind\":\"%s\",\"name\":\"x7k2p\"}]},"
                        "\"spec\":{\"containers\":[%s]}}",
                        rows[i].kind, rows[i].containers);
                assert_true(pod_read(&facts, text));
                assert_int_equal(facts.workload_len, strlen(rows[i].workload));
                assert_memory_equal(facts.workload, rows[i].workload, facts.workload_len);
                free(text);
        }
}

/* Of static pods, all nodes have the same ones, each with its node's name behind it. */
TEST(workload_of_mirror_pod) {
        static const struct {
                const char *metadata, *workload;
        } rows[] = {
                {"\"name\":\"etcd-node-1\"," OWNERS(CONTROLLER("Node", "node-1")),
                 "shop/Node/etcd"},
                {"\"name\":\"kube-proxy-node-1\",\"namespace\":\"shop\"", "shop/Node/kube-proxy"},
                {"\"name\":\"etcd-node-2\",\"namespace\":\"shop\"", "shop/Node/etcd-node-2"},
                {"\"name\":\"node-1\",\"namespace\":\"shop\"", "shop/Node/node-1"},
                {OWNERS(CONTROLLER("Node", "node-1")), ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                char *text = xasprintf("{\"metadata\":{\"annotations\":{"
                                       "\"kubernetes.io/config.mirror\":\"1\"},%s},"
                                       "\"spec\":{\"nodeName\":\"node-1\"}}",
                                       rows[i].metadata);
                assert_true(pod_read(&facts, text));
                assert_int_equal(facts.workload_len, strlen(rows[i].workload));
                assert_memory_equal(facts.workload, rows[i].workload, facts.workload_len);
                free(text);
        }
}

/* As long as Kubernetes allows, and one more. */
TEST(long_names) {
        static const int limits[] = {POD_FACTS_NAMESPACE_MAX, POD_FACTS_KIND_MAX,
                                     POD_FACTS_NAME_MAX};

        for (size_t part = 0; part <= ARRAY_LEN(limits); part++) {
                int lens[ARRAY_LEN(limits)];
                struct pod_facts facts;
                for (size_t i = 0; i < ARRAY_LEN(limits); i++)
                        lens[i] = limits[i] + (i == part);
                char *text = xasprintf("{\"metadata\":{\"namespace\":\"%0*d\",\"ownerReferences\":["
                                       "{\"kind\":\"%0*d\",\"name\":\"%0*d\"}]}}",
                                       lens[0], 0, lens[1], 0, lens[2], 0);
                assert_true(pod_read(&facts, text));
                assert_int_equal(facts.workload_len,
                                 part == ARRAY_LEN(limits) ? POD_FACTS_WORKLOAD_MAX : 0);
                free(text);
        }
}
