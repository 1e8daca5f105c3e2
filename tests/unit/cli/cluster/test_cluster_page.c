/* Where a pod's pages are. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "codec/json.h"
#include "tests/unit/fixture/apostrophes.h"
#include "tests/unit/fixture/rows.h"

static json_t *pod_of(const char *program, const char *spec) {
        _cleanup_(freep) char *text = xasprintf(
                "{'metadata': {'name': 'a b', 'labels': {'app.kubernetes.io/name': '%s'}}, "
                "'spec': %s, 'status': {'phase': 'Running'}}",
                program, spec);
        _cleanup_(freep) char *quoted = apostrophes_quoted(text);

        return json_loads(quoted, 0, NULL);
}

#define PORTS "'ports': [{'name': 'm', 'containerPort': 1}, {'name': 'e', 'containerPort': 2}]"

TEST(paths) {
        for (struct rows rows = rows_open("pod-ports.tsv"); rows_next(&rows);) {
                json_auto_t *pod = pod_of(rows.cells[1], rows.cells[0]);
                _cleanup_(freep) char *path = cluster_page_path("n", pod, rows.cells[1], "p");
                _cleanup_(freep) char *expected = xasprintf("/api/v1/namespaces/n/pods/%s",
                                                            rows.cells[2]);
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
