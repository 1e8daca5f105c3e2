/* What is asked of a cluster, where it answers oddly. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/doctor/doctor_config.h"

#define PODS "*/kube-system/pods"
#define STATUS "*/plimsoll-controller-0:8090/proxy/status.json"

/* What may not be seen is not known, and no fault. It is told once, wherever else one may look. */
TEST(one_is_hidden) {
        static const char *const pages[] = {"*/plimsoll-controller-?:*", "*/plimsoll-extender-?:*",
                                            "*/proxy/*"};
        const struct paper_cluster *paper = *state;
        size_t bad = 0, objects = paper->object_count - 1; /* without the configuration */

        /* Without a version, the first one, there is nothing else. */
        for (size_t i = 1; i < objects + ARRAY_LEN(pages); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                _cleanup_(freep) char *where = xstrdup(i < objects ? paper->objects[i].path
                                                                   : pages[i - objects]);
                const struct paper_change hidden = {where, NULL, "403"};
                paper_reset(*state);
                paper_collect_changed(*state, &hidden, 1, &facts);
                _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
                for (size_t j = 0; j < report->count; j++) {
                        const struct doctor_finding *finding = &report->findings[j];
                        if (finding->state <= DOCTOR_UNKNOWN)
                                continue;
                        print_error("without %s: %s: %s\n", where, finding->id, finding->what);
                        bad++;
                }
        }
        assert_int_equal(bad, 0);
}

/* As if the pages that cannot be read could not be had. */
static void spoil(struct doctor_facts *facts, const char *why) {
        for (size_t i = 0; i < facts->page_count; i++)
                if (!facts->pages[i].text) {
                        facts->pages[i].outcome = KUBE_UNAVAILABLE;
                        (void)error_set(&facts->pages[i].err, EIO, "%s", why);
                }
}

/* A program that runs and does not answer has a fault, also one that hangs; a page that nobody may
 * read is not known. */
TEST(silent_programs) {
        static const struct {
                const char *pages, *why;
                enum doctor_state state;
        } rows[] = {
                {"*/plimsoll-extender-*/metrics", "not finished", DOCTOR_WARNING},
                {"*/plimsoll-extender-0:*/metrics", "not finished", DOCTOR_WARNING},
                {"*/plimsoll-extender-0:*/metrics", "connection refused", DOCTOR_FAULT},
                {"*/plimsoll-controller-*/metrics", "connection refused", DOCTOR_FAULT},
                {"*/plimsoll-extender-*/metrics", NULL, DOCTOR_UNKNOWN},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct paper_change change = {rows[i].pages, NULL, "403"};
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                enum doctor_state found = DOCTOR_OK;
                paper_reset(*state);
                paper_collect_changed(*state, &change, 1, &facts);
                if (rows[i].why)
                        spoil(&facts, rows[i].why);
                _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
                for (size_t j = 0; j < report->count; j++)
                        if (strcmp(report->findings[j].id, "metrics-pages") == 0)
                                found = report->findings[j].state;
                if (found != rows[i].state)
                        fail_msg("row %zu: %d", i, (int)found);
        }
}

TEST(ceilings) {
        static const struct paper_change another = {
                PODS, "{'items': [",
                "{'items': [{'metadata': {'name': 'plimsoll-controller-0', 'labels': "
                "{'app.kubernetes.io/name': 'plimsoll-controller'}}, 'spec': {'containers': "
                "[{'name': 'controller', 'ports': [{'name': 'p', 'containerPort': 8090}], "
                "'readinessProbe': {'httpGet': {'port': 'p'}}}]}, 'status': {'phase': "
                "'Running'}}, "};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(*state);
        for (int i = 0; i < 2 * DOCTOR_MAX_PAGES; i++)
                paper_change(*state, &another);
        paper_collect_changed(*state, NULL, 0, &facts);
        assert_int_equal(facts.page_count, DOCTOR_MAX_PAGES);
        assert_non_null(facts.pages[DOCTOR_MAX_PAGES - 1].text);
}

TEST(config_file) {
        static const struct {
                const char *content; /* NULL: there is no such file */
                int r;
                const char *why;
        } rows[] = {
                {"kind: KubeSchedulerConfiguration", 0, ""},
                {"kind: &a KubeSchedulerConfiguration\nb: *a", 0, ""},
                {"kind: Pod", -EINVAL, "no KubeSchedulerConfiguration"},
                {"kind: {", -EINVAL, "line "},
                {NULL, -ENOENT, ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(tree_freep) struct tree *tree = NULL;
                char path[] = "/tmp/plimsoll-doctor-XXXXXX";
                struct error err = ERROR_NULL;
                int fd = mkstemp(path);
                assert_true(fd >= 0);
                if (rows[i].content)
                        assert_true(dprintf(fd, "%s\n", rows[i].content) > 0);
                else
                        assert_int_equal(unlink(path), 0);
                assert_int_equal(close(fd), 0);
                assert_int_equal(doctor_config_load(path, &tree, &err), rows[i].r);
                if (rows[i].r < 0)
                        assert_true(strstr(err.msg, path) && strstr(err.msg, rows[i].why));
                (void)unlink(path);
        }
}

/* What is in force without an object is what a controller says. */
TEST(policy_without_object) {
        static const struct paper_change gone = {"*/dynamicschedulerpolicies/default", NULL, NULL};
        static const struct {
                struct paper_change change;
                size_t metric_count; /* 0: of the built-in policy */
        } rows[] = {
                {{STATUS, "'metrics'",
                  "'text': 'apiVersion: scheduler.policy.crane.io/v1alpha1\\nkind: "
                  "DynamicSchedulerPolicy\\nspec: {syncPolicy: [{name: cpu_usage_avg_5m, period: "
                  "3m}]}', "
                  "'metrics'"},
                 1},
                {{STATUS, NULL, "{'policy': {'text': 7}}"}, 0},
                {{STATUS, NULL, "{'policy': {'text': 'spec: 7'}}"}, 0},
                {{PODS, NULL, "403"}, 0},
        };
        _cleanup_(policy_freep) struct policy *built_in = policy_default();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_reset(*state);
                paper_change(*state, &gone);
                paper_collect_changed(*state, &rows[i].change, 1, &facts);
                assert_int_equal(facts.policy->metric_count, rows[i].metric_count
                                                                     ? rows[i].metric_count
                                                                     : built_in->metric_count);
        }
}

TEST_GROUP(paper_set_up, paper_tear_down)
