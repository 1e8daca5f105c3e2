/* The faults around the policy, for the table of faults; and where these are made. */
#pragma once

#include "paper_fault.h"

#define CONTROLLER "*/deployments/plimsoll-controller"
#define EXTENDER "*/deployments/plimsoll-extender"
#define SCHEDULER "*/deployments/plimsoll-scheduler"
#define DEPLOYMENTS "*/deployments/plimsoll-*"
#define CRD "*/customresourcedefinitions/*"
#define POLICY "*/dynamicschedulerpolicies/default"
#define NODES "/api/v1/nodes"
#define AUTOSCALER "*/cluster-autoscaler-status"
#define PAGES "*/proxy/metrics"
#define EXTENDERS "*/plimsoll-extender-?:8010/proxy/metrics"
#define STATUS "*/plimsoll-controller-0:8090/proxy/status.json"
#define KEPT                                                                                       \
        "{'policy': {'yaml': 'apiVersion: scheduler.policy.crane.io/v1alpha1\\n"                   \
        "kind: DynamicSchedulerPolicy\\nspec:\\n  syncPolicy:\\n"                                  \
        "  - {name: cpu_usage_avg_5m, period: 3m}\\n  - {name: mem_usage_avg_5m, period: 3m}\\n"   \
        "  priority:\\n  - {name: mem_usage_avg_5m, weight: 1}\\n'}}"
#define BY_FILE "policy-config-path=/etc/policy.yaml"
#define FLAGS "*/proxy/flagz"
#define CPU "'cpu_usage_avg_5m': '" PAPER_FRESH "'"
#define REJECTS                                                                                    \
        { POLICY, "'estimate'", "'estimate', 'whenAllOver': 'reject'" }
#define ABSOLUTE                                                                                   \
        { POLICY, "'estimate'", "'absolute'" }
#define WEIGHTS "[{'name': 'mem_usage_avg_5m', 'weight': 1}]"
#define SPOT(metric)                                                                               \
        {                                                                                          \
                POLICY, "'extender'",                                                              \
                        "'pools': [{'nodeSelector': {'spot': 'yes'}, 'predicate': [{'name': "      \
                        "'" metric "', 'maxLimitPecent': 0.99}]}], 'extender'"                     \
        }

static const struct paper_fault policy_faults[] = {
        {"policy-definition", DOCTOR_WARNING,
         "has no DynamicSchedulerPolicy: the built-in policy (the programs may keep",
         .changes = {{CRD, NULL, NULL}, {POLICY, NULL, NULL}}},
        {"policy-definition", DOCTOR_WARNING,
         "has no DynamicSchedulerPolicy: the programs keep the policy of the deleted object",
         .changes = {{CRD, NULL, NULL},
                     {POLICY, NULL, NULL},
                     {STATUS, NULL, KEPT},
                     {PAGES, "deleted 0", "deleted 1"}}},
        {"policy-definition", DOCTOR_WARNING,
         "has no DynamicSchedulerPolicy, but the programs read",
         .changes = {{CRD, NULL, NULL}, {POLICY, NULL, NULL}, PAPER_SET(FLAGS, BY_FILE)}},
        {"policy-established", DOCTOR_FAULT, "not established",
         .changes = {{CRD, "'True'", "'False', 'message': 'no'"}}},
        {"policy-established", DOCTOR_FAULT, "it has no such condition",
         .changes = {{CRD, "'type'", "'t'"}}},
        {"policy-established", DOCTOR_FAULT, "it has no such condition",
         .changes = {{CRD, "'status': 'True'", "'s': 1"}}},
        {.changes = {{CRD, "[", "[{'type': 'NamesAccepted', 'status': 'False'}, "}}},
        {"policy-object", DOCTOR_WARNING, "default: the built-in policy (the programs may keep",
         .changes = {{POLICY, NULL, NULL}}},
        {"policy-object", DOCTOR_WARNING,
         "default: the policy of plimsoll-controller-0 is in force",
         .changes = {{POLICY, NULL, NULL}, {STATUS, NULL, KEPT}}},
        {"policy-object", DOCTOR_WARNING, "status.json: the page has no policy) is in force",
         .changes = {{POLICY, NULL, NULL}, {STATUS, NULL, "{'policy': {}}"}}},
        {"policy-object", DOCTOR_WARNING,
         "the programs keep the policy of the deleted object until they restart",
         .changes = {{POLICY, NULL, NULL},
                     {STATUS, NULL, KEPT},
                     {PAGES, "deleted 0", "deleted 1"}}},
        {"policy-object", DOCTOR_FAULT,
         "only 2 of 4 programs keep the policy of the deleted object",
         .changes = {{POLICY, NULL, NULL},
                     {STATUS, NULL, KEPT},
                     {EXTENDERS, "deleted 0", "deleted 1"}}},
        {"policy-file", DOCTOR_FAULT,
         "the extender reads a file, but the controller reads the object named default",
         .changes = {PAPER_SET(PAPER_EXTENDER_FLAGS, BY_FILE)}},
        {"policy-file", DOCTOR_FAULT, "the controller reads a file, but the extender reads",
         .changes = {PAPER_SET(PAPER_CONTROLLER_FLAGS, BY_FILE)}},
        {"policy-file", DOCTOR_WARNING, "the object named default has no effect",
         .changes = {PAPER_SET(FLAGS, BY_FILE), {POLICY, "'True'", "'False'"}}},
        {"policy-file", DOCTOR_UNKNOWN, "flagz: 403",
         .changes = {{PAPER_EXTENDER_FLAGS, NULL, "403"}}},
        {.changes = {PAPER_SET(FLAGS, BY_FILE), {POLICY, NULL, NULL}}},
        /* The file asks for no CPU, and the built-in policy would. */
        {"policy-file", DOCTOR_WARNING, "the object named default has no effect",
         .changes = {PAPER_SET(FLAGS, BY_FILE), {STATUS, NULL, KEPT}, {NODES, CPU ", ", ""}}},
        {"policy-valid", DOCTOR_FAULT, "invalid", .changes = {{POLICY, "t': 1", "t': -1"}}},
        {"policy-valid", DOCTOR_FAULT, "invalid",
         .changes = {{POLICY, "t': 1", "t': -1"}, {STATUS, NULL, KEPT}, {NODES, CPU ", ", ""}}},
        {"policy-valid", DOCTOR_FAULT, "it is invalid: nested deeper than",
         .changes = {{POLICY, "'metadata'",
                      "'x': [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]"
                      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]], 'metadata'"}}},
        {"policy-warnings", DOCTOR_WARNING, "1 warning: spec.predicat",
         .changes = {{POLICY, "'predicate'", "'predicat': [], 'predicate'"}}},
        {"policy-in-force", DOCTOR_FAULT, "does not confirm the policy: valid",
         .changes = {{POLICY, "'True'", "'False'"}}},
        {"policy-in-force", DOCTOR_FAULT, "its status is empty",
         .changes = {{POLICY, "'conditions'", "'c'"}}},
        {"policy-in-force", DOCTOR_WARNING, "latest change",
         .changes = {{POLICY, "generation': 3", "generation': 4"}}},
        {"policy-limits", DOCTOR_FAULT, "every node is above",
         .changes = {REJECTS, {NODES, "0.25000,", "0.95000,"}}},
        /* For nodes of a pool its limit holds. */
        {.changes = {REJECTS,
                     {NODES, "0.25000,", "0.95000,"},
                     {NODES, "'annotations': {'cpu",
                      "'labels': {'spot': 'yes'}, 'annotations': {'cpu"},
                     SPOT("cpu_usage_avg_5m")}},
        {.changes = {{NODES, "0.25000,", "0.95000,"}}},             /* they all pass */
        {.changes = {REJECTS, {NODES, "0.25000,", "0.95000,", 6}}}, /* one is below */
        {"policy-weights", DOCTOR_WARNING, "no priority",
         .changes = {ABSOLUTE, {POLICY, WEIGHTS, "[]"}}},
        /* The nodes that matter are in a pool. */
        {.changes = {ABSOLUTE,
                     {POLICY, "'priority'", "'pools': [{'nodeSelector': {'a': 'b'}, 'priority'"},
                     {POLICY, WEIGHTS, WEIGHTS "}]"}}},
        /* An estimate then uses requests. */
        {"policy-warnings", DOCTOR_WARNING, "no reading to use",
         .changes = {{POLICY, WEIGHTS, "[]"}}},
        /* With no metric to write there are no annotations. */
        {"policy-warnings", DOCTOR_WARNING, "no reading to use",
         .changes = {{POLICY, "'3m'", "'0s'"},
                     {POLICY, "'15m'", "'0s'"},
                     {POLICY, "[{'name': 'cpu_usage_avg_5m', 'maxLimitPecent': 0.8}]", "[]"},
                     {POLICY, WEIGHTS, "[]"},
                     {NODES, "'annotations'", "'a'"}}},
        {"cluster-autoscaler", DOCTOR_WARNING, "autoscaler runs",
         .changes = {REJECTS, {AUTOSCALER, NULL, "{}"}}},
        {"karpenter", DOCTOR_WARNING, "Karpenter runs",
         .changes = {REJECTS, {"/apis/karpenter.sh", NULL, "{}"}}},
        {.changes = {{AUTOSCALER, NULL, "{}"}}},
        {.changes = {REJECTS,
                     {AUTOSCALER, NULL, "{}"},
                     {POLICY, "'maxLimitPecent'", "'overLimit': 'last', 'maxLimitPecent'"}}},
        {.changes = {REJECTS,
                     {AUTOSCALER, NULL, "{}"},
                     {POLICY, "'maxLimitPecent': 0.8", "'maxLimitPecent': 0"}}},
};
