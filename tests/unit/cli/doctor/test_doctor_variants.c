/* Installations that are sound, and not as deploy/ makes them: nothing is found in them, and a
 * fault is found as in any other. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#define CONTROLLER "*/deployments/plimsoll-controller"
#define PODS "*/kube-system/pods"
#define CONFIG "*/configmaps"

#define SET(flag) PAPER_SET(PAPER_CONTROLLER_FLAGS, flag)
#define LEADERLESS                                                                                 \
        { "*/plimsoll-controller-?:8090/proxy/metrics", "leader 1", "leader 0", }
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
         {SET("leader-elect-resource-name=load")},
         {"leader", DOCTOR_FAULT, "no controller", .changes = {LEADERLESS},
          .denied = {"leases", "\"name\":\"plimsoll-controller\""}}},
        {"a Lease of another namespace",
         {SET("leader-elect-resource-namespace=locks")},
         {"leader", DOCTOR_FAULT, "no controller", .changes = {LEADERLESS},
          .denied = {"leases", "\"namespace\":\"kube-system\""}}},
        {"no leader election",
         {SET("leader-elect=false")},
         {"node-guard", DOCTOR_WARNING, "plimsoll-controller-nodes",
          .changes = {{"*/plimsoll-controller-nodes", NULL, NULL}},
          .denied = {"plimsoll-controller", "leases"}}},
        {"no Events",
         {SET("events=false")},
         {"leader", DOCTOR_FAULT, "no controller", .changes = {LEADERLESS},
          .denied = {"plimsoll-controller", "\"events\""}}},
        {"policies in files",
         {PAPER_SET("*/flagz", "policy-config-path=/etc/policy.yaml"),
          {"*/dynamicschedulerpolicies/default", NULL, NULL}},
         {"leader", DOCTOR_FAULT, "no controller", .changes = {LEADERLESS},
          .denied = {"plimsoll-", "dynamicschedulerpolicies"}}},
        {"Prometheus alone",
         {SET("metrics-source=prometheus")},
         {"leader", DOCTOR_FAULT, "no controller", .changes = {LEADERLESS},
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
         {PAPER_SET("*/flagz", "annotation-timezone=Asia/Shanghai"),
          {"/api/v1/nodes", "T11:59", "T19:59"}},
         {"annotations-fresh", DOCTOR_FAULT, "4 of 4 nodes",
          .changes = {{"/api/v1/nodes", "T19:59", "T11:59"}}}},
        {"a prefix of the annotations",
         {PAPER_SET("*/flagz", "annotation-prefix=load.example.com"),
          {"/api/v1/nodes", "'cpu_", "'load.example.com/cpu_"},
          {"/api/v1/nodes", "'mem_", "'load.example.com/mem_"}},
         {"annotations-prefix", DOCTOR_FAULT, "4 of 4 nodes",
          .changes = {{PAPER_EXTENDER_FLAGS, "load.example.com", "load.example.org"}}}},
        {"annotations in percent",
         {PAPER_SET(PAPER_EXTENDER_FLAGS, "annotation-unit=percent"),
          {"/api/v1/nodes", "0.25000", "25.0"}},
         {"annotations-unit", DOCTOR_FAULT, "as if it were in percent",
          .changes = {{PAPER_EXTENDER_FLAGS, "percent", "ratio"}}}},
        {"a sidecar as the first container",
         {{"*/deployments/*", "'containers': [{", MESH},
          {PODS, "'containers': [{", MESH},
          {PODS, "'containerStatuses': [{", MESH_RESTARTED}},
         {"restarts", DOCTOR_WARNING, "plimsoll-extender-0 was restarted 5 times",
          .changes = {{PODS, "'extender', 'restartCount': 0",
                       "'extender', " RESTARTED("5", "2026-03-01T11:30:00Z"), 1}}}},
};

/* Of what all variants have. */
static const struct paper_fault common[] = {
        {NULL, DOCTOR_OK, NULL, .changes = {{0}}},
        {"controller-replicas", DOCTOR_FAULT, "none of 2",
         .changes = {{CONTROLLER, "'readyReplicas': 2", ""}}},
        {"annotations", DOCTOR_WARNING, "node-0",
         .changes = {{"/api/v1/nodes", "'annotations'", "'a'", 1}}},
        {"leader", DOCTOR_FAULT, "2 controllers",
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
