/* What is asked of a cluster, where it answers oddly. */
#include "tests/unit/fixture/test.h"

#include "idle_faults.h"
#include "paper_fault.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "codec/json.h"

#define PODS PAPER_SYSTEM "/pods"
#define CONFIG PAPER_SYSTEM "/configmaps"
#define STATUS "*/plimsoll-controller-0:8090/proxy/status.json"
#define NODES "/api/v1/nodes"
#define POLICY "*/dynamicschedulerpolicies/default"
#define CONTROLLER "*/deployments/plimsoll-controller"
#define EXTENDER "*/deployments/plimsoll-extender"
#define SERVICE "*/services/plimsoll-extender"
#define EXTENDERS "*/plimsoll-extender-?:8010/proxy/metrics"
#define SILENT                                                                                     \
        { EXTENDERS, PAPER_LAST_CALL, "1772107200" }
#define URL_IS(url)                                                                                \
        { CONFIG, "http://127.0.0.1:8010/v1", url }

/* Collects after the change. */
static void collect(struct paper_cluster *paper, const struct paper_change *change,
                    struct doctor_facts *ret) {
        struct error err = ERROR_NULL;

        paper_reset(paper, PAPER_NODES);
        paper_change(paper, change);
        assert_int_equal(paper_collect(paper, NULL, "", ret, &err), 0);
}

TEST(reviews) {
        static const struct {
                const char *answer, *why;
        } rows[] = {
                {"{'status': {}}", "no status.allowed"},
                {"{'status': {'allowed': 'yes'}}", "no status.allowed"},
                {"{'status': ", "line 1"},
                {"403", "403"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                collect(*state, &(struct paper_change){PAPER_REVIEWS, NULL, rows[i].answer},
                        &facts);
                for (size_t j = 0; j < DOCTOR_ACCOUNT_IDLE; j++) {
                        assert_false(facts.permissions[j].is_known);
                        assert_string_equal(facts.permissions[j].missing, "");
                        assert_non_null(strstr(facts.permissions[j].err.msg, PAPER_REVIEWS));
                        assert_non_null(strstr(facts.permissions[j].err.msg, rows[i].why));
                }
                /* Nothing is needed, so nothing is asked. */
                assert_true(facts.permissions[DOCTOR_ACCOUNT_IDLE].is_known);
        }
}

/* Of a program whose pages cannot be read nothing is known, and the reason is shown; the other
 * program's pages count. */
TEST(unread_pages) {
        static const char *const pages[] = {"*/plimsoll-controller-*/metrics",
                                            "*/plimsoll-extender-*/metrics"};

        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                size_t unknown = 0;
                collect(*state, &(struct paper_change){pages[i], NULL, "403"}, &facts);
                for (size_t j = 0; j < doctor_metric_checks.count; j++) {
                        struct doctor_finding finding;
                        doctor_check_run(&doctor_metric_checks.rows[j], &facts, &finding);
                        assert_true(finding.state <= DOCTOR_UNKNOWN);
                        unknown += finding.state == DOCTOR_UNKNOWN;
                        if (finding.state == DOCTOR_UNKNOWN)
                                assert_non_null(strstr(finding.what, "403"));
                }
                assert_int_equal(unknown, 6); /* each has five checks; and the pages' own */
        }
}

/* Sound clusters. */
static const struct {
        const char *name;
        struct paper_change changes[PAPER_CHANGES];
} sound[] = {
        {"as deploy/ makes it", {{0}}},
        {"a metric that is not in the built-in policy",
         {{POLICY, "'cpu_usage_avg_5m'", "'net_usage_avg_5m'"},
          {NODES, "'cpu_usage_avg_5m'", "'net_usage_avg_5m'"}}},
        {"a policy without limits",
         {{POLICY, "'predicate'", "'priority': [], 'p'"},
          {POLICY, "'priority': [], 'p': [{'name': 'cpu_usage_avg_5m', 'maxLimitPecent': 0.8}], ",
           ""},
          {CONFIG, "filterVerb: filter", ""}}},
        {"policies in files",
         {PAPER_SET("*/flagz", "policy-config-path=/a"), {POLICY, NULL, NULL}}},
        {"TLS", {{EXTENDER, "{'port'", "{'scheme': 'HTTPS', 'port'"}, {CONFIG, "http:", "https:"}}},
        {"a second scheduler",
         {{EXTENDER, NULL, NULL},
          {SERVICE, NULL, NULL},
          {"*/deployments/plimsoll-scheduler", NULL,
           "{'spec': {'template': {'spec': {'volumes': [{'configMap': {'name': "
           "'scheduler'}}]}}}}"}}},
        {"batch pods on a node that has no more idle CPU",
         {IDLE,
          OFFERED,
          {NODES, OFFER("4k"), "", 2},
          PODS_ARE(REQUESTING("b", IDLE_TWO, ", 'nodeName': 'node-0'", ""))}},
        {"the address of a pod",
         {{PODS, "'phase'", "'podIP': '10.244.0.7', 'phase'"},
          URL_IS("http://10.244.0.7:8010/v1"),
          SILENT,
          PODS_ARE("")}},
        {"the port of a node",
         {{NODES, "'conditions'", "'addresses': [{'address': '192.168.0.4'}], 'conditions'", 1},
          {SERVICE, "'port': 8010", "'port': 8010, 'nodePort': 30810"},
          URL_IS("http://192.168.0.4:30810/plimsoll"),
          SILENT,
          PODS_ARE("")}},
        {"a load balancer", {URL_IS("http://10.0.0.99:8010/v1")}},
};

/* What may not be seen is not known, and no fault, wherever else one may look. */
TEST(one_is_hidden) {
        static const char *const pages[] = {"*/plimsoll-controller-?:*", "*/plimsoll-extender-?:*"};
        size_t bad = 0;

        for (size_t i = 0; i < ARRAY_LEN(sound); i++)
                for (size_t j = 0; j < ARRAY_LEN(paper_objects) + ARRAY_LEN(pages); j++) {
                        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                        bool is_object = j < ARRAY_LEN(paper_objects);
                        const char *where = is_object ? paper_objects[j].path
                                                      : pages[j - ARRAY_LEN(paper_objects)];
                        paper_reset(*state, PAPER_NODES);
                        for (size_t k = 0; k < PAPER_CHANGES && sound[i].changes[k].where; k++)
                                paper_change(*state, &sound[i].changes[k]);
                        /* Without a version there is nothing else: here is the cluster as it is. */
                        if (strcmp(where, "/version") != 0)
                                paper_change(*state, &(struct paper_change){where, NULL, "403"});
                        paper_collect_changed(*state, NULL, 0, &facts);
                        bad += paper_count_wrong(&facts, sound[i].name, where);
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

/* If no replica answers, that is worse than a page that nobody may read. */
TEST(silent_programs) {
        static const struct {
                const char *pages, *why, *what;
                enum doctor_state state;
        } rows[] = {
                {"*/plimsoll-extender-*/metrics", "timed out", "no extender answers: timed",
                 DOCTOR_WARNING},
                {"*/plimsoll-extender-*/metrics", "connection refused", "no extender answers",
                 DOCTOR_FAULT},
                {"*/plimsoll-controller-*/metrics", "connection refused", "no controller answers",
                 DOCTOR_FAULT},
                {"*/plimsoll-extender-0:*/metrics", "connection refused", "connection refused",
                 DOCTOR_UNKNOWN},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                struct doctor_finding finding;
                collect(*state, &(struct paper_change){rows[i].pages, NULL, "403"}, &facts);
                spoil(&facts, rows[i].why);
                doctor_check_run(&doctor_metric_checks.rows[0], &facts, &finding);
                assert_int_equal(finding.state, rows[i].state);
                assert_non_null(strstr(finding.what, rows[i].what));
        }
}

/* Those that only answer who has a certificate. */
TEST(silent_with_mutual_tls) {
        const struct paper_change changes[] = {
                {"*/deployments/plimsoll-extender", "httpGet", "tcpSocket"},
                {"*/plimsoll-extender-*/metrics", NULL, "403"}};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
        struct doctor_finding finding;

        paper_reset(*state, PAPER_NODES);
        paper_collect_changed(*state, changes, ARRAY_LEN(changes), &facts);
        spoil(&facts, "connection refused");
        doctor_check_run(&doctor_metric_checks.rows[0], &facts, &finding);
        assert_int_equal(finding.state, DOCTOR_UNKNOWN);
}

TEST(ceilings) {
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0}, others = {0};
        _cleanup_(buf_done) struct buf list = BUF_INIT(PAPER_MAX_BYTES);

        buf_puts(&list, "{'items': [");
        for (int i = 0; i < 2 * DOCTOR_MAX_PAGES; i++)
                buf_puts(&list, PAPER_POD("controller", "0", "8090") ", ");
        buf_puts(&list, PAPER_POD("extender", "0", "8010") "]}");
        collect(*state, &(struct paper_change){PODS, NULL, list.data}, &facts);
        assert_int_equal(facts.page_count, DOCTOR_MAX_PAGES);
        assert_non_null(facts.pages[DOCTOR_MAX_PAGES - 1].text);

        buf_clear(&list);
        buf_puts(&list, PAPER_LIST "{'data': {");
        for (int i = 0; i < 2 * DOCTOR_MAX_CONFIGS; i++)
                buf_printf(&list,
                           "'%d': 'kind: KubeSchedulerConfiguration\\nextenders: [{urlPrefix: "
                           "http://plimsoll}]', ",
                           i);
        buf_puts(&list, "'last': ''}}]}");
        collect(*state, &(struct paper_change){CONFIG, NULL, list.data}, &others);
        assert_int_equal(others.config_count, DOCTOR_MAX_CONFIGS);
        assert_string_equal(others.configs[0].from, "ConfigMap ");
}

TEST(configs) {
        static const char *const others[] = {
                "7",
                "'kind: Pod'",
                "'kind: [KubeSchedulerConfiguration]'",
                "'kind: NoKubeSchedulerConfiguration'",
                "'# KubeSchedulerConfiguration\\na: b'",
                "'kind: KubeSchedulerConfiguration: {'",
        };

        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                _cleanup_(freep) char *data = xasprintf("'data': {'a': %s, ", others[i]);
                collect(*state, &(struct paper_change){CONFIG, "'data': {", data}, &facts);
                assert_int_equal(facts.config_count, 1);
                assert_string_equal(facts.configs[0].from, "ConfigMap scheduler");
        }
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
        struct paper_cluster *paper = *state;

        paper_reset(paper, PAPER_NODES);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                char path[] = "/tmp/plimsoll-doctor-XXXXXX";
                struct error err = ERROR_NULL;
                int fd = mkstemp(path);
                assert_true(fd >= 0);
                if (rows[i].content)
                        assert_true(dprintf(fd, "%s\n", rows[i].content) > 0);
                else
                        assert_int_equal(unlink(path), 0);
                assert_int_equal(close(fd), 0);
                assert_int_equal(paper_collect(paper, path, "", &facts, &err), rows[i].r);
                assert_int_equal(facts.config_count, rows[i].r == 0);
                if (rows[i].r == 0)
                        assert_string_equal(facts.configs[0].from, path);
                else
                        assert_true(strstr(err.msg, path) && strstr(err.msg, rows[i].why));
                (void)unlink(path);
        }
}

/* What is in force without an object is asked of a controller. */
TEST(policy_without_object) {
        _cleanup_(policy_freep) struct policy *policy = policy_default();
        _cleanup_(buf_done) struct buf yaml = BUF_INIT(PAPER_MAX_BYTES);
        static const struct paper_change gone = {"*/dynamicschedulerpolicies/default", NULL, NULL};
        static const char unknown[] = "the built-in policy (the programs may keep another "
                                      "one: GET /api/v1/namespaces/kube-system/pods";

        policy_print(policy, &yaml);
        json_auto_t *page = json_pack("{s:{s:s}}", "policy", "yaml", yaml.data);
        _cleanup_(freep) char *built_in = json_dumps(page, JSON_COMPACT);
        const struct {
                struct paper_change change;
                const char *from;
        } rows[] = {
                {{STATUS, NULL, built_in}, "the built-in policy"},
                /* Nothing runs that could have another. */
                {{PODS, "Running", "Pending"}, "the built-in policy"},
                {{STATUS, NULL, "{'policy': {'yaml': 'a: ['}}"}, unknown},
                {{STATUS, NULL, "{'policy': {'yaml': 7}}"}, unknown},
                {{STATUS, NULL, "403"}, unknown},
                {{PODS, NULL, "403"}, unknown},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                struct error err = ERROR_NULL;
                paper_reset(*state, PAPER_NODES);
                paper_change(*state, &gone);
                paper_change(*state, &rows[i].change);
                assert_int_equal(paper_collect(*state, NULL, "", &facts, &err), 0);
                if (strncmp(facts.policy_from, rows[i].from, strlen(rows[i].from)) != 0 ||
                    (rows[i].from != unknown && strcmp(facts.policy_from, rows[i].from) != 0))
                        fail_msg("row %zu: %s", i, facts.policy_from);
        }
}

/* A time zone that is given takes the place of the extender's, which then is not loaded. */
TEST(zone_that_is_given) {
        static const struct paper_change changes[] = {
                PAPER_SET(PAPER_EXTENDER_FLAGS, "annotation-timezone=Nowhere/None"),
                {NODES, "T11:59:30Z", "T19:59:30Z"}};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
        struct paper_cluster *paper = *state;
        struct node_table_options table = {.annotation_prefix = ""};
        const struct doctor_options options = {.namespace = "kube-system", .table = &table};
        struct error err = ERROR_NULL;

        assert_int_equal(zone_load("Asia/Shanghai", &table.zone, &err), 0);
        paper_reset(paper, PAPER_NODES);
        for (size_t i = 0; i < ARRAY_LEN(changes); i++)
                paper_change(paper, &changes[i]);
        assert_int_equal(
                doctor_facts_collect(paper->cluster, &options, PAPER_NOW_UNIX_MS, &facts, &err), 0);
        assert_true(paper_is_only(&facts, &(struct paper_fault){.check = NULL}));
}

/* What depends on a flag is not known without the page. */
TEST(hidden_flags) {
        static const struct {
                const struct doctor_checks *checks;
                const char *id, *what;
                struct paper_change changes[2];
        } rows[] = {
                {&doctor_program_checks, "kubelet-tls", "flagz: 403", {{0}}},
                {&doctor_program_checks, "idle-source", "flagz: 403", {IDLE_ANYHOW}},
                {&doctor_policy_checks, "policy-file", "flagz: 403", {{0}}},
                {&doctor_policy_checks,
                 "policy-in-force",
                 "flagz: 403",
                 {{POLICY, "'status': 'True'", "'status': 'False'"}}},
                /* Which may leave out the nodes without annotations. */
                {&doctor_node_checks,
                 "annotations",
                 "flagz: 403",
                 {{NODES, "'annotations'", "'a'", 1}}},
                {&doctor_node_checks,
                 "annotations-unit",
                 "extender-1:8010/proxy/flagz: 403",
                 {{PAPER_EXTENDER_FLAGS, NULL, "403"}, {NODES, "0.25000", "25.0"}}},
                {&doctor_node_checks,
                 "annotations-timezone",
                 "controller-1:8090/proxy/flagz: 403",
                 {{PAPER_EXTENDER_FLAGS, NULL, "403"}, {NODES, "T11:59:30Z", "T19:59:30Z"}}},
                {&doctor_scheduler_checks,
                 "scheduler-bind",
                 "extender-1:8010/proxy/flagz: 403",
                 {{PAPER_EXTENDER_FLAGS, NULL, "403"},
                  {CONFIG, "  weight", "  bindVerb: bind\\n  weight"}}},
                {&doctor_policy_checks,
                 "policy-file",
                 "no pod of the program runs in the namespace",
                 {{PODS, "Running", "Pending"}}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                struct doctor_finding finding = {0};
                paper_reset(*state, PAPER_NODES);
                paper_change(*state, &(struct paper_change){PAPER_CONTROLLER_FLAGS, NULL, "403"});
                paper_collect_changed(*state, rows[i].changes, 2, &facts);
                for (size_t j = 0; j < rows[i].checks->count; j++)
                        if (strcmp(rows[i].checks->rows[j].id, rows[i].id) == 0)
                                doctor_check_run(&rows[i].checks->rows[j], &facts, &finding);
                if (finding.state != DOCTOR_UNKNOWN || !strstr(finding.what, rows[i].what))
                        fail_msg("%s: %s", rows[i].id, finding.what);
        }
}

/* Annotations are read as the extender says, or else as the controller does, or else as by default.
 */
TEST(style) {
        static const struct {
                struct paper_change changes[3];
                enum doctor_state state; /* of the first check of nodes */
                const char *what;
        } rows[] = {
                {{{PAPER_EXTENDER_FLAGS, NULL, "403"}}, DOCTOR_OK, ""},
                {{PAPER_SET(PAPER_CONTROLLER_FLAGS, "annotation-prefix=a.example")}, DOCTOR_OK, ""},
                {{PAPER_SET(PAPER_CONTROLLER_FLAGS, "annotation-timezone=Nowhere/None"),
                  {PAPER_EXTENDER_FLAGS, NULL, "403"}},
                 DOCTOR_UNKNOWN,
                 "time zone Nowhere/None"},
                {{{"*/flagz", NULL, "403"}}, DOCTOR_OK, ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                struct doctor_finding finding;
                paper_reset(*state, PAPER_NODES);
                paper_collect_changed(*state, rows[i].changes, 3, &facts);
                doctor_check_run(&doctor_node_checks.rows[0], &facts, &finding);
                assert_int_equal(finding.state, rows[i].state);
                assert_non_null(strstr(finding.what, rows[i].what));
                assert_int_equal(facts.nodes.count, PAPER_NODES);
        }
}

/* Without a scheduler's configuration it is not known whether one asks an extender of no replicas.
 */
TEST(no_replicas) {
        static const struct paper_change changes[] = {
                {CONFIG, NULL, PAPER_LIST "]}"},
                {"*/deployments/plimsoll-extender", "eplicas': 2", "eplicas': 0"},
                {POLICY, "'extender'", "'taints': {}, 'extender'"}};
        static const char *const states[] = {"no configuration", "one that does not ask"};

        for (size_t i = 0; i < ARRAY_LEN(states); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                const struct doctor_config other = {.from = NULL};
                struct doctor_finding finding = {0};
                paper_reset(*state, PAPER_NODES);
                paper_collect_changed(*state, changes, ARRAY_LEN(changes), &facts);
                if (i == 1)
                        facts.config = &other;
                for (size_t j = 0; j < doctor_program_checks.count; j++)
                        if (strcmp(doctor_program_checks.rows[j].id, "extender-replicas") == 0)
                                doctor_check_run(&doctor_program_checks.rows[j], &facts, &finding);
                assert_int_equal(finding.state, i == 0 ? DOCTOR_UNKNOWN : DOCTOR_OK);
        }
}

static const char pod_elsewhere[] = "{'metadata': {'namespace': 'load', 'name': 'a'}}";

/* Who looks into the wrong namespace is shown the right one. */
TEST(elsewhere) {
        static const struct {
                const char *pods; /* of all namespaces that are Plimsoll's */
                const char *what, *fix;
        } rows[] = {
                {pod_elsewhere, "Plimsoll is in the namespace load, not in kube-system",
                 "kubectl plimsoll doctor --plimsoll-namespace=load"},
                {"", "no Deployment plimsoll-controller in kube-system",
                 "kubectl apply -k deploy/"},
                {"{'metadata': {'namespace': 'kube-system'}}", "no Deployment plimsoll-controller",
                 "kubectl apply -k deploy/"},
                {"{'metadata': {'namespace': 'a;b'}}", "Plimsoll is in the namespace a;b",
                 "kubectl plimsoll doctor --plimsoll-namespace=NAME"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                _cleanup_(freep) char *list = xasprintf(PAPER_LIST "%s]}", rows[i].pods);
                const struct paper_change changes[] = {{"*/deployments/plimsoll-*", NULL, NULL},
                                                       {"/api/v1/pods", NULL, list}};
                paper_reset(*state, PAPER_NODES);
                paper_collect_changed(*state, changes, ARRAY_LEN(changes), &facts);
                _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
                json_auto_t *json = doctor_report_json(report);
                for (size_t j = 0; j < 2; j++) {
                        const json_t *found = json_find_at(j == 0 ? "controller" : "extender",
                                                           json_at(json, "checks", NULL), "id",
                                                           NULL);
                        const char *what = json_string_at(found, "what", NULL);
                        const char *fix = json_string_at(found, "fix", NULL);
                        if (j == 0)
                                assert_non_null(strstr(what, rows[i].what));
                        assert_string_equal(fix, rows[i].fix);
                }
        }
}

/* What is not known for one reason is one row, which names the other checks. */
TEST(report) {
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        collect(*state, &(struct paper_change){SERVICE, NULL, "403"}, &facts);
        facts.objects[DOCTOR_GUARD].outcome = facts.objects[DOCTOR_SERVICE].outcome;
        facts.objects[DOCTOR_GUARD].err = facts.objects[DOCTOR_SERVICE].err;
        facts.objects[DOCTOR_CRD].outcome = facts.objects[DOCTOR_SERVICE].outcome;
        facts.objects[DOCTOR_CRD].err = facts.objects[DOCTOR_SERVICE].err;
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        _cleanup_(freep) char *ids = doctor_report_ids(report, DOCTOR_UNKNOWN);
        assert_string_equal(ids,
                            "extender-service, node-guard, policy-definition, policy-established");
        FILE *out = open_memstream(&text, &len);
        assert_non_null(out);
        doctor_report_print(report, false, out);
        assert_int_equal(fclose(out), 0);
        assert_non_null(
                strstr(text, "         also: node-guard, policy-definition, policy-established\n"));
        assert_non_null(strstr(text, " 4 unknown, 0 warnings, 0 errors\n"));
}

/* Keys with the programs' prefix are theirs; without it, or behind another, they are others'. */
TEST(prefix) {
        static const struct {
                const char *key;
                size_t prefixed, foreign;
        } rows[] = {
                {"load.example.com/mem_usage_avg_5m", 0, 0},
                {"mem_usage_avg_5m", 4, 0},
                {"a.example/mem_usage_avg_5m", 4, 0},
                {"load.example.com/net_usage_avg_5m", 0, 0},
                {"load.example.com/", 0, 0},
        };
        struct paper_cluster *paper = *state;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                _cleanup_(freep) char *key = xasprintf("'%s'", rows[i].key);
                struct error err = ERROR_NULL;
                paper_reset(paper, PAPER_NODES);
                paper_change(paper, &(struct paper_change){NODES, "'cpu_usage_avg_5m'", "'a'"});
                paper_change(paper, &(struct paper_change){NODES, "'mem_usage_avg_5m'", key});
                assert_int_equal(paper_collect(paper, NULL, "load.example.com/", &facts, &err), 0);
                assert_int_equal(facts.nodes.sets[DOCTOR_PREFIXED].count, rows[i].prefixed);
                assert_int_equal(facts.nodes.sets[DOCTOR_FOREIGN].count, rows[i].foreign);
        }
}

TEST_GROUP(paper_set_up, paper_tear_down)
