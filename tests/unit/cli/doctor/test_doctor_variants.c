/* Installations that are sound, and not as deploy/ makes them: nothing is found in them, and a
 * fault is found as in any other. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#define CONTROLLER "*/deployments/plimsoll-controller"
#define EXTENDER "*/deployments/plimsoll-extender"
#define PODS "*/kube-system/pods"
#define LEASE "*/kube-system/leases/plimsoll-controller"
#define CONFIG "*/configmaps"

#define ARGUMENT "'--leader-elect=true'"
#define SOURCES "node-exporter,kubelet"
#define HELD                                                                                       \
        "{'spec': {'holderIdentity': 'plimsoll-controller-1', 'leaseDurationSeconds': 15, "        \
        "'renewTime': '2026-03-01T11:59:55.000000Z'}}"
#define MAPPED "'items': [{'metadata': {'name': 'load'}, 'data': "
#define PROMETHEUS                                                                                 \
        "prometheus'}, {'name': 'PLIMSOLL_PROMETHEUS_ADDRESS', 'value': 'http://10.0.0.9:9090"
#define MESH                                                                                       \
        "'containers': [{'name': 'mesh', 'image': 'a.example/mesh:1', 'command': ['/mesh'], "      \
        "'args': ['--leader-elect-resource-name', 'mesh', '--metrics-source=kubelet'], "           \
        "'ports': [{'containerPort': 15000}]}, {"
#define MESH_RESTARTED                                                                             \
        "'containerStatuses': [{'name': 'mesh', 'restartCount': 9, 'lastState': "                  \
        "{'terminated': {'reason': 'Error', 'finishedAt': '2026-03-01T11:55:00Z'}}}, {"
#define RESTARTED(count, at)                                                                       \
        "'restartCount': " count                                                                   \
        ", 'lastState': {'terminated': {'reason': 'OOMKilled', 'finishedAt': '" at "'}}"
#define UNRELATED                                                                                  \
        "'items': [{'metadata': {'name': 'another'}, 'data': {'a': "                               \
        "'kind: KubeSchedulerConfiguration\\nextenders:\\n- urlPrefix: http://gpu:80\\n'}}"

enum { VARIANT_CHANGES = 5 };

static const struct variant {
        const char *name;
        struct paper_change changes[VARIANT_CHANGES];
        struct paper_fault fault; /* of what differs; denied is what is not needed */
} variants[] = {
        {"a Lease of another name",
         {{LEASE, NULL, NULL},
          {"*/leases/load", NULL, HELD},
          {CONTROLLER, ARGUMENT, "'--leader-elect-resource-name=load'"}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{"*/leases/load", NULL, NULL}},
          .denied = {"leases", "\"name\":\"plimsoll-controller\""}}},
        {"a Lease of another name, in two words",
         {{LEASE, NULL, NULL},
          {"*/leases/load", NULL, HELD},
          {CONTROLLER, ARGUMENT, "'--leader-elect-resource-name', 'load'"}},
         {"leader", DOCTOR_FAULT, "nobody holds",
          .changes = {{"*/leases/load", NULL, "{'spec': {}}"}}}},
        {"a Lease of another namespace",
         {{LEASE, NULL, NULL},
          {"*/locks/leases/*", NULL, HELD},
          {CONTROLLER, SOURCES "'",
           SOURCES "'}, {'name': 'PLIMSOLL_LEADER_ELECT_RESOURCE_NAMESPACE', 'value': 'locks'"}},
         {"leader", DOCTOR_FAULT, "renewed it last",
          .changes = {{"*/locks/leases/*", "11:59", "11:49"}},
          .denied = {"leases", "\"namespace\":\"kube-system\""}}},
        {"no leader election",
         {{LEASE, NULL, NULL}, {CONTROLLER, ARGUMENT, "'--leader-elect=F'"}},
         {"node-guard", DOCTOR_WARNING, "plimsoll-controller-nodes",
          .changes = {{"*/plimsoll-controller-nodes", NULL, NULL}},
          .denied = {"plimsoll-controller", "leases"}}},
        {"no Events",
         {{CONTROLLER, ARGUMENT, "'--events=false'"}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{LEASE, NULL, NULL}},
          .denied = {"plimsoll-controller", "\"events\""}}},
        {"policies in files",
         {{"*/deployments/plimsoll-*", ARGUMENT, "'--policy-config-path=/etc/policy.yaml'"},
          {"*/dynamicschedulerpolicies/default", NULL, NULL}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{LEASE, NULL, NULL}},
          .denied = {"plimsoll-", "dynamicschedulerpolicies"}}},
        {"the pod's namespace as that of the Lease",
         {{CONTROLLER, ARGUMENT, "'--leader-elect-resource-namespace=$(POD_NAMESPACE)'"}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{LEASE, NULL, NULL}}}},
        {"variables of a ConfigMap",
         {{LEASE, NULL, NULL},
          {"*/leases/load", NULL, HELD},
          {CONFIG, "'items': [", MAPPED "{'LEADER_ELECT_RESOURCE_NAME': 'load'}}, "},
          {CONTROLLER, "'env'",
           "'envFrom': [{'prefix': 'PLIMSOLL_', 'configMapRef': {'name': 'load'}}], 'env'"}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{"*/leases/load", NULL, NULL}},
          .denied = {"leases", "\"name\":\"plimsoll-controller\""}}},
        {"a variable of a ConfigMap, in a flag",
         {{LEASE, NULL, NULL},
          {"*/leases/load", NULL, HELD},
          {CONFIG, "'items': [", MAPPED "{'lease': 'load'}}, "},
          {CONTROLLER, "'POD_NAMESPACE', 'valueFrom': {",
           "'LEASE', 'valueFrom': {'configMapKeyRef': {'name': 'load', 'key': 'lease'}}}, "
           "{'name': 'POD_NAMESPACE', 'valueFrom': {"},
          {CONTROLLER, ARGUMENT, "'--leader-elect-resource-name=$(LEASE)'"}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{"*/leases/load", NULL, NULL}},
          .denied = {"leases", "\"name\":\"plimsoll-controller\""}}},
        {"Prometheus alone",
         {{CONTROLLER, SOURCES, PROMETHEUS}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{LEASE, NULL, NULL}},
          .denied = {"plimsoll-controller", "\"metrics\""}}},
        {"the configuration of a scheduler that has nothing to do with us",
         {{CONFIG, "'items': [", UNRELATED ", "}},
         {"scheduler-ignorable", DOCTOR_FAULT, "ConfigMap scheduler: ignorable",
          .changes = {{CONFIG, "ignorable: true", ""}}}},
        {"restarts of a year ago",
         {{PODS, "'restartCount': 0", RESTARTED("12", "2025-03-01T11:00:00Z"), 1}},
         {"restarts", DOCTOR_WARNING, "plimsoll-controller-0 was restarted 12 times (OOMKilled)",
          .changes = {{PODS, "2025-03-01T11:00:00Z", "2026-03-01T11:30:00Z"}}}},
        {"crane's clock",
         {{"*/deployments/*", ARGUMENT, "'--annotation-timezone=Asia/Shanghai'"},
          {"/api/v1/nodes", "T11:59", "T19:59"}},
         {"annotations-fresh", DOCTOR_FAULT, "4 of 4 nodes",
          .changes = {{"/api/v1/nodes", "T19:59", "T11:59"}}}},
        {"a prefix of the annotations",
         {{"*/deployments/*", ARGUMENT, "'--annotation-prefix', 'load.example.com'"},
          {"/api/v1/nodes", "'cpu_", "'load.example.com/cpu_"},
          {"/api/v1/nodes", "'mem_", "'load.example.com/mem_"}},
         {"annotations-prefix", DOCTOR_FAULT, "4 of 4 nodes",
          .changes = {{EXTENDER, "'load.example.com'", "'load.example.org'"}}}},
        {"annotations in percent",
         {{EXTENDER, ARGUMENT, "'--annotation-unit=percent'"},
          {"/api/v1/nodes", "0.25000", "25.0"}},
         {"annotations-unit", DOCTOR_FAULT, "as if it were in percent",
          .changes = {{EXTENDER, "percent", "ratio"}}}},
        {"a sidecar as the first container",
         {{"*/deployments/*", "'containers': [{", MESH},
          {PODS, "'containers': [{", MESH},
          {PODS, "'containerStatuses': [{", MESH_RESTARTED}},
         {"restarts", DOCTOR_WARNING, "plimsoll-extender-0 was restarted 5 times",
          .changes = {{PODS, "'extender', 'restartCount': 0",
                       "'extender', " RESTARTED("5", "2026-03-01T11:30:00Z"), 1}}}},
        {"a sidecar, and the program by its command",
         {{"*/deployments/*", "'containers': [{", MESH},
          {CONTROLLER, "a.example:5000/plimsoll-controller:0.2.0",
           "a.example/tools', 'command': ['/sbin/tini', '--', '/usr/bin/plimsoll-controller'], "
           "'b': '"},
          {CONTROLLER, "'name': 'controller'", "'name': 'load'"},
          {EXTENDER, "a.example:5000/plimsoll-extender:0.2.0", "a.example/tools"},
          {EXTENDER, ARGUMENT, "'/usr/bin/plimsoll-extender', '--port=8010'"}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{LEASE, NULL, NULL}}}},
        {"a sidecar, and the program by its flags",
         {{CONTROLLER, "'containers': [{",
           "'containers': [{'name': 'mesh', 'args': ['--mode=a', 'plimsoll-controller']}, {"},
          {CONTROLLER,
           "'name': 'controller', 'image': 'a.example:5000/plimsoll-controller:0.2.0', ", ""},
          {CONTROLLER, ARGUMENT, "'--leader-elect-resource-name=load'"},
          {LEASE, NULL, NULL},
          {"*/leases/load", NULL, HELD}},
         {"leader", DOCTOR_FAULT, "nobody has ever", .changes = {{"*/leases/load", NULL, NULL}}}},
};

/* Of what all variants have. */
static const struct paper_fault common[] = {
        {NULL, DOCTOR_OK, NULL, .changes = {{0}}},
        {"controller-replicas", DOCTOR_FAULT, "none of 2",
         .changes = {{CONTROLLER, "'readyReplicas': 2", ""}}},
        {"annotations", DOCTOR_WARNING, "node-0",
         .changes = {{"/api/v1/nodes", "'annotations'", "'a'", 1}}},
        {"one-leader", DOCTOR_FAULT, "2 controllers",
         .changes = {{"*/plimsoll-controller-0:8090/proxy/metrics", "leader 0", "leader 1"}}},
        {"scheduler-weight", DOCTOR_WARNING, "weight is 1",
         .changes = {{CONFIG, "weight: 3", "weight: 1"}}},
};

TEST(sound_and_with_a_fault) {
        size_t bad = 0;

        for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
                const struct variant *variant = &variants[i];
                for (size_t j = 0; j <= ARRAY_LEN(common); j++) {
                        const struct paper_fault *fault = j < ARRAY_LEN(common) ? &common[j]
                                                                                : &variant->fault;
                        if (paper_is_found(*state, variant->changes, VARIANT_CHANGES, fault))
                                continue;
                        print_error("%s: %s\n", variant->name,
                                    fault->check ? fault->check : "nothing to be found");
                        bad++;
                }
        }
        assert_int_equal(bad, 0);
}

/* What cannot be read is not known, and no fault, whatever else is missing. */
TEST(hidden) {
        static const struct {
                struct paper_change change;
                const char *check, *what;
        } rows[] = {
                {{CONTROLLER, "'env'", "'envFrom': [{'secretRef': {'name': 'a'}}], 'env'"},
                 "leader",
                 "the Lease's name cannot be read"},
                {{CONTROLLER, "'env'", "'envFrom': [{'configMapRef': {'name': 'a'}}], 'env'"},
                 "leader",
                 "the Lease's name cannot be read"},
                {{CONTROLLER, ARGUMENT, "'--leader-elect-resource-namespace=$(NONE)'"},
                 "leader",
                 "the Lease's name cannot be read"},
                {{CONTROLLER, "'args'",
                  "'command': ['sh', '-c', 'exec plimsoll-controller $FLAGS'], 'args'"},
                 "leader",
                 "--leader-elect stands where it cannot be read"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct paper_change changes[] = {rows[i].change, {LEASE, NULL, NULL}};
                size_t found = 0;
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_reset(*state, PAPER_NODES);
                paper_collect_changed(*state, changes, 2, &facts);
                for (size_t j = 0; j < doctor_program_checks.count; j++) {
                        const struct doctor_check *check = &doctor_program_checks.rows[j];
                        struct doctor_finding finding;
                        doctor_check_run(check, &facts, &finding);
                        if (strcmp(check->id, rows[i].check) != 0)
                                continue;
                        found++;
                        assert_int_equal(finding.state, DOCTOR_UNKNOWN);
                        assert_non_null(strstr(finding.what, rows[i].what));
                }
                assert_int_equal(found, 1);
        }
}

/* Without knowing how annotations are read, nothing is known of them. */
TEST(hidden_style) {
        static const struct {
                const char *argument, *what;
        } rows[] = {
                {"'--annotation-timezone=$(ZONE)'",
                 "--annotation-timezone stands where it cannot be read"},
                {"'--annotation-prefix=$(A)'",
                 "--annotation-prefix stands where it cannot be read"},
                {"'--annotation-timezone=Nowhere/None'", "time zone Nowhere/None"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct paper_change changes[] = {{EXTENDER, ARGUMENT, rows[i].argument}};
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_reset(*state, PAPER_NODES);
                paper_collect_changed(*state, changes, 1, &facts);
                struct doctor_finding finding;
                doctor_check_run(&doctor_node_checks.rows[0], &facts, &finding);
                assert_int_equal(finding.state, DOCTOR_UNKNOWN);
                assert_non_null(strstr(finding.what, rows[i].what));
                assert_int_equal(facts.nodes.count, PAPER_NODES);
        }
}

/* Alone, it says nothing of ours. */
TEST(unrelated_configuration) {
        const struct paper_change changes[] = {{CONFIG, NULL, "{" UNRELATED "]}"}};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(*state, PAPER_NODES);
        paper_collect_changed(*state, changes, 1, &facts);
        for (size_t i = 0; i < doctor_scheduler_checks.count; i++) {
                struct doctor_finding finding;
                doctor_check_run(&doctor_scheduler_checks.rows[i], &facts, &finding);
                assert_true(finding.state <= DOCTOR_UNKNOWN);
        }
}

TEST_GROUP(paper_set_up, paper_tear_down)
