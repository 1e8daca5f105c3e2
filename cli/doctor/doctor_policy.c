/* The policy and its CustomResourceDefinition. */
#include "base/mem.h"
#include "cli/doctor/doctor_report.h"
#include "codec/json.h"

static bool has_file(const char *flags) {
        return doctor_flag(flags, "policy-config-path");
}

/* A running program keeps the policy of a deleted object; a program that starts later uses the
 * built-in policy. */
static void check_object(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const struct doctor_sum kept = doctor_page_sum(facts, 0, "plimsoll_policy_object_deleted",
                                                       NULL, NULL);
        bool has_kind = !doctor_lacks(facts, DOCTOR_KIND),
             has_object = facts->objects[DOCTOR_POLICY].json;
        bool is_split = kept.sum > 0 && kept.sum < (double)kept.count;
        _cleanup_(freep) char *force =
                kept.sum <= 0 ? xstrdup("the built-in policy is in force")
                              : xasprintf("%.0f of %zu programs keep the policy of the deleted "
                                          "object until they restart",
                                          kept.sum, kept.count);

        doctor_check(report, "policy-object",
                     has_object ? DOCTOR_OK
                     : is_split ? DOCTOR_FAULT
                                : DOCTOR_WARNING,
                     "limits and weights are not those that you chose", "%s: %s",
                     has_kind ? "no object named default"
                              : "the cluster has no DynamicSchedulerPolicy",
                     force);
        if (has_kind)
                doctor_fix(report, "kubectl apply -f policy/policy.yaml");
        else
                doctor_fix_by(report, "apply -k deploy/", "crds.enabled=true");
}

/* The controller says in the object whether it is in force. */
static void check_in_force(struct doctor_report *report) {
        const json_t *policy = report->facts->objects[DOCTOR_POLICY].json;
        const json_t *is = json_find_at("InForce", json_at(policy, "status", "conditions", NULL),
                                        "type", NULL);
        const struct error *err = &report->facts->policy_err;
        const char *message = json_string_at(is, "message", NULL);
        bool is_in_force = json_is_at("True", is, "status", NULL);
        bool is_seen = json_int_at(-1, policy, "status", "observedGeneration", NULL) ==
                       json_int_at(0, policy, "metadata", "generation", NULL);

        doctor_check(report, "policy-in-force",
                     is_in_force ? doctor_if(!is_seen, DOCTOR_WARNING) : DOCTOR_FAULT,
                     "another policy decides", "the controller %s: %.300s",
                     is_in_force ? "has not seen the latest change yet"
                                 : "does not confirm the policy",
                     message     ? message
                     : err->code ? err->msg
                                 : "its status is empty");
        doctor_fix(report,
                   "kubectl edit dsp default; if it is right, kubectl -n %s logs "
                   "deploy/plimsoll-controller | grep policy",
                   report->facts->namespace);
}

static void check_sources(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        bool controller = has_file(facts->controller_flags),
             extender = has_file(facts->extender_flags);
        bool has_object = doctor_has(facts, DOCTOR_POLICY);

        if (facts->controller_flags && facts->extender_flags) {
                doctor_check(report, "policy-file",
                             controller != extender
                                     ? DOCTOR_FAULT
                                     : doctor_if(controller && has_object, DOCTOR_WARNING),
                             "the programs, or you, read different policies",
                             "the controller reads %s, and the extender %s%s",
                             controller ? "a file" : "the object named default",
                             extender ? "a file" : "the object named default",
                             controller && extender ? "; the object has no effect" : "");
                doctor_fix(report, "run both programs without --policy-config-path, or with the "
                                   "same file, and delete the object");
        }
        if (!facts->controller_flags || controller)
                return;
        if (has_object || doctor_lacks(facts, DOCTOR_POLICY))
                check_object(report);
        if (has_object)
                check_in_force(report);
}

void doctor_check_policy(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const struct doctor_sum failed = doctor_page_sum(facts, 0, "plimsoll_policy_failed", NULL,
                                                         NULL);
        _cleanup_(freep) char *warnings = policy_warnings_text(facts->policy);
        bool is_valid = facts->policy_err.code == 0;

        doctor_about(report, DOCTOR_CONTROLLER);
        check_sources(report);
        /* Another check reports an invalid object. */
        doctor_check(report, "policy-loaded", doctor_if(is_valid && failed.sum > 0, DOCTOR_FAULT),
                     "the previous policy stays in force", "%.100s cannot load the latest policy",
                     failed.pod ? failed.pod : "");
        doctor_fix(report, "kubectl -n %s logs %s | grep 'cannot load policy'", facts->namespace,
                   doctor_name(failed.pod));
        doctor_about(report, 0);
        doctor_check(report, "policy-warnings", doctor_if(is_valid && warnings, DOCTOR_WARNING),
                     "a misspelled field or metric has no effect, or the policy decides worse than "
                     "it looks",
                     "%s", warnings ? warnings : "");
        doctor_fix(report, "kubectl edit dsp default");
}
