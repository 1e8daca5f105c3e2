#include "cli/doctor/doctor_permission.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"

#define REVIEWS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define CORE ""
#define LEASES "coordination.k8s.io", "leases"
#define POLICIES "scheduler.policy.crane.io", "dynamicschedulerpolicies"

static const char *const accounts[DOCTOR_ACCOUNTS] = {PROGRAM_CONTROLLER, PROGRAM_EXTENDER,
                                                      PROGRAM_CONTROLLER};

static const struct need {
        size_t account; /* of accounts */
        const char *verb, *group, *resource, *subresource;
        const char *namespace; /* NULL: all of them */
        bool is_of_lease;      /* in the Lease's namespace, and of its name */
        const char *source;    /* only if it is one of the controller's; NULL: always */
} needs[] = {
        {0, "list", CORE, "nodes", ""},
        {0, "watch", CORE, "nodes", ""},
        {0, "patch", CORE, "nodes", ""},
        {0, "get", CORE, "nodes", "metrics", .source = "kubelet"},
        {0, "list", "metrics.k8s.io", "nodes", "", .source = "metrics-server"},
        {0, "list", CORE, "pods", ""},
        {0, "watch", CORE, "pods", ""},
        {0, "create", CORE, "events", "", "default"},
        {0, "patch", CORE, "events", "", "default"},
        {0, "list", POLICIES, ""},
        {0, "watch", POLICIES, ""},
        {0, "patch", POLICIES, "status"},
        {0, "get", LEASES, "", .is_of_lease = true},
        {0, "update", LEASES, "", .is_of_lease = true},
        {1, "list", CORE, "nodes", ""},
        {1, "watch", CORE, "nodes", ""},
        {1, "list", CORE, "pods", ""},
        {1, "watch", CORE, "pods", ""},
        {1, "list", POLICIES, ""},
        {1, "watch", POLICIES, ""},
        {DOCTOR_ACCOUNT_IDLE, "patch", CORE, "nodes", "status"},
};

/* The body of a SubjectAccessReview; owned by the caller. */
static char *review_of(const struct need *need, const struct doctor_facts *facts) {
        const char *lease = program_flags_text(&facts->controller, FLAG_LEASE_NAME);
        _cleanup_(freep) char *user = xasprintf("system:serviceaccount:%s:%s", facts->namespace,
                                                accounts[need->account]);
        _cleanup_(freep) char *group = xasprintf("system:serviceaccounts:%s", facts->namespace);
        json_auto_t *review = json_pack(
                "{s:s, s:s, s:{s:s, s:[s,s,s], s:{s:s, s:s, s:s, s:s, s:s*, s:s*}}}", "kind",
                "SubjectAccessReview", "apiVersion", "authorization.k8s.io/v1", "spec", "user",
                user, "groups", "system:serviceaccounts", group, "system:authenticated",
                "resourceAttributes", "verb", need->verb, "group", need->group, "resource",
                need->resource, "subresource", need->subresource, "namespace",
                need->is_of_lease ? doctor_lease_namespace(facts) : need->namespace, "name",
                need->is_of_lease ? lease : NULL);

        return json_dumps(review, JSON_COMPACT);
}

/* Return: 1 allowed, 0 not; -1 not known, with the reason in @err */
static int may(struct cluster *cluster, const struct need *need, const struct doctor_facts *facts,
               struct error *err) {
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};
        _cleanup_(freep) char *body = review_of(need, facts);
        json_auto_t *review = NULL;

        cluster_call(cluster,
                     &(struct kube_request){.method = "POST",
                                            .path = REVIEWS_PATH,
                                            .body = body,
                                            .body_bytes = strlen(body)},
                     &answer);
        if (answer.outcome == KUBE_OK &&
            json_parse(answer.body, answer.body_bytes, &review, &answer.err) == 0) {
                const json_t *allowed = json_at(review, "status", "allowed", NULL);
                if (json_is_boolean(allowed))
                        return json_typeof(allowed) == JSON_TRUE;
        }
        (void)error_set(err, EIO, "POST %s: %s", REVIEWS_PATH,
                        answer.err.code ? answer.err.msg : "no status.allowed");
        return -1;
}

/* Not for a Lease that is not used or not known, nor for a source that is not asked, nor for idle
 * CPU that is not offered. */
static bool is_needed(const struct need *need, const struct doctor_facts *facts) {
        const struct program_flags *flags = &facts->controller;

        if (need->is_of_lease)
                return program_flags_is_on(flags, FLAG_LEADER_ELECT) &&
                       doctor_lease_namespace(facts) && program_flags_text(flags, FLAG_LEASE_NAME);
        if (need->account == DOCTOR_ACCOUNT_IDLE)
                return facts->policy->idle_line_ratio > 0;
        return !need->source || program_flags_has_word(flags, FLAG_METRICS_SOURCE, need->source);
}

void doctor_permission_ask(struct cluster *cluster, struct doctor_facts *facts) {
        for (size_t i = 0; i < DOCTOR_ACCOUNTS; i++) {
                struct doctor_permissions *permissions = &facts->permissions[i];
                _cleanup_(buf_done) struct buf missing = BUF_INIT(sizeof(permissions->missing) - 1);
                int allowed = 1;

                for (size_t j = 0; j < ARRAY_LEN(needs) && allowed >= 0; j++) {
                        const struct need *need = &needs[j];
                        if (need->account != i || !is_needed(need, facts))
                                continue;
                        allowed = may(cluster, need, facts, &permissions->err);
                        if (allowed == 0)
                                buf_printf(&missing, "%s%s %s%s%s%s%s", missing.len > 0 ? ", " : "",
                                           need->verb, need->resource,
                                           need->subresource[0] ? "/" : "", need->subresource,
                                           need->group[0] ? "." : "", need->group);
                }
                permissions->is_known = allowed >= 0;
                if (missing.len > 0)
                        memcpy(permissions->missing, missing.data, missing.len + 1);
        }
}
