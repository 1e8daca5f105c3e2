/* Where a pod's pages are. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "codec/json.h"

/* With ' in place of "; owned by the caller. */
static json_t *pod_of(const char *program, const char *spec) {
        _cleanup_(freep) char *text = xasprintf(
                "{'metadata': {'name': 'a b', 'labels': {'app.kubernetes.io/name': '%s'}}, "
                "'spec': %s, 'status': {'phase': 'Running'}}",
                program, spec);
        json_t *json = NULL;

        for (char *at = text; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        assert_int_equal(json_parse(text, strlen(text), &json, NULL), 0);
        return json;
}

#define PORTS "'ports': [{'name': 'm', 'containerPort': 1}, {'name': 'e', 'containerPort': 2}]"

TEST(paths) {
        static const struct {
                const char *spec, *program, *path;
        } rows[] = {
                {"{}", PROGRAM_CONTROLLER, "a%20b:8090/proxy/p"},
                {"7", PROGRAM_EXTENDER, "a%20b:8010/proxy/p"},
                {"{'containers': [{" PORTS "}]}", PROGRAM_EXTENDER, "a%20b:1/proxy/p"},
                {"{'containers': [{" PORTS ", 'readinessProbe': {'httpGet': {'port': 'e'}}}]}",
                 PROGRAM_EXTENDER, "a%20b:2/proxy/p"},
                {"{'containers': [{" PORTS ", 'readinessProbe': {'httpGet': {'port': 3, "
                 "'scheme': 'HTTPS'}}}]}",
                 PROGRAM_EXTENDER, "https:a%20b:3/proxy/p"},
                {"{'containers': [{" PORTS ", 'readinessProbe': {'httpGet': {'port': 'none'}}}]}",
                 PROGRAM_EXTENDER, "a%20b:8010/proxy/p"},
                /* Next to a sidecar. */
                {"{'containers': [{'name': 'mesh', 'ports': [{'containerPort': 9}]}, "
                 "{'name': 'controller', " PORTS "}]}",
                 PROGRAM_CONTROLLER, "a%20b:1/proxy/p"},
                {"{'containers': [{'name': 'mesh', 'ports': [{'containerPort': 9}]}, "
                 "{'name': 'extender', " PORTS "}]}",
                 PROGRAM_CONTROLLER, "a%20b:9/proxy/p"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *pod = pod_of(rows[i].program, rows[i].spec);
                _cleanup_(freep) char *path = cluster_page_path("n", pod, rows[i].program, "p");
                _cleanup_(freep) char *expected = xasprintf("/api/v1/namespaces/n/pods/%s",
                                                            rows[i].path);
                assert_string_equal(path, expected);
        }
}

/* A second scheduler has an extender in its pod. */
TEST(sidecar) {
        json_auto_t *pod = pod_of("plimsoll-scheduler",
                                  "{'containers': [{'name': 'kube-scheduler', " PORTS "}, "
                                  "{'name': 'extender', 'ports': [{'containerPort': 8011}]}]}");
        json_auto_t *other = pod_of("plimsoll-scheduler", "{'containers': [{" PORTS "}]}");
        _cleanup_(freep) char *path = cluster_page_path("n", pod, PROGRAM_EXTENDER, "p");

        assert_string_equal(path, "/api/v1/namespaces/n/pods/a%20b:8011/proxy/p");
        assert_null(cluster_page_path("n", pod, PROGRAM_CONTROLLER, "p"));
        assert_null(cluster_page_path("n", other, PROGRAM_EXTENDER, "p"));
}

TEST(pod_that_does_not_run_the_program) {
        json_auto_t *pod = pod_of(PROGRAM_EXTENDER, "{}"), *nameless = json_deep_copy(pod);

        assert_null(cluster_page_path("n", pod, PROGRAM_CONTROLLER, "p"));
        json_object_set_new(json_object_get(pod, "status"), "phase", json_string("Pending"));
        assert_null(cluster_page_path("n", pod, PROGRAM_EXTENDER, "p"));
        json_object_del(json_object_get(nameless, "metadata"), "name");
        assert_null(cluster_page_path("n", nameless, PROGRAM_EXTENDER, "p"));
}
