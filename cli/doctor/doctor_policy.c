/* The policy, and its definition. */
#include <string.h>

#include "cli/doctor/doctor_check.h"
#include "codec/json.h"

static bool has_condition(const json_t *object, const char *wanted, const char **ret_message) {
        const json_t *conditions = json_at(object, "status", "conditions", NULL);

        *ret_message = NULL;
        for (size_t i = 0; i < json_array_size(conditions); i++) {
                const json_t *condition = json_array_get(conditions, i);
                const char *type = json_string_at(condition, "type", NULL);
                const char *status = json_string_at(condition, "status", NULL);
                if (!type || !status || strcmp(type, wanted) != 0)
                        continue;
                *ret_message = json_string_at(condition, "message", NULL);
                return strcmp(status, "True") == 0;
        }
        return false;
}

static void check_crd(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_fact *crd = &facts->objects[DOCTOR_CRD];

        if (crd->outcome == KUBE_NOT_FOUND)
                doctor_find(finding, DOCTOR_WARNING, "the cluster has no DynamicSchedulerPolicy");
        else
                doctor_needs(facts, DOCTOR_CRD, finding);
}

static void check_crd_established(const struct doctor_facts *facts,
                                  struct doctor_finding *finding) {
        const char *message;

        if (doctor_needs(facts, DOCTOR_CRD, finding) &&
            !has_condition(facts->objects[DOCTOR_CRD].json, "Established", &message))
                doctor_find(finding, DOCTOR_FAULT, "the definition is not established: %.200s",
                            message ? message : "it has no such condition");
}

static void check_object(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_fact *policy = &facts->objects[DOCTOR_POLICY];

        if (policy->outcome == KUBE_NOT_FOUND && doctor_has(facts, DOCTOR_CRD))
                doctor_find(finding, DOCTOR_WARNING,
                            "no object named default: the built-in policy is in force");
        else
                doctor_needs(facts, DOCTOR_POLICY, finding);
}

static void check_valid(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (doctor_needs(facts, DOCTOR_POLICY, finding) && facts->policy_err.code != 0)
                doctor_find(finding, DOCTOR_FAULT, "it is refused: %s", facts->policy_err.msg);
}

static void check_warnings(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (doctor_needs(facts, DOCTOR_POLICY, finding) && facts->policy_err.code == 0 &&
            facts->policy->warning_count > 0)
                doctor_find(finding, DOCTOR_WARNING, "%zu warnings: %s",
                            facts->policy->warning_count, facts->policy->warnings[0]);
}

static void check_in_force(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const char *message;

        if (!doctor_needs(facts, DOCTOR_POLICY, finding) || facts->policy_err.code != 0)
                return;
        const json_t *policy = facts->objects[DOCTOR_POLICY].json;
        if (!has_condition(policy, "InForce", &message))
                doctor_find(finding, DOCTOR_FAULT, "the controller does not confirm it: %.300s",
                            message ? message : "its status is empty");
        else if (json_int_at(-1, policy, "status", "observedGeneration", NULL) !=
                 json_int_at(0, policy, "metadata", "generation", NULL))
                doctor_find(finding, DOCTOR_WARNING,
                            "the controller has not seen the latest change yet");
}

static void check_limits(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct policy *policy = facts->policy;

        if (facts->nodes.outcome != KUBE_OK)
                doctor_find(finding, DOCTOR_UNKNOWN, "%s", facts->nodes.err.msg);
        else if (facts->nodes.count > 0 && facts->nodes.over == facts->nodes.count &&
                 policy->when_all_over == POLICY_ALL_OVER_REJECT)
                doctor_find(finding, DOCTOR_FAULT, "every node is above a limit");
}

static void check_priorities(const struct doctor_facts *facts, struct doctor_finding *finding) {
        double weights = 0;

        for (size_t i = 0; i < facts->policy->priority_count; i++)
                weights += facts->policy->priorities[i].weight;
        if (weights <= 0)
                doctor_find(finding, DOCTOR_WARNING, "no priority has a weight");
}

static const struct doctor_check rows[] = {
        {"policy-definition",
         "without it, the policy cannot be an object of the cluster, and is the built-in one",
         "kubectl apply -k deploy/", check_crd},
        {"policy-established", "the API server refuses policies until it is",
         "kubectl describe crd dynamicschedulerpolicies.scheduler.policy.crane.io",
         check_crd_established},
        {"policy-object", "limits and weights are not what you have chosen",
         "kubectl apply -f policy/policy.yaml", check_object},
        {"policy-valid", "the policy before it stays in force",
         "plimsoll-controller --check-config --policy-config-path=FILE", check_valid},
        {"policy-warnings", "a misspelt field has no effect",
         "plimsoll-controller --check-config --strict --policy-config-path=FILE", check_warnings},
        {"policy-in-force", "another policy decides",
         "kubectl get dsp; kubectl -n @NS logs deploy/plimsoll-controller | grep policy",
         check_in_force},
        {"policy-limits", "no pod can be scheduled",
         "add nodes, raise maxLimitPecent, or set whenAllOver: pass", check_limits},
        {"policy-weights", "all nodes get the same score", "give spec.priority weights",
         check_priorities},
};

const struct doctor_checks doctor_policy_checks = {rows, ARRAY_LEN(rows)};
