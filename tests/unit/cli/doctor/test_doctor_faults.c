/* Each fault of an installation is found by its own check, and none where there is none. */
#include "tests/unit/fixture/test.h"

#include "idle_faults.h"
#include "paper_fault.h"
#include "policy_faults.h"

#define SERVICE "*/services/plimsoll-extender"
#define PODS "*/kube-system/pods"
#define CONFIG "*/configmaps"
#define GUARD "*/plimsoll-controller-nodes"
#define REQUESTS "*/certificatesigningrequests"
#define STANDBY "*/plimsoll-controller-0:8090/proxy/metrics"
#define CONTROLLERS "*/plimsoll-controller-?:8090/proxy/metrics"
#define STATUSES "*/plimsoll-controller-?:8090/proxy/status.json"
#define STANDBY_STATUS "*/plimsoll-controller-0:8090/proxy/status.json"
#define FAILING(nodes)                                                                             \
        { STANDBY_STATUS, "4, 'nodesFailing': 0", "0, 'nodesFailing': " nodes }
#define FAILURE(source, nodes, examples)                                                           \
        {                                                                                          \
                STANDBY_STATUS, "'failures': [",                                                   \
                        "'failures': [{'source': '" source "', 'reason': 'connect', 'see': "       \
                        "'--node-address-types', 'nodes': " nodes ", 'examples': [" examples "]}"  \
        }
#define BINDS                                                                                      \
        { CONFIG, "  weight", "  bindVerb: bind\\n  weight" }
#define EXTENDER_0 "*/plimsoll-extender-0:8010/proxy/metrics"

#define BOUND "/api/v1/pods"
/* Bound at 11 and so many minutes. */
#define POD(minutes, spec)                                                                         \
        "{'metadata': {'namespace': 'a', 'name': 'b'}, 'spec': {" spec                             \
        "'nodeName': 'node-0'}, 'status': {'conditions': [{'type': 'PodScheduled', 'status': "     \
        "'True', 'lastTransitionTime': '2026-03-01T11" minutes ":00Z'}]}}"
#define BY_OTHER "'schedulerName': 'other', "
#define OF_DAEMON_SET                                                                              \
        "'x': 1}, 'metadata': {'name': 'b', 'ownerReferences': [{'kind': 'DaemonSet'}]}, 'spec': " \
        "{"
#define OF_MIRROR                                                                                  \
        "'x': 1}, 'metadata': {'name': 'b', 'annotations': {'kubernetes.io/config.mirror': "       \
        "'x'}}, "                                                                                  \
        "'spec': {"
#define UNBOUND                                                                                    \
        "{'metadata': {'name': 'b', 'creationTimestamp': '2026-03-01T11:40:00Z'}, 'spec': {}}"
#define BEYOND_NUMBERS "'priority': 1e999, "

#define MEM "'mem_usage_avg_5m': '" PAPER_FRESH "'"
#define METRIC(what, rest) "'" what "_usage_avg_5m': '" rest "'"
#define HOUR_OLD "0.25000,2026-03-01T11:00:00Z"
/* By the second scheduler. */
#define MOUNTED                                                                                    \
        {                                                                                          \
                SCHEDULER, NULL,                                                                   \
                        "{'spec': {'template': {'spec': {'volumes': [{}, {'configMap': {'name': "  \
                        "'scheduler'}}]}}}}"                                                       \
        }

/* Another configuration is mounted, which does not name the extender. */
#define MOUNTED_OWN                                                                                \
        {                                                                                          \
                SCHEDULER, NULL,                                                                   \
                        "{'spec': {'template': {'spec': {'volumes': [{'configMap': {'name': "      \
                        "'own'}}]}}}}"                                                             \
        }
#define OWN(text)                                                                                  \
        {                                                                                          \
                CONFIG, "'items': [",                                                              \
                        "'items': [{'metadata': {'name': 'own'}, 'data': {'a': "                   \
                        "'kind: KubeSchedulerConfiguration\\n" text "'}}, "                        \
        }

static const struct paper_fault program_faults[] = {
        {NULL, DOCTOR_OK, NULL, .changes = {{0}}},
        {"kubernetes", DOCTOR_WARNING, "1.24", .changes = {{"/version", "36+", "24"}}},
        {"kubernetes", DOCTOR_UNKNOWN, "no minor", .changes = {{"/version", "36+", "+"}}},
        {"kubernetes", DOCTOR_UNKNOWN, "no minor", .changes = {{"/version", "36+", "1000"}}},
        {"kubernetes", DOCTOR_UNKNOWN, "no minor", .changes = {{"/version", NULL, "{}"}}},
        {"controller", DOCTOR_FAULT, "no Deployment", .changes = {{CONTROLLER, NULL, NULL}}},
        {"controller-replicas", DOCTOR_WARNING, "1 of 2",
         .changes = {{CONTROLLER, "Replicas': 2", "Replicas': 1"}}},
        {"controller-replicas", DOCTOR_FAULT, "none of 2 replicas is ready",
         .changes = {{CONTROLLER, "'readyReplicas': 2", ""}}},
        {"controller-replicas", DOCTOR_WARNING,
         "1 of 2 replicas are ready: plimsoll-controller-0: nodes: not listed yet",
         .changes = {{CONTROLLER, "Replicas': 2", "Replicas': 1"},
                     {STANDBY_STATUS, "'[+] nodes: 4 nodes'",
                      "'[+] policy: a', 7, '[-] nodes: not listed yet'"}}},
        {"controller-replicas", DOCTOR_FAULT, "it is scaled to 0 replicas",
         .changes = {{CONTROLLER, "eplicas': 2", "eplicas': 0"},
                     {POLICY, "'extender'", "'taints': {}, 'extender'"}}},
        {"controller-replicas", DOCTOR_WARNING, "one replica",
         .changes = {{CONTROLLER, "eplicas': 2", "eplicas': 1"}}},
        {"extender", DOCTOR_FAULT, "no Deployment", .changes = {{EXTENDER, NULL, NULL}}},
        /* It is next to a second scheduler. */
        {.changes = {{EXTENDER, NULL, NULL}, {SCHEDULER, NULL, "{}"}}},
        {"extender-replicas", DOCTOR_FAULT, "none",
         .changes = {{EXTENDER, "Replicas': 2", "Replicas': 0"}}},
        /* Taints of load need none, nor does idle CPU; a scheduler that asks it does. */
        {"extender-replicas", DOCTOR_FAULT,
         "it is scaled to 0 replicas, but called by ConfigMap scheduler",
         .changes = {IDLE, OFFERED, {EXTENDER, "eplicas': 2", "eplicas': 0"}}},
        {"extender-replicas", DOCTOR_FAULT,
         "it is scaled to 0 replicas, but called by ConfigMap scheduler",
         .changes = {{EXTENDER, "eplicas': 2", "eplicas': 0"},
                     {POLICY, "'extender'", "'taints': {}, 'extender'"}}},
        {"extender-replicas", DOCTOR_FAULT, "it is scaled to 0 replicas",
         .changes = {{EXTENDER, "eplicas': 2", "eplicas': 0"}}},
        {"extender-service", DOCTOR_FAULT, "no Service", .changes = {{SERVICE, NULL, NULL}}},
        {"extender-service", DOCTOR_FAULT, "does not select",
         .changes = {{SERVICE, ": 'plimsoll-extender'", ": 'x'"}}},
        {"extender-service", DOCTOR_FAULT, "does not select",
         .changes = {{SERVICE, "'selector'", "'ports'"}}},
        {"replicas-spread", DOCTOR_WARNING, "all replicas of plimsoll-controller are on node-0",
         .changes = {{PODS, "'spec': {", "'spec': {'nodeName': 'node-0', ", 2}}},
        {.changes = {{PODS, "'spec': {", "'spec': {'nodeName': 'node-0', "},
                     {EXTENDERS, "table_nodes 4", "table_nodes 1"}},
         .nodes = 1},
        {.changes = {{PODS, "'spec': {", "'spec': {'nodeName': 'node-0', ", 1},
                     {PODS, "'spec': {'c", "'spec': {'nodeName': 'node-1', 'c", 1}}},
        {"extender-service", DOCTOR_UNKNOWN, "403", .changes = {{SERVICE, NULL, "403"}}},
        {"restarts", DOCTOR_WARNING, "plimsoll-controller-0 was restarted 12 times (OOMKilled)",
         .changes = {{PODS, "'restartCount': 0",
                      "'restartCount': 12, 'lastState': {'terminated': {'reason': 'OOMKilled', "
                      "'finishedAt': '2026-03-01T11:01:00Z'}}",
                      1}}},
        {"restarts", DOCTOR_WARNING, "a pod was restarted 5 times (for an unknown reason)",
         .changes =
                 {{PODS, "'items': [",
                   "'items': [{'status': {'containerStatuses': [{'restartCount': 5, 'lastState': "
                   "{'terminated': {'finishedAt': '2026-03-01T11:59:00Z'}}}]}}, "}}},
        {"restarts", DOCTOR_WARNING, "plimsoll-scheduler-0 was restarted 7 times",
         .changes =
                 {{PODS, "'items': [",
                   "'items': [{'metadata': {'name': 'plimsoll-scheduler-0', 'labels': "
                   "{'app.kubernetes.io/name': 'plimsoll-scheduler'}}, 'status': "
                   "{'containerStatuses': [{'name': 'kube-scheduler', 'restartCount': 7, "
                   "'lastState': {'terminated': {'finishedAt': '2026-03-01T11:59:00Z'}}}]}}, "}}},
        /* Nobody knows when. */
        {.changes = {{PODS, "'restartCount': 0", "'restartCount': 12, 'lastState': {}"}}},
        {.changes = {{PODS, "'restartCount': 0",
                      "'restartCount': 12, 'lastState': {'terminated': {'finishedAt': 'once'}}"}}},
        {.changes = {{PODS, "'restartCount': 0", "'restartCount': 4"}}},
        /* Pods of others, and one that does not run yet. */
        {.changes = {{PODS, "'items': [",
                      "'items': [7, {'metadata': {'labels': {"
                      "'app.kubernetes.io/name': 'plimsoll-scheduler'}}}, "}}},
        {.changes = {{PODS, "Running", "Pending", 1}}},
        {"versions", DOCTOR_WARNING, "1 of 4",
         .changes = {{EXTENDER_0, "version='", "version='0.0."}}},
        {"versions", DOCTOR_WARNING, "1 of 4", /* it names none */
         .changes = {{EXTENDER_0, "{version='" PLIMSOLL_VERSION "'}", ""}}},
        {"controller-permissions", DOCTOR_FAULT, "it may not patch nodes",
         .denied = {"plimsoll-controller", "patch\",\"group\":\"\",\"resource\":\"nodes"}},
        {"controller-permissions", DOCTOR_FAULT, "it may not create events, patch events",
         .denied = {"plimsoll-controller",
                    "events\",\"subresource\":\"\",\"namespace\":\"default\""}},
        {"controller-permissions", DOCTOR_FAULT, "it may not get nodes/metrics",
         .denied = {"plimsoll-controller", "\"metrics\""}},
        {"controller-permissions", DOCTOR_FAULT, "it may not watch dynamicscheduler",
         .denied = {"plimsoll-controller", "watch\",\"group\":\"scheduler.policy"}},
        {"controller-permissions", DOCTOR_FAULT, "it may not list nodes.metrics.k8s.io",
         .changes = {{PAPER_CONTROLLER_FLAGS, "node-exporter,kubelet", "kubelet,metrics-server"}},
         .denied = {"plimsoll-controller", "metrics.k8s.io"}},
        {"controller-permissions", DOCTOR_FAULT, "it may not list nodes.metrics.k8s.io",
         .changes = {{CONTROLLERS, "plimsoll_nodes_stale 0",
                      "plimsoll_nodes_served{source='metrics-server'} 0"}},
         .denied = {"plimsoll-controller", "metrics.k8s.io"}},
        {.denied = {"plimsoll-controller", "metrics.k8s.io"}},
        {"extender-permissions", DOCTOR_FAULT, "it may not watch dynamicscheduler",
         .denied = {"plimsoll-extender", "watch\",\"group\":\"scheduler.policy"}},
        {"extender-permissions", DOCTOR_FAULT, "it may not watch pods",
         .denied = {"plimsoll-extender", "watch\",\"group\":\"\",\"resource\":\"pods"}},
        {"extender-permissions", DOCTOR_FAULT, "it may not create pods/binding",
         .changes = {PAPER_SET(PAPER_EXTENDER_FLAGS, "bind=true")},
         .denied = {"plimsoll-extender", "binding"}},
        {.denied = {"plimsoll-extender", "binding"}}, /* it does not bind */
        {"kubelet-tls", DOCTOR_WARNING, "not verified",
         .changes = {PAPER_SET(PAPER_CONTROLLER_FLAGS, "kubelet-insecure-skip-verify=true")}},
        {.changes = {PAPER_SET(PAPER_CONTROLLER_FLAGS, "kubelet-insecure-skip-verify=false")}},
        {"node-guard", DOCTOR_WARNING, "plimsoll-controller-nodes",
         .changes = {{GUARD, NULL, NULL}}},
        {"node-guard", DOCTOR_UNKNOWN, "403", .changes = {{GUARD, NULL, "403"}}},
};

static const struct paper_fault node_faults[] = {
        {"annotations", DOCTOR_WARNING, "1 of 4 nodes have no annotation of the policy: node-0",
         .changes = {{NODES, "'annotations'", "'a'", 1}}},
        {"annotations", DOCTOR_FAULT,
         "4 of 4 nodes have no annotation of the policy: node-0, "
         "node-1, node-2, ...",
         .changes = {{NODES, "'annotations'", "'a'"}}},
        {"annotations-fresh", DOCTOR_WARNING, "1 of 4 nodes have an annotation that has expired",
         .changes = {{NODES, PAPER_FRESH, HOUR_OLD, 2}}},
        /* The other one is usable. */
        {"annotations-fresh", DOCTOR_FAULT,
         "4 of 4 nodes have an annotation that has expired (cpu_usage_avg_5m): node-0",
         .changes = {{NODES, CPU, METRIC("cpu", HOUR_OLD)}}},
        /* Nothing uses it. */
        {.changes = {{NODES, CPU, CPU ", 'cpu_usage_max_avg_1h': '0.2,2026-02-28T11:00:00Z'"}}},
        {"annotations-fresh", DOCTOR_FAULT, "4 of 4", .changes = {{NODES, PAPER_FRESH, HOUR_OLD}}},
        {"annotations-format", DOCTOR_WARNING, "read (cpu_usage_avg_5m): node-0",
         .changes = {{NODES, CPU, METRIC("cpu", "much"), 1}}},
        /* What is no text is no annotation. */
        {.changes = {{NODES, CPU, "'cpu_usage_avg_5m': 7", 1}}},
        {"annotations-unit", DOCTOR_FAULT, "percent (mem_usage_avg_5m)",
         .changes = {{NODES, MEM, METRIC("mem", "38.0,2026-03-01T11:59:30Z"), 1}}},
        /* What a resource of the policy's own, or another's metric, measures is no share. */
        {.changes =
                 {{POLICY, "'syncPolicy': [",
                   "'metrics': [{'name': 'gpu', 'kind': 'gauge', 'series': 'gpu', 'capacity': 1}], "
                   "'syncPolicy': [{'name': 'gpu_usage_avg_5m', 'period': '3m'}, "
                   "{'name': 'heat', 'period': '3m'}, "},
                  {NODES, CPU,
                   CPU ", " METRIC(
                           "gpu",
                           "38.0,2026-03-01T11:59:30Z") ", 'heat': '38.0,2026-03-01T11:59:30Z'"}}},
        /* Nothing is written of it, nor expected. */
        {.changes = {{POLICY, "'15m'", "'0s'"},
                     {NODES, CPU, CPU ", 'cpu_usage_max_avg_1h': 'old'"}}},
        {"annotations-clock", DOCTOR_WARNING, "future (cpu_usage_avg_5m)",
         .changes = {{NODES, CPU, METRIC("cpu", "0.2,2026-03-01T12:05:00Z"), 1}}},
        {"annotations-clock", DOCTOR_WARNING, "future",
         .changes = {{NODES, CPU, METRIC("cpu", "0.2,2026-03-01T12:40:00Z"), 1}}},
        {"annotations-clock", DOCTOR_WARNING, "future",
         .changes = {{NODES, CPU, METRIC("cpu", "0.2,2026-03-02T02:30:00Z"), 1}}},
        {"annotations-timezone", DOCTOR_FAULT, "whole hours",
         .changes = {{NODES, "T11:59:30Z", "T19:59:30Z"}}},
        {"annotations-timezone", DOCTOR_FAULT, "1 of 4 nodes have timestamps that are ahead by",
         .changes = {{NODES, "T11:59:30Z", "T12:30:00Z", 1}}},
        {"annotations-prefix", DOCTOR_FAULT, "(load.example.com/",
         .changes = {{NODES, "'cpu_usage", "'load.example.com/cpu_usage"},
                     {NODES, "'mem_usage", "'load.example.com/mem_usage"}}},
        {"annotations-prefix", DOCTOR_FAULT, "(a.example/mem_usage_avg_5m_peak)",
         .changes = {{NODES, CPU, "'a': 'b'", 1},
                     {NODES, "'mem_usage_avg_5m'", "'a.example/mem_usage_avg_5m_peak'", 1}}},
        /* Another installation writes its own. */
        {.changes = {{NODES, CPU, CPU ", 'a.example/cpu_usage_avg_5m': '" PAPER_FRESH "'"}}},
        {.changes = {{NODES, CPU, CPU ", 'a.example/net_usage_avg_5m': '" PAPER_FRESH "'"}}},
        {"annotations-left", DOCTOR_WARNING, "(a.example/net_usage_avg_5m)",
         .changes = {{NODES, CPU,
                      CPU ", 'a.example/net_usage_avg_5m': '0.25000,2026-02-28T11:00:00Z'"}}},
        {"annotations-left", DOCTOR_WARNING, "(a.example/cpu_usage_max_avg_1d_peak): node-0",
         .changes = {{NODES, CPU,
                      CPU ", 'a.example/cpu_usage_max_avg_1d_peak': "
                          "'0.25000,2026-02-28T11:00:00Z'",
                      1}}},
        /* An earlier policy's, which the controller removes. */
        {.changes = {{NODES, CPU, CPU ", 'cpu_usage_max_avg_1d': '" HOUR_OLD "'"}}},
        {.changes = {{NODES, CPU, CPU ", 'cpu_usage_max_avg_1d': '0.25000,2026-02-28T11:00:00Z'",
                      1}}},
        /* Peaks of the policy's, and what is no reading or no metric. */
        {.changes = {{NODES, CPU,
                      CPU ", 'cpu_usage_max_avg_1h_peak': '" HOUR_OLD "', "
                          "'net_usage_avg_5m': 'x', 'disk_usage_avg_5m': 7, "
                          "'_peak': '" HOUR_OLD "', 'other': '" HOUR_OLD "'"}}},
        {"annotations-writers", DOCTOR_FAULT, "(kubelet): node-0",
         .changes = {{NODES, "'f:cri'", "'f:mem_usage_avg_5m'", 1}}},
        {.changes = {{NODES, "'manager': 'kubelet'", "'m': ''"},
                     {NODES, "'f:cri'", "'f:mem_usage_avg_5m'"}}},
        {"metrics-written", DOCTOR_FAULT, "no node has net_usage_avg_5m, disk_usage_avg_5m",
         .changes = {{POLICY, "'15m'}",
                      "'15m'}, {'name': 'net_usage_avg_5m', 'period': '3m'}, "
                      "{'name': 'disk_usage_avg_5m', 'period': '3m'}"},
                     {POLICY, "'predicate': [",
                      "'predicate': ["
                      "{'name': 'disk_usage_avg_5m', 'maxLimitPecent': 0.8}, "
                      "{'name': 'net_usage_avg_5m', 'maxLimitPecent': 0.8}, "}}},
        /* It is of a pool that no node is in. */
        {.changes = {SPOT("net_usage_avg_5m"),
                     {POLICY, "'15m'}", "'15m'}, {'name': 'net_usage_avg_5m', 'period': '3m'}"}}},
        {"metrics-written", DOCTOR_FAULT, "no node has net_usage_avg_5m",
         .changes = {SPOT("net_usage_avg_5m"),
                     {POLICY, "'15m'}", "'15m'}, {'name': 'net_usage_avg_5m', 'period': '3m'}"},
                     {NODES, "'annotations': {'cpu",
                      "'labels': {'spot': 'yes'}, 'annotations': {'cpu", 1}}},
        {"nodes-ready", DOCTOR_WARNING, "1 of 4 nodes are not ready: node-0",
         .changes = {{NODES, "'status': 'True'", "'status': 'Unknown'", 1}}},
        {"nodes-ready", DOCTOR_FAULT, "4 of 4",
         .changes = {{NODES, "'type': 'Ready'", "'type': 'Rested'"}}},
        {"nodes-ready", DOCTOR_WARNING, "1 of 4", .changes = {{NODES, "'type'", "'t'", 1}}},
        {"nodes-ready", DOCTOR_WARNING, "1 of 4",
         .changes = {{NODES, "'status': 'True'", "'s': 1", 1}}},
        {.changes = {{NODES, "[{'type'", "[{'type': 'Full', 'status': 'False'}, {'type'"}}},
        {"nodes-cordoned", DOCTOR_WARNING, "3 of 4",
         .changes = {{NODES, "'spec': {}", "'spec': {'unschedulable': true}", 3}}},
        {.changes = {{NODES, "'spec': {}", "'spec': {'unschedulable': true}", 2}}},
        {.changes = {{NODES, "'spec': {}", "'spec': {'unschedulable': false}"}}},
        /* A name that a terminal would obey. */
        {"nodes-ready", DOCTOR_WARNING, "not ready: ?[2Jn??\?",
         .changes = {{NODES, "node-0", "\\u001b[2Jn\\u00e9\\u007f", 1},
                     {NODES, "'True'", "'False'", 1}}},
        {"kubelet-certificates", DOCTOR_WARNING,
         "1 kubelets, such as system:node:node-1, wait for a serving certificate",
         .changes = {{REQUESTS, "11:59:00", "11:49:00"}}},
        {"kubelet-certificates", DOCTOR_WARNING,
         "2 kubelets, such as ?, wait for a serving certificate",
         .changes = {{REQUESTS, "11:59:00", "11:49:00"},
                     {REQUESTS, "'conditions'", "'c'"},
                     {REQUESTS, "'username'", "'u'"}}},
        {.changes = {{REQUESTS, "'creationTimestamp': '2026-03-01T11:59:00Z'", ""}}},
        {.changes = {{REQUESTS, "2026-03-01T11:59:00Z", "once"}}},
};

static const struct paper_fault metric_faults[] = {
        {"metrics-pages", DOCTOR_UNKNOWN, "403", .changes = {{STANDBY, NULL, "403"}}},
        {"metrics-pages", DOCTOR_UNKNOWN, "GET", .changes = {{EXTENDER_0, NULL, "503"}}},
        /* The one that leads may be the one that is not seen. */
        {"metrics-pages", DOCTOR_UNKNOWN, "403",
         .changes = {{"*/plimsoll-controller-1:*", NULL, "403"}}},
        /* Both replicas look at all nodes. */
        {"exporters", DOCTOR_WARNING,
         "node-exporter fails on 2 of 4 nodes (node-0, node-1): connect, see --node-address-types",
         .changes = {FAILING("2"), FAILURE("node-exporter", "2", "'node-0', 'node-1'")}},
        {"exporters", DOCTOR_WARNING, "on 3 of 4 nodes (node-0, ?, ...): connect, see",
         .changes = {FAILING("3"), FAILURE("node-exporter", "3", "'node-0', 7")}},
        {"exporters", DOCTOR_WARNING,
         "kubelet fails on 1 of 4 nodes (node-0): ?, see the log; node-exporter fails on 2 of 4",
         .changes = {FAILING("2"),
                     {STANDBY_STATUS, "0, 'nodesFailing': 0", "0, 'nodesFailing': 1"},
                     FAILURE("node-exporter", "2", "'node-0'"),
                     {STANDBY_STATUS, "'failures': [",
                      "'failures': [{'source': 'kubelet', 'nodes': 1, 'examples': ['node-0']}, "}}},
        /* What it fails on has no recent sample, of course. */
        {"exporters", DOCTOR_WARNING, "node-exporter fails on 2 of 4 nodes",
         .changes = {FAILING("2"),
                     FAILURE("node-exporter", "2", "'node-0'"),
                     {STANDBY, "nodes_stale 0", "nodes_stale 2"}}},
        {"exporters", DOCTOR_FAULT, "node-exporter fails on 4 of 4 nodes (node-0, ...)",
         .changes = {FAILING("4"), FAILURE("node-exporter", "4", "'node-0'")}},
        /* Another source stands in. */
        {"exporters", DOCTOR_WARNING, "node-exporter fails on 4 of 4 nodes",
         .changes = {FAILING("4"),
                     FAILURE("node-exporter", "4", "'node-0'"),
                     {STANDBY_STATUS, "'kubelet', 'nodesServed': 0",
                      "'prometheus', 'nodesServed': 4"}}},
        {.changes = {FAILING("4"),
                     FAILURE("node-exporter", "4", "'node-0'"),
                     {STANDBY_STATUS, "'kubelet', 'nodesServed': 0",
                      "'kubelet', 'nodesServed': 4"}}},
        {"exporters", DOCTOR_UNKNOWN, "status.json: 404", .changes = {{STATUSES, NULL, NULL}}},
        {.changes = {{STATUSES, "'failures': []", "'failures': [7, {'source': 'other'}]"}}},
        {"samples", DOCTOR_WARNING, "2 of 4 nodes have no recent sample: node-2, node-3",
         .changes = {{CONTROLLERS, "nodes_stale 0", "nodes_stale 2"},
                     {STATUSES, "'nodes': [",
                      "'nodes': [{'name': 'node-2'}, {'name': 'node-3'}, "}}},
        {"samples", DOCTOR_FAULT, "4 of 4 nodes have no recent sample",
         .changes = {{STANDBY, "nodes_stale 0", "nodes_stale 4"}}},
        /* Exporters fail where kubelets serve, and elsewhere there is no sample. */
        {"samples", DOCTOR_WARNING, "1 of 4 nodes have no",
         .changes = {FAILING("3"),
                     FAILURE("node-exporter", "3", "'node-0'"),
                     {STANDBY_STATUS, "'kubelet', 'nodesServed': 0", "'kubelet', 'nodesServed': 3"},
                     {STANDBY, "nodes_stale 0", "nodes_stale 1"}}},
        {"policy-loaded", DOCTOR_FAULT, "plimsoll-controller-0 cannot",
         .changes = {{STANDBY, "policy_failed 0", "policy_failed 1"}}},
        {"policy-loaded", DOCTOR_FAULT, "plimsoll-extender-0 cannot",
         .changes = {{EXTENDER_0, "policy_failed 0", "policy_failed 1"}}},
        {"patches", DOCTOR_WARNING, "15 of 20",
         .changes = {{CONTROLLERS, "waiting 0", "waiting 15"},
                     {EXTENDERS, "table_nodes 4", "table_nodes 20"}},
         .nodes = 20},
        {.changes = {{STANDBY, "waiting 0", "waiting 10"},
                     {EXTENDERS, "table_nodes 4", "table_nodes 20"}},
         .nodes = 20},
        {.changes = {{STANDBY, "waiting 0", "waiting 4"}}}, /* of few nodes it is no matter */
        {"leader", DOCTOR_FAULT, "2 controllers", .changes = {{STANDBY, "leader 0", "leader 1"}}},
        {"leader", DOCTOR_FAULT, "no controller in kube-system",
         .changes = {{CONTROLLERS, "leader", "l"}}},
        {"extender-called", DOCTOR_WARNING, "no scheduler has called the extender since it started",
         .changes = {{EXTENDERS, "'200'} 500", "'200'} 0"}}},
        {"extender-called", DOCTOR_WARNING,
         "started; 2 pods were bound in the last hour, such as a/b",
         .changes = {{EXTENDERS, "'200'} 500", "'200'} 0"},
                     {EXTENDERS, PAPER_LAST_CALL, "0"},
                     PODS_ARE(POD(":30", "") ", " POD(":31", ""))}},
        /* Three days ago, and a pod half an hour ago. */
        {"extender-called", DOCTOR_WARNING,
         "the last call was at 2026-02-26T12:00:00Z, but 1 pods were bound in the last "
         "hour, such as a/b",
         .changes = {{EXTENDERS, PAPER_LAST_CALL, "1772107200"},
                     PODS_ARE(POD(":30", "") ", " POD(":00", ""))}},
        /* One of the two is called. */
        {.changes = {{EXTENDER_0, PAPER_LAST_CALL, "1772107200"}}},
        /* Before the last call, as good as at once after it, or by another way than a scheduler's.
         */
        {.changes = {{EXTENDERS, PAPER_LAST_CALL, "1772364570"}, /* 11:29:30 */
                     PODS_ARE(POD(":20", "") ", " POD(":30", "") ", " POD(":40", BY_OTHER) ", " POD(
                             ":41", OF_DAEMON_SET) ", " POD(":42", OF_MIRROR))}},
        /* What is not bound, and what cannot be read. */
        {.changes = {{EXTENDERS, PAPER_LAST_CALL, "1772107200"},
                     PODS_ARE(UNBOUND ", {'\\u0061': 1}, " POD(":40", BEYOND_NUMBERS))}},
        {"extender-called", DOCTOR_WARNING, "1 pods were bound",
         .changes = {{EXTENDERS, PAPER_LAST_CALL, "1772107200"},
                     {CONFIG, "schedulerName: default-scheduler", "schedulerName: other"},
                     PODS_ARE(POD(":30", BY_OTHER) ", " POD(":31", ""))}},
        {"extender-called", DOCTOR_WARNING, "1 pods were bound",
         .changes = {{EXTENDERS, PAPER_LAST_CALL, "1772107200"},
                     {CONFIG, "profiles:\\n- schedulerName: default-scheduler", "profiles: 7"},
                     PODS_ARE(POD(":30", BY_OTHER) ", " POD(":31", ""))}},
        /* A configuration that does not name the extender says nothing of who should ask it. */
        {.changes = {{EXTENDERS, PAPER_LAST_CALL, "1772107200"},
                     OWN("profiles: [{schedulerName: a}, {schedulerName: other}]"),
                     MOUNTED_OWN,
                     PODS_ARE(POD(":30", BY_OTHER))}},
        {"extender-called", DOCTOR_UNKNOWN,
         "the last call was at 2026-02-26T12:00:00Z, and later bindings are unknown: "
         "GET /api/v1/pods",
         .changes = {{EXTENDERS, PAPER_LAST_CALL, "1772107200"}, {BOUND, NULL, "403"}}},
        /* Of an older extender, and of a page that nobody should believe. */
        {.changes = {{EXTENDERS, "last_call", "l"}}},
        {.changes = {{EXTENDERS, PAPER_LAST_CALL, "1e300"}}},
        {.changes = {{EXTENDERS, PAPER_LAST_CALL, "-1"}}},
        {"extender-answers", DOCTOR_WARNING, "500 of 1000",
         .changes = {{EXTENDER_0, "'200'}", "'400'}"}}},
        {.changes = {{EXTENDERS, "'200'} 500",
                      "'200'} 990\n"
                      "plimsoll_extender_requests_total{code='400'} 10"}}},
        {"extender-speed", DOCTOR_WARNING, "400 of 1000 calls took more than 100 ms",
         .changes = {{EXTENDERS, "'0.1'} 500", "'0.1'} 300"}}},
        {.changes = {{EXTENDERS, "le='0.1'", "le='1'"}}}, /* nothing says how many were fast */
        {"extender-table", DOCTOR_FAULT, "plimsoll-extender-0 knows 2 nodes, but the cluster has 4",
         .changes = {{EXTENDER_0, "nodes 4", "nodes 2"}}},
        {"extender-table", DOCTOR_FAULT, "knows 5 nodes",
         .changes = {{EXTENDERS, "nodes 4", "nodes 5"}}},
        {.changes = {{EXTENDERS, "table_nodes", "t"}}},
        {"certificate", DOCTOR_WARNING, "expires in 7 days",
         .changes = {{EXTENDERS, "1774958400", "1772971200"}}},
        {"certificate", DOCTOR_WARNING, "expires in 7 days", /* of one replica */
         .changes = {{EXTENDER_0, "1774958400", "1772971200"}}},
        {"certificate", DOCTOR_FAULT, "expired",
         .changes = {{EXTENDERS, "1774958400", "1772366340"}}},
        {.changes = {{EXTENDERS, "plimsoll_tls", "t"}}}, /* plain HTTP */
};

static const struct paper_fault scheduler_faults[] = {
        {"scheduler-registered", DOCTOR_FAULT, "ConfigMap scheduler: no extender has port 8010",
         .changes = {{CONFIG, ":8010", ""}, MOUNTED}},
        {"scheduler-registered", DOCTOR_FAULT, "port 8010",
         .changes = {{CONFIG, "extenders", "e"}, MOUNTED}},
        {"scheduler-registered", DOCTOR_FAULT, "port 8010",
         .changes = {{CONFIG, "- urlPrefix", "  a"}, MOUNTED}},
        {"scheduler-registered", DOCTOR_FAULT, "port 8010",
         .changes = {{CONFIG, ":8010", ":80100"}, MOUNTED}},
        /* kustomize has left an earlier one behind. */
        {.changes = {{CONFIG, "'items': [",
                      "'items': [{'metadata': {'name': 'a', 'labels': {'app.kubernetes.io/name': "
                      "'plimsoll-scheduler'}}, 'data': {'a': 'kind: KubeSchedulerConfiguration\\n"
                      "extenders: [{urlPrefix: http://127.0.0.1:8010}]'}}, "},
                     MOUNTED}},
        {.changes = {{CONFIG, "'items': [", "'items': [{'data': 1e999}, "}}}, /* no number */
        {.changes = {{CONFIG, ":8010", ":9010"},
                     {SERVICE, "'port': 8010", "'port': 80}, {'port': 9010"}}},
        {.changes = {{CONFIG, ":8010", ":9010"}, {EXTENDER, "8010", "9010"}}},
        {.changes = {{CONFIG, "127.0.0.1", "plimsoll-extender.kube-system"}}},
        {.changes = {{CONFIG, "extenders:\\n", "extenders:\\n- urlPrefix: http://a\\n"}}},
        /* test_doctor_url.c has the others. */
        {"scheduler-url", DOCTOR_FAULT, "ConfigMap scheduler: urlPrefix has https",
         .changes = {{CONFIG, "http:", "https:"}}},
        {"scheduler-ignorable", DOCTOR_FAULT, "ignorable",
         .changes = {{CONFIG, "ignorable: true", "ignorable: [true]"}}},
        {.changes = {{CONFIG, "ignorable: true", "ignorable: True"}}},
        {.changes = {{CONFIG, "ignorable: true", "ignorable: yes"}}},
        {.changes = {{CONFIG, "ignorable: true", "ignorable: on"},
                     {CONFIG, "nodeCacheCapable: true", "nodeCacheCapable: On"}}},
        {"scheduler-ignorable", DOCTOR_FAULT, "ignorable",
         .changes = {{CONFIG, "ignorable: true", "ignorable: off"}}},
        {"scheduler-fields", DOCTOR_WARNING,
         "ConfigMap scheduler: an extender has no field failurePolicy",
         .changes = {{CONFIG, "  weight", "  failurePolicy: Ignore\\n  weight"}}},
        {"scheduler-fields", DOCTOR_WARNING,
         "an extender has no field ignoreable; did you mean ignorable?",
         .changes = {{CONFIG, "  weight", "  ignoreable: true\\n  weight"}}},
        {"scheduler-fields", DOCTOR_WARNING, "ignorable is a string: remove the quotes",
         .changes = {{CONFIG, "ignorable: true", "ignorable: \\\"true\\\""}}},
        {"scheduler-fields", DOCTOR_WARNING, "weight is a string: remove the quotes",
         .changes = {{CONFIG, "weight: 3", "weight: \\\"3\\\""}}},
        {.changes = {{CONFIG, "httpTimeout: 200ms", "httpTimeout: \\\"200ms\\\""},
                     {CONFIG, "  weight", "  enableHTTPS: false\\n  tlsConfig: {}\\n  weight"}}},
        {"scheduler-resources", DOCTOR_WARNING,
         "only for pods that request telemetry/scheduling, and 1 more",
         .changes = {{CONFIG, "  weight",
                      "  managedResources: [{name: telemetry/scheduling, ignoredByScheduler: true}"
                      ", {name: b}]\\n  weight"}}},
        {"scheduler-resources", DOCTOR_WARNING, "only for pods that request b",
         .changes = {{CONFIG, "  weight", "  managedResources: [{name: b}]\\n  weight"}}},
        {.changes = {{CONFIG, "  weight", "  managedResources: []\\n  weight"}}},
        {.changes = {{CONFIG, "  weight", "  managedResources: {}\\n  weight"}}},
        /* Since 1.30, kube-scheduler ignores a refused bind of an extender that is ignorable. */
        {"scheduler-bind", DOCTOR_WARNING, "has bindVerb, but the extender runs without --bind",
         .changes = {BINDS}},
        {"scheduler-bind", DOCTOR_FAULT, "has bindVerb, but the extender runs without --bind",
         .changes = {BINDS, {"/version", "36+", "29"}}},
        {.changes = {BINDS, PAPER_SET(PAPER_EXTENDER_FLAGS, "bind=true")}},
        /* An entry for bind alone, in front of the other. */
        {.changes = {{CONFIG, "extenders:\\n",
                      "extenders:\\n- urlPrefix: http://127.0.0.1:8010/v1\\n  bindVerb: bind\\n"}}},
        /* Of two without scores the first counts. */
        {"scheduler-verbs", DOCTOR_FAULT, "prioritizeVerb is not set",
         .changes = {{CONFIG, "prioritizeVerb", "p"},
                     {CONFIG, "httpTimeout: 200ms", ""},
                     {CONFIG, "extenders:\\n",
                      "extenders:\\n- urlPrefix: http://127.0.0.1:8010/v1\\n  filterVerb: filter\\n"
                      "  nodeCacheCapable: true\\n  ignorable: true\\n  httpTimeout: 200ms\\n"}}},
        {"scheduler-timeout", DOCTOR_WARNING, "5s",
         .changes = {{CONFIG, "httpTimeout: 200ms", ""}}},
        {"scheduler-timeout", DOCTOR_WARNING, "5s", .changes = {{CONFIG, "200ms", "0s"}}},
        {"scheduler-timeout", DOCTOR_WARNING, "30s", .changes = {{CONFIG, "200ms", "30s"}}},
        {"scheduler-weight", DOCTOR_FAULT, "not a positive integer",
         .changes = {{CONFIG, "weight: 3", ""}}},
        {"scheduler-weight", DOCTOR_FAULT, "not a positive integer",
         .changes = {{CONFIG, "t: 3", "t: 0"}}},
        {"scheduler-weight", DOCTOR_FAULT, "not a positive integer",
         .changes = {{CONFIG, "t: 3", "t: 2.5"}}},
        {"scheduler-weight", DOCTOR_WARNING, "weight is 1", .changes = {{CONFIG, "t: 3", "t: 1"}}},
        {.changes = {{CONFIG, "weight: 3", "weight: 3.0"}}},
        {"scheduler-names", DOCTOR_WARNING, "nodeCacheCapable",
         .changes = {{CONFIG, "nodeCacheCapable: true", ""}}},
        {"scheduler-verbs", DOCTOR_FAULT, "filterVerb is not set",
         .changes = {{CONFIG, "filterVerb: filter", ""}}},
        /* Without limits that reject there is no need. */
        {.changes = {{CONFIG, "filterVerb: filter", ""},
                     {POLICY, "[{'name': 'cpu_usage_avg_5m', 'maxLimitPecent': 0.8}]", "[]"}}},
        {.changes = {{CONFIG, "filterVerb: filter", ""}, {POLICY, "0.8", "0"}}},
        {.changes = {{CONFIG, "filterVerb: filter", ""},
                     {POLICY, "0.8", "0.8, 'overLimit': 'last'"}}},
        {"scheduler-verbs", DOCTOR_FAULT,
         "prioritizeVerb is not set", /* the weight then is none, too */
         .changes = {{CONFIG, "prioritizeVerb: prioritize", ""},
                     {CONFIG, "weight: 3", "weight: 1"}}},
        {"scheduler-verbs", DOCTOR_FAULT,
         "does not serve http://127.0.0.1:8010/v1/filters, which is the filterVerb",
         .changes = {{CONFIG, "filterVerb: filter", "filterVerb: filters"}}},
        {"scheduler-sampling", DOCTOR_WARNING, "adaptive of 150",
         .changes = {{EXTENDERS, "table_nodes 4", "table_nodes 150"}}, .nodes = 150},
        {"scheduler-sampling", DOCTOR_WARNING, "percentageOfNodesToScore is 30 of 150",
         .changes = {{EXTENDERS, "table_nodes 4", "table_nodes 150"},
                     {CONFIG, "- schedulerName", "- percentageOfNodesToScore: 30\\n  s"},
                     {CONFIG, "profiles", "percentageOfNodesToScore: 100\\nprofiles"}},
         .nodes = 150},
        {.changes = {{EXTENDERS, "table_nodes 4", "table_nodes 150"},
                     {CONFIG, "profiles", "percentageOfNodesToScore: 100\\nprofiles"}},
         .nodes = 150},
        {.changes = {{EXTENDERS, "table_nodes 4", "table_nodes 150"},
                     {CONFIG, "profiles:\\n- s", "percentageOfNodesToScore: 100\\nx"}},
         .nodes = 150},
        {.changes = {{EXTENDERS, "table_nodes 4", "table_nodes 150"},
                     {CONFIG, "profiles:\\n- s", "percentageOfNodesToScore: 100\\nprofiles: x\\nx"},
                     /* One without us samples as it likes. */
                     OWN(""),
                     MOUNTED_OWN},
         .nodes = 150},
        {"scheduler-batching", DOCTOR_WARNING, "disabled in all 2 profiles",
         .changes = {{CONFIG, "profiles:\\n", "profiles:\\n- schedulerName: other\\n"}}},
        {.changes = {{CONFIG, "profiles:\\n", "profiles:\\n- schedulerName: other\\n"},
                     {"/version", "36+", "34"}}},
};

static const struct {
        const struct paper_fault *rows;
        size_t count;
} faults[] = {
        {program_faults, ARRAY_LEN(program_faults)},     {policy_faults, ARRAY_LEN(policy_faults)},
        {node_faults, ARRAY_LEN(node_faults)},           {metric_faults, ARRAY_LEN(metric_faults)},
        {scheduler_faults, ARRAY_LEN(scheduler_faults)}, {idle_faults, ARRAY_LEN(idle_faults)},
};

TEST(one_by_one) {
        size_t bad = 0;

        for (size_t i = 0; i < ARRAY_LEN(faults); i++)
                for (size_t j = 0; j < faults[i].count; j++) {
                        const struct paper_fault *fault = &faults[i].rows[j];
                        if (paper_is_found(*state, NULL, 0, fault))
                                continue;
                        print_error("table %zu, row %zu: %s\n", i, j,
                                    fault->check ? fault->check : "nothing to be found");
                        bad++;
                }
        assert_int_equal(bad, 0);
}

static void assert_has_fault(const char *id) {
        for (size_t i = 0; i < ARRAY_LEN(faults); i++)
                for (size_t j = 0; j < faults[i].count; j++)
                        if (faults[i].rows[j].check && strcmp(faults[i].rows[j].check, id) == 0)
                                return;
        fail_msg("%s has none", id);
}

TEST(every_check_has_a_fault) {
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(*state, PAPER_NODES);
        paper_collect_changed(*state, NULL, 0, &facts);
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        for (size_t i = 0; i < report->count; i++)
                assert_has_fault(report->findings[i].check->id);
}

TEST_GROUP(paper_set_up, paper_tear_down)
