/* Each fault of an installation is found by its own check, and none where there is none. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#define CONTROLLER "*/deployments/plimsoll-controller"
#define EXTENDER "*/deployments/plimsoll-extender"
#define SCHEDULER "*/deployments/plimsoll-scheduler"
#define SERVICE "*/services/plimsoll-extender"
#define PODS "*/kube-system/pods"
#define GUARD "*/plimsoll-controller-nodes"
#define KIND "/apis/scheduler.policy.crane.io/v1alpha1"
#define POLICY "*/dynamicschedulerpolicies/default"
#define PAGES "*/proxy/metrics"
#define FLAGS "*/proxy/flagz"
#define CONTROLLERS "*/plimsoll-controller-?:8090/proxy/metrics"
#define CONTROLLER_0 "*/plimsoll-controller-0:8090/proxy/metrics"
#define CONTROLLER_1 "*/plimsoll-controller-1:8090/proxy/metrics"
#define EXTENDERS "*/plimsoll-extender-?:8010/proxy/metrics"
#define EXTENDER_0 "*/plimsoll-extender-0:8010/proxy/metrics"
#define STATUS "*/plimsoll-controller-0:8090/proxy/status.json"
#define STATUSES "*/plimsoll-controller-?:8090/proxy/status.json"
#define BY_FILE "policy-config-path=/etc/policy.yaml"

#define REFUSED(page, resource)                                                                    \
        { page, "resource='nodes',verb='GET'} 0", "resource='" resource "',verb='PATCH'} 1" }
#define FAILING(nodes)                                                                             \
        { STATUS, "4, 'nodesFailing': 0", "0, 'nodesFailing': " nodes }
#define FAILURE(nodes)                                                                             \
        {                                                                                          \
                STATUS, "'failures': [",                                                           \
                        "'failures': [7, {'source': 'node-exporter', 'reason': 'connect', 'see': " \
                        "'--node-address-types', 'nodes': " nodes ", 'examples': ['node-0']}"      \
        }
#define IDLE                                                                                       \
        { POLICY, "{'scoring': 'estimate'}", "{'scoring': 'estimate'}, 'idle': {}" }
#define OFFERED                                                                                    \
        { CONTROLLERS, "offered_cores 0", "offered_cores 7" }
#define SOURCES_ARE(sources)                                                                       \
        { PAPER_CONTROLLER_FLAGS, "node-exporter,kubelet", sources }
#define SILENT                                                                                     \
        { EXTENDERS, PAPER_LAST_CALL, "1772107200" }
#define NEVER                                                                                      \
        { EXTENDERS, PAPER_LAST_CALL, "0" }

#define ADMISSION "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic"
#define LISTED(at)                                                                                 \
        { "*/preferrednodes/default", NULL, "{'writtenAt': '" at "'}" }
#define ADMITTED                                                                                   \
        {"/apis/plimsoll.io/v1alpha1", NULL, "{}"}, {ADMISSION "*", NULL, "{}"}, {                 \
                "/api/v1/namespaces", "[]", "[{}]"                                                 \
        }

static const struct paper_fault faults[] = {
        {NULL, DOCTOR_OK, NULL, .changes = {{0}}},
        {"kubernetes", DOCTOR_WARNING, "1.24", .changes = {{"/version", "36+", "24"}}},
        {"kubernetes", DOCTOR_WARNING, "1.0", .changes = {{"/version", "36+", "1000"}}},
        {"kubernetes", DOCTOR_WARNING, "1.0", .changes = {{"/version", NULL, "{}"}}},
        /* ---- The programs. */
        {"controller-replicas", DOCTOR_FAULT, "no Deployment plimsoll-controller in the namespace",
         .changes = {{CONTROLLER, NULL, NULL}}},
        {"controller-replicas", DOCTOR_WARNING, "1 of 2",
         .changes = {{CONTROLLER, "Replicas': 2", "Replicas': 1"}}},
        {"controller-replicas", DOCTOR_FAULT,
         "0 of 2 replicas are ready: plimsoll-controller-0: nodes: not listed yet",
         .changes = {{CONTROLLER, "'readyReplicas': 2", ""},
                     {STATUS, "'[+] nodes: 4 nodes'",
                      "'[+] policy: a', 7, '[-] nodes: not listed yet'"}}},
        {"controller-replicas", DOCTOR_FAULT, "0 of 0",
         .changes = {{CONTROLLER, "eplicas': 2", "eplicas': 0"}}},
        {"controller-replicas", DOCTOR_WARNING, "1 of 1",
         .changes = {{CONTROLLER, "eplicas': 2", "eplicas': 1"}}},
        {"extender-replicas", DOCTOR_FAULT, "no Deployment", .changes = {{EXTENDER, NULL, NULL}}},
        /* It is next to a second scheduler. */
        {.changes = {{EXTENDER, NULL, NULL}, {SCHEDULER, NULL, "{}"}}},
        /* Idle CPU and taints need none; a scheduler that asks it does. */
        {"scheduler-registered", DOCTOR_UNKNOWN, "name kube-scheduler's configuration",
         .changes = {IDLE,
                     OFFERED,
                     SOURCES_ARE("kubelet"),
                     {EXTENDER, "eplicas': 2", "eplicas': 0"},
                     {PAPER_CONFIG, NULL, NULL}}},
        {"extender-replicas", DOCTOR_FAULT, "0 of 0",
         .changes = {{EXTENDER, "eplicas': 2", "eplicas': 0"},
                     {POLICY, "'extender'", "'taints': {}, 'extender'"}}},
        {"extender-service", DOCTOR_FAULT, "no Service", .changes = {{SERVICE, NULL, NULL}}},
        {"extender-service", DOCTOR_FAULT, "selects", .changes = {{SERVICE, "'selector'", "'s'"}}},
        {"replicas-spread", DOCTOR_WARNING, "all replicas of plimsoll-controller are on node-0",
         .changes = {{PODS, "'spec': {", "'spec': {'nodeName': 'node-0', ", 2}}},
        {.changes = {{PODS, "'spec': {", "'spec': {'nodeName': 'node-0', "},
                     {CONTROLLERS, "plimsoll_nodes 4", "plimsoll_nodes 1"}}},
        {.changes = {{PODS, "'spec': {", "'spec': {'nodeName': 'node-0', ", 1},
                     {PODS, "'spec': {'c", "'spec': {'nodeName': 'node-1', 'c", 1}}},
        {"node-guard", DOCTOR_WARNING, "plimsoll-controller-nodes",
         .changes = {{GUARD, NULL, NULL}}},
        {"versions", DOCTOR_WARNING, "1 of 4",
         .changes = {{EXTENDER_0, "version='", "version='0.0."}}},
        /* ---- The policy. */
        {"policy-object", DOCTOR_WARNING, "default: the built-in policy",
         .changes = {{POLICY, NULL, NULL}}},
        {"policy-object", DOCTOR_WARNING, "has no DynamicSchedulerPolicy: the built-in policy",
         .changes = {{KIND, NULL, NULL}, {POLICY, NULL, NULL}}},
        {"policy-object", DOCTOR_WARNING, "4 of 4 programs keep the policy of the deleted object",
         .changes = {{POLICY, NULL, NULL}, {PAGES, "deleted 0", "deleted 1"}}},
        {"policy-object", DOCTOR_FAULT, "2 of 4 programs keep",
         .changes = {{POLICY, NULL, NULL}, {EXTENDERS, "deleted 0", "deleted 1"}}},
        {"policy-file", DOCTOR_FAULT, "reads the object named default, and the extender a file",
         .changes = {PAPER_SET(PAPER_EXTENDER_FLAGS, BY_FILE)}},
        {"policy-file", DOCTOR_FAULT, "reads a file, and the extender the object",
         .changes = {PAPER_SET(PAPER_CONTROLLER_FLAGS, BY_FILE)}},
        {"policy-file", DOCTOR_WARNING, "the object has no effect",
         .changes = {PAPER_SET(FLAGS, BY_FILE), {POLICY, "'True'", "'False'"}}},
        {.changes = {PAPER_SET(FLAGS, BY_FILE), {POLICY, NULL, NULL}}},
        {"policy-in-force", DOCTOR_FAULT, "does not confirm the policy: spec.predicate",
         .changes = {{POLICY, "t': 1", "t': -1"},
                     {POLICY, "'True', 'message': 'valid'",
                      "'False', 'message': 'spec.predicate'"}}},
        {"policy-in-force", DOCTOR_FAULT, "spec.priority",
         .changes = {{POLICY, "t': 1", "t': -1"}, {POLICY, "'conditions'", "'c'"}}},
        {"policy-in-force", DOCTOR_FAULT, "its status is empty",
         .changes = {{POLICY, "'conditions'", "'c'"}}},
        {"policy-in-force", DOCTOR_WARNING, "latest change",
         .changes = {{POLICY, "generation': 3", "generation': 4"}}},
        {"policy-loaded", DOCTOR_FAULT, "plimsoll-extender-0 cannot",
         .changes = {{EXTENDER_0, "policy_failed 0", "policy_failed 1"}}},
        {"policy-warnings", DOCTOR_WARNING, "1 warning: spec.predicat",
         .changes = {{POLICY, "'predicate'", "'predicat': [], 'predicate'"}}},
        /* ---- What the controllers report. */
        {"controller-permissions", DOCTOR_FAULT, "the API server refuses PATCH nodes",
         .changes = {REFUSED(CONTROLLERS, "nodes")}},
        {"controller-permissions", DOCTOR_FAULT, "refuses PATCH nodes, PATCH nodes/status",
         .changes = {REFUSED(CONTROLLER_0, "nodes"), REFUSED(CONTROLLER_1, "nodes/status")}},
        /* A page that nobody should believe. */
        {.changes = {{CONTROLLER_0, "{resource='nodes',verb='GET'} 0", "{verb='GET'} 1"},
                     {CONTROLLER_1, "{resource='nodes',verb='GET'} 0", " 1"}}},
        /* Both replicas look at all nodes. */
        {"exporters", DOCTOR_WARNING,
         "node-exporter fails on 2 of 4 nodes, such as node-0: connect, see --node-address-types",
         .changes = {FAILING("2"), FAILURE("2")}},
        {"exporters", DOCTOR_FAULT,
         "node-exporter fails on 4 of 4 nodes, such as ?: ?, see the log; kubelet fails on 1 of 4",
         .changes = {FAILING("4"),
                     {STATUS, "0, 'nodesFailing': 0", "0, 'nodesFailing': 1"},
                     {STATUS, "'failures': [",
                      "'failures': [{'source': 'node-exporter', 'nodes': 4}, {'source': 'kubelet', "
                      "'nodes': 1}"}}},
        /* Another source stands in. */
        {"exporters", DOCTOR_WARNING, "node-exporter fails on 4 of 4 nodes",
         .changes = {FAILING("4"),
                     FAILURE("4"),
                     {STATUS, "'kubelet', 'nodesServed': 0", "'prometheus', 'nodesServed': 4"}}},
        {.changes = {FAILING("4"),
                     FAILURE("4"),
                     {STATUS, "'kubelet', 'nodesServed': 0", "'kubelet', 'nodesServed': 4"}}},
        {"leader", DOCTOR_FAULT, "2 controllers",
         .changes = {{CONTROLLERS, "leader 0", "leader 1"}}},
        {"leader", DOCTOR_FAULT, "0 controllers in kube-system",
         .changes = {{CONTROLLERS, "leader", "l"}}},
        {"metrics-written", DOCTOR_FAULT, "no node has mem_usage_avg_5m",
         .changes = {{STATUSES, "[0.25, 0.25, null]", "[0.25, null, 0.1]"}}},
        {.changes = {{STATUSES, "[0.25, 0.25, null]", "[null, null, null]"}}}, /* nothing is read */
        {.changes = {{STATUSES, "[{'name': 'node-0'", "[{}, {'name': 'node-0'"}}},
        {"pods-measured", DOCTOR_WARNING, "35 of 40 pods are measured, and 2 kubelets",
         .changes = {{CONTROLLERS, "failing 0", "failing 2"}}},
        {.changes = {{CONTROLLERS, "failing 0", "failing 2"},
                     {CONTROLLERS, "measured 35", "measured 37"}}}, /* by metrics-server */
        {.changes = {{CONTROLLERS, "plimsoll_pods", "p"}}}, /* the policy does not need it */
        /* ---- Idle CPU. */
        {.changes = {IDLE, OFFERED, SOURCES_ARE("kubelet,node-exporter")}},
        {"idle-offers", DOCTOR_WARNING, "no node offers",
         .changes = {IDLE, SOURCES_ARE("kubelet,node-exporter")}},
        {"idle-source", DOCTOR_WARNING,
         "--metrics-source=node-exporter,kubelet does not begin with kubelet",
         .changes = {IDLE, OFFERED}},
        {.changes = {IDLE, OFFERED,
                     PAPER_SET(PAPER_CONTROLLER_FLAGS,
                               "sources=/etc/a.yaml")}}, /* a file of sources */
        {"idle-pods", DOCTOR_WARNING, "2 pods request both CPU and idle CPU",
         .changes = {IDLE,
                     OFFERED,
                     SOURCES_ARE("kubelet"),
                     {CONTROLLERS, "mixed_pods 0", "mixed_pods 2"}}},
        /* ---- What the extenders report. */
        {"extender-permissions", DOCTOR_FAULT, "PATCH pods/binding",
         .changes = {REFUSED(EXTENDERS, "pods/binding")}},
        {"extender-permissions", DOCTOR_FAULT, "PATCH preferrednodes",
         .changes = {REFUSED(EXTENDERS, "preferrednodes")}},
        {"extender-called", DOCTOR_WARNING, "no scheduler has called the extender since it started",
         .changes = {NEVER}},
        /* Three days ago, and a pod a moment ago. */
        {"extender-called", DOCTOR_WARNING, "since 2026-02-26T12:00:00Z; pods were bound since",
         .changes = {SILENT}},
        /* One of the two is called. */
        {.changes = {{EXTENDER_0, PAPER_LAST_CALL, "1772107200"}}},
        /* No pod was bound since the youngest extender started, or not long after its call. */
        {.changes = {SILENT, {EXTENDER_0, "time_seconds 1772000000", "time_seconds 1772366000"}}},
        {.changes = {{EXTENDERS, PAPER_LAST_CALL, "1772365710"}}},
        {.changes = {SILENT, {EXTENDERS, "last_binding", "l"}}},
        /* Of an older extender, and of a page that nobody should believe. */
        {.changes = {{EXTENDERS, "last_call", "l"}}},
        {.changes = {{EXTENDERS, PAPER_LAST_CALL, "1e300"}}},
        {"extender-answers", DOCTOR_WARNING, "500 of 1000",
         .changes = {{EXTENDER_0, "'200'}", "'400'}"}}},
        {"extender-speed", DOCTOR_WARNING, "400 of 1000 calls took more than 100 ms",
         .changes = {{EXTENDERS, "'0.1'} 500", "'0.1'} 300"}}},
        {"annotations", DOCTOR_FAULT, "of 24 readings, the extenders can use 0; 16 have expired",
         .changes = {{EXTENDERS, "'usable'} 8", "'usable'} 0"},
                     {EXTENDERS, "'expired'} 0", "'expired'} 8"}}},
        {"annotations", DOCTOR_WARNING,
         "of 26 readings, the extenders can use 16; 0 have expired, "
         "2 cannot be read",
         .changes = {{EXTENDERS, "'malformed'} 0", "'malformed'} 1"}}},
        {"annotations-clock", DOCTOR_WARNING, "2 of 24 readings are from the future",
         .changes = {{EXTENDERS, "skewed_readings 0", "skewed_readings 1"}}},
        {"extender-table", DOCTOR_FAULT, "an extender knows 2 of 4 nodes",
         .changes = {{EXTENDER_0, "table_nodes 4", "table_nodes 2"}}},
        {"certificate", DOCTOR_WARNING, "ends in 7 days",
         .changes = {{EXTENDER_0, "1774958400", "1772971200"}}},
        {"certificate", DOCTOR_FAULT, "ends in -",
         .changes = {{EXTENDERS, "1774958400", "1772266340"}}},
        {.changes = {{EXTENDERS, "plimsoll_tls", "t"}}}, /* plain HTTP */
        /* ---- Admission. */
        {.changes = {ADMITTED, LISTED("2026-03-01T11:59:30Z")}},
        {.changes = {ADMITTED, LISTED("2026-03-01T11:59:30Z"), NEVER}}, /* no scheduler need call */
        {"admission-version", DOCTOR_FAULT, "Kubernetes 1.35",
         .changes = {{"/apis/plimsoll.io/v1alpha1", NULL, "{}"}, {"/version", "36", "35"}}},
        {"admission-policy", DOCTOR_FAULT, "no kind PreferredNodes",
         .changes = {{ADMISSION "*", NULL, "{}"},
                     {"/api/v1/namespaces", "[]", "[{}]"},
                     LISTED("2026-03-01T11:59:30Z")}},
        {"admission-policy", DOCTOR_FAULT, "no binding",
         .changes = {ADMITTED,
                     {ADMISSION "ybindings/*", NULL, NULL},
                     LISTED("2026-03-01T11:59:30Z")}},
        {"admission-policy", DOCTOR_FAULT, "no MutatingAdmissionPolicy plimsoll-admission",
         .changes = {ADMITTED, {ADMISSION "ies/*", NULL, NULL}, LISTED("2026-03-01T11:59:30Z")}},
        {"admission-list", DOCTOR_FAULT, "since it was created", .changes = {ADMITTED}},
        {"admission-list", DOCTOR_FAULT, "since 2026-03-01T11:58:00Z",
         .changes = {ADMITTED, LISTED("2026-03-01T11:58:00Z")}},
        {"admission-list", DOCTOR_FAULT, "since once", .changes = {ADMITTED, LISTED("once")}},
        {"admission-namespaces", DOCTOR_WARNING, "no namespace",
         .changes = {ADMITTED,
                     LISTED("2026-03-01T11:59:30Z"),
                     {"/api/v1/namespaces", "[{}]", "[]"}}},
        /* ---- The configuration of the scheduler. */
        {"scheduler-registered", DOCTOR_UNKNOWN, "name kube-scheduler's configuration",
         .changes = {{PAPER_CONFIG, NULL, NULL}}},
        {"scheduler-registered", DOCTOR_FAULT, "no extender has",
         .changes = {{PAPER_CONFIG, "extenders", "e"}}},
        {"scheduler-registered", DOCTOR_FAULT, "no extender has",
         .changes = {{PAPER_CONFIG, "http://127.0.0.1:8010/v1\n", "http://a\n- urlPrefix: b\n"}}},
        {"scheduler-registered", DOCTOR_FAULT, "the placeholder CLUSTER_IP",
         .changes = {{PAPER_CONFIG, "127.0.0.1:8010", "CLUSTER_IP:8010"}}},
        /* The only one; one among others, by its name; one for bind alone, in front of it. */
        {.changes = {{PAPER_CONFIG, ":8010", ":9010"}}},
        {.changes = {{PAPER_CONFIG, "127.0.0.1:8010", "plimsoll.example"},
                     {PAPER_CONFIG, "extenders:\n", "extenders:\n- urlPrefix: http://a\n"}}},
        {.changes = {{PAPER_CONFIG, "extenders:\n",
                      "extenders:\n- urlPrefix: http://127.0.0.1:8010/v1\n  bindVerb: bind\n"}}},
        {"scheduler-ignorable", DOCTOR_FAULT, "ignorable",
         .changes = {{PAPER_CONFIG, "ignorable: true", "ignorable: [true]"}}},
        {.changes = {{PAPER_CONFIG, "ignorable: true", "ignorable: True"}}},
        {"scheduler-timeout", DOCTOR_WARNING, "not set: 5s",
         .changes = {{PAPER_CONFIG, "httpTimeout: 200ms", ""}}},
        {"scheduler-timeout", DOCTOR_WARNING, "0s", .changes = {{PAPER_CONFIG, "200ms", "0s"}}},
        {"scheduler-timeout", DOCTOR_WARNING, "30s", .changes = {{PAPER_CONFIG, "200ms", "30s"}}},
        {"scheduler-weight", DOCTOR_WARNING, "weight is 1",
         .changes = {{PAPER_CONFIG, "t: 3", "t: 1"}}},
        {"scheduler-names", DOCTOR_WARNING, "nodeCacheCapable",
         .changes = {{PAPER_CONFIG, "nodeCacheCapable: true", ""}}},
        {"scheduler-verbs", DOCTOR_FAULT, "filterVerb is ''",
         .changes = {{PAPER_CONFIG, "filterVerb: filter", ""}}},
        /* Without limits that reject there is no need. */
        {.changes = {{PAPER_CONFIG, "filterVerb: filter", ""}, {POLICY, "0.8", "0"}}},
        {.changes = {{PAPER_CONFIG, "filterVerb: filter", ""},
                     {POLICY, "0.8", "0.8, 'overLimit': 'last'"}}},
        {"scheduler-verbs", DOCTOR_FAULT, "prioritizeVerb is ''",
         .changes = {{PAPER_CONFIG, "prioritizeVerb: prioritize", ""}}},
        {"scheduler-verbs", DOCTOR_FAULT, "filterVerb is 'filters'",
         .changes = {{PAPER_CONFIG, "filterVerb: filter", "filterVerb: filters"}}},
        {.changes = {{PAPER_CONFIG, "filterVerb: filter", "filterVerb: a/filter"}}},
        {"scheduler-resources", DOCTOR_WARNING, "only for pods that request b",
         .changes = {{PAPER_CONFIG, "  weight", "  managedResources: [{name: b}]\n  weight"}}},
        {.changes = {{PAPER_CONFIG, "  weight", "  managedResources: []\n  weight"}}},
        {.changes = {{PAPER_CONFIG, "  weight", "  managedResources: {}\n  weight"}}},
        /* Since 1.30, kube-scheduler ignores a refused bind of an extender that is ignorable. */
        {"scheduler-bind", DOCTOR_WARNING, "has bindVerb, but the extender runs without --bind",
         .changes = {{PAPER_CONFIG, "  weight", "  bindVerb: bind\n  weight"}}},
        {"scheduler-bind", DOCTOR_FAULT, "has bindVerb, but the extender runs without --bind",
         .changes = {{PAPER_CONFIG, "  weight", "  bindVerb: bind\n  weight"},
                     {"/version", "36+", "29"}}},
        {.changes = {{PAPER_CONFIG, "  weight", "  bindVerb: bind\n  weight"},
                     PAPER_SET(PAPER_EXTENDER_FLAGS, "bind=true")}},
};

TEST(one_by_one) {
        size_t bad = 0;

        for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
                if (paper_is_found(*state, &faults[i]))
                        continue;
                print_error("row %zu: %s\n", i,
                            faults[i].check ? faults[i].check : "nothing to be found");
                bad++;
        }
        assert_int_equal(bad, 0);
}

TEST(every_check_has_a_fault) {
        static const struct paper_change changes[] = {IDLE, ADMITTED};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(*state);
        paper_collect_changed(*state, changes, ARRAY_LEN(changes), &facts);
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        for (size_t i = 0; i < report->count; i++) {
                size_t found = 0;
                for (size_t j = 0; j < ARRAY_LEN(faults); j++)
                        found += faults[j].check &&
                                 strcmp(faults[j].check, report->findings[i].id) == 0;
                if (found == 0 && strcmp(report->findings[i].id, "metrics-pages") != 0)
                        fail_msg("%s has none", report->findings[i].id);
        }
}

TEST_GROUP(paper_set_up, paper_tear_down)
