/* The policy and its CustomResourceDefinition. */
#include "base/mem.h"
#include "cli/doctor/doctor_check.h"
#include "codec/json.h"

static const char *message_of(const json_t *condition, const char *fallback) {
        const char *message = json_string_at(condition, "message", NULL);

        return message ? message : fallback;
}

static void check_established(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const json_t *is = doctor_condition(facts->objects[DOCTOR_CRD].json, "Established");

        if (!doctor_is_true(is))
                doctor_find(finding, DOCTOR_FAULT, "the definition is not established: %.200s",
                            message_of(is, "it has no such condition"));
}

/* A running program keeps the policy of a deleted object; a program that starts later uses the
 * built-in policy. */
static void find_no_object(const struct doctor_facts *facts, const char *what,
                           struct doctor_finding *finding) {
        static const char metric[] = "plimsoll_policy_object_deleted";
        const struct doctor_sum kept = doctor_page_sum(facts, 0, metric, NULL, NULL);

        if (kept.sum <= 0)
                doctor_find(finding, DOCTOR_WARNING, "%s: %s is in force", what,
                            facts->policy_from);
        else if (kept.sum < (double)kept.count)
                doctor_find(finding, DOCTOR_FAULT,
                            "%s: only %.0f of %zu programs keep the policy of the deleted object",
                            what, kept.sum, kept.count);
        else
                doctor_find(finding, DOCTOR_WARNING,
                            "%s: the programs keep the policy of the deleted object until they "
                            "restart",
                            what);
}

static bool has_file(const struct doctor_flags *flags) {
        return doctor_flag(flags, "policy-config-path");
}

static void check_definition(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char what[] = "the cluster has no DynamicSchedulerPolicy";

        if (!doctor_lacks(facts, DOCTOR_CRD))
                (void)doctor_needs(facts, DOCTOR_CRD, finding);
        else if (has_file(&facts->controller))
                doctor_find(finding, DOCTOR_WARNING, "%s, but the programs read files", what);
        else
                find_no_object(facts, what, finding);
}

static void check_file(const struct doctor_facts *facts, struct doctor_finding *finding) {
        bool controller = has_file(&facts->controller);
        bool extender = has_file(&facts->extender);

        if (!doctor_needs_flags(&facts->controller, finding) ||
            !doctor_needs_flags(&facts->extender, finding))
                return;
        if (controller != extender)
                doctor_find(finding, DOCTOR_FAULT,
                            "the %s reads a file, but the %s reads the object named default",
                            controller ? "controller" : "extender",
                            controller ? "extender" : "controller");
        else if (controller && doctor_has(facts, DOCTOR_POLICY))
                doctor_find(finding, DOCTOR_WARNING,
                            "the programs read files, so the object named default has no effect");
}

/* Another check reports a missing definition. */
static void check_object(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (!doctor_has(facts, DOCTOR_CRD) || !doctor_lacks(facts, DOCTOR_POLICY))
                (void)doctor_needs(facts, DOCTOR_POLICY, finding);
        else if (doctor_needs_flags(&facts->controller, finding) && !has_file(&facts->controller))
                find_no_object(facts, "no object named default", finding);
}

static void check_valid(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (facts->policy_err.code != 0)
                doctor_find(finding, DOCTOR_FAULT, "it is invalid: %s", facts->policy_err.msg);
}

static void check_warnings(const struct doctor_facts *facts, struct doctor_finding *finding) {
        _cleanup_(freep) char *warnings = policy_warnings_text(facts->policy);

        if (facts->policy_err.code == 0 && warnings)
                doctor_find(finding, DOCTOR_WARNING, "%s", warnings);
}

static void check_in_force(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const json_t *policy = facts->objects[DOCTOR_POLICY].json;
        const json_t *is = doctor_condition(policy, "InForce");

        if (facts->policy_err.code != 0 || has_file(&facts->controller))
                return;
        if (!doctor_is_true(is))
                doctor_find(finding, DOCTOR_FAULT,
                            "the controller does not confirm the policy: %.300s",
                            message_of(is, "its status is empty"));
        else if (json_int_at(-1, policy, "status", "observedGeneration", NULL) !=
                 json_int_at(0, policy, "metadata", "generation", NULL))
                doctor_find(finding, DOCTOR_WARNING,
                            "the controller has not seen the latest change yet");
        if (finding->state != DOCTOR_OK) /* without flags, it may read a file */
                (void)doctor_needs_flags(&facts->controller, finding);
}

static void check_limits(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct policy *policy = facts->policy;

        if (doctor_needs(facts, DOCTOR_NODES, finding) && facts->nodes.count > 0 &&
            facts->nodes.over == facts->nodes.count &&
            policy->when_all_over == POLICY_ALL_OVER_REJECT)
                doctor_find(finding, DOCTOR_FAULT, "every node is above a limit");
}

/* A list of priorities has a weight. Without a list, an estimate uses the pods' requests. */
static void check_priorities(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (facts->policy->priority_total == 0 && facts->policy->scoring != POLICY_SCORING_ESTIMATE)
                doctor_find(finding, DOCTOR_WARNING, "the policy has no priority");
}

static const struct doctor_check rows[] = {
        {"policy-definition", "you cannot change the policy with an object in the cluster",
         "@UP; kubectl apply -f policy/policy.yaml", check_definition,
         .kubectl = "apply -k deploy/", .values = "crds.enabled=true"},
        {"policy-established", "the API server accepts no policies until then",
         "kubectl describe crd dynamicschedulerpolicies.scheduler.policy.crane.io",
         check_established, .needs = DOCTOR_CRD},
        {"policy-object", "limits and weights are not those that you chose",
         "kubectl apply -f policy/policy.yaml", check_object, .settles = DOCTOR_CONTROLLER},
        {"policy-file", "the programs, or you, read different policies",
         "run both programs without --policy-config-path, or with the same file, and delete the "
         "object",
         check_file, .needs = DOCTOR_CONTROLLER},
        {"policy-valid", "the previous policy stays in force",
         "kubectl edit dsp default; kubectl plimsoll simulate -f FILE checks a policy before you "
         "apply it",
         check_valid, .needs = DOCTOR_POLICY},
        {"policy-warnings",
         "a misspelled field or metric has no effect, or the policy decides worse than it looks",
         "kubectl edit dsp default", check_warnings, .needs = DOCTOR_POLICY},
        {"policy-in-force", "another policy decides",
         "kubectl get dsp; kubectl -n @NS logs deploy/plimsoll-controller | grep policy",
         check_in_force, .needs = DOCTOR_POLICY, .settles = DOCTOR_CONTROLLER},
        {"policy-limits", "no pod can be scheduled",
         "add nodes, raise maxLimitPecent, or set whenAllOver: pass", check_limits},
        {"policy-weights", "all nodes get the same score", "add spec.priority", check_priorities},
};

const struct doctor_checks doctor_policy_checks = {rows, ARRAY_LEN(rows)};
