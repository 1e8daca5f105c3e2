#include "cli/doctor/doctor_permission.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"

#define REVIEWS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define CONTROLLER DOCTOR_ACCOUNT_CONTROLLER
#define EXTENDER DOCTOR_ACCOUNT_EXTENDER
#define IDLE DOCTOR_ACCOUNT_IDLE
#define CORE ""
#define LEASES "coordination.k8s.io", "leases"
#define POLICIES "scheduler.policy.crane.io", "dynamicschedulerpolicies"

static const char *const accounts[DOCTOR_ACCOUNT_COUNT] = {PROGRAM_CONTROLLER, PROGRAM_EXTENDER,
                                                           PROGRAM_CONTROLLER};

/* What a permission is needed for. */
enum purpose {
        FOR_ALL,
        FOR_KUBELETS,
        FOR_METRICS_SERVER,
        FOR_EVENTS,
        FOR_POLICY,
        FOR_LEASE, /* only for the Lease that the flags name */
        FOR_IDLE,
        FOR_BIND,
};

static const struct need {
        enum doctor_account account;
        enum purpose purpose;
        const char *verb, *group, *resource, *subresource;
        const char *namespace; /* NULL: all */
} needs[] = {
        {CONTROLLER, FOR_ALL, "list", CORE, "nodes", ""},
        {CONTROLLER, FOR_ALL, "watch", CORE, "nodes", ""},
        {CONTROLLER, FOR_ALL, "patch", CORE, "nodes", ""},
        {CONTROLLER, FOR_KUBELETS, "get", CORE, "nodes", "metrics"},
        {CONTROLLER, FOR_METRICS_SERVER, "list", "metrics.k8s.io", "nodes", ""},
        {CONTROLLER, FOR_ALL, "list", CORE, "pods", ""},
        {CONTROLLER, FOR_ALL, "watch", CORE, "pods", ""},
        {CONTROLLER, FOR_EVENTS, "create", CORE, "events", "", "default"},
        {CONTROLLER, FOR_EVENTS, "patch", CORE, "events", "", "default"},
        {CONTROLLER, FOR_POLICY, "list", POLICIES, ""},
        {CONTROLLER, FOR_POLICY, "watch", POLICIES, ""},
        {CONTROLLER, FOR_POLICY, "patch", POLICIES, "status"},
        {CONTROLLER, FOR_LEASE, "get", LEASES, ""},
        {CONTROLLER, FOR_LEASE, "update", LEASES, ""},
        {EXTENDER, FOR_ALL, "list", CORE, "nodes", ""},
        {EXTENDER, FOR_ALL, "watch", CORE, "nodes", ""},
        {EXTENDER, FOR_ALL, "list", CORE, "pods", ""},
        {EXTENDER, FOR_ALL, "watch", CORE, "pods", ""},
        {EXTENDER, FOR_POLICY, "list", POLICIES, ""},
        {EXTENDER, FOR_POLICY, "watch", POLICIES, ""},
        {EXTENDER, FOR_BIND, "create", CORE, "pods", "binding"},
        {IDLE, FOR_IDLE, "patch", CORE, "nodes", "status"},
};

/* The body of a SubjectAccessReview; owned by the caller. */
static char *review_of(const struct need *need, const struct doctor_facts *facts) {
        const struct doctor_flags *flags = &facts->controller;
        const char *lease = doctor_flag(flags, "leader-elect-resource-name");
        const char *lease_namespace = doctor_flag(flags, "leader-elect-resource-namespace");
        bool is_lease = need->purpose == FOR_LEASE;
        _cleanup_(freep) char *user = xasprintf("system:serviceaccount:%s:%s", facts->namespace,
                                                accounts[need->account]);
        _cleanup_(freep) char *group = xasprintf("system:serviceaccounts:%s", facts->namespace);
        json_auto_t *review = json_pack(
                "{s:s, s:s, s:{s:s, s:[s,s,s], s:{s:s, s:s, s:s, s:s, s:s*, s:s*}}}", "kind",
                "SubjectAccessReview", "apiVersion", "authorization.k8s.io/v1", "spec", "user",
                user, "groups", "system:serviceaccounts", group, "system:authenticated",
                "resourceAttributes", "verb", need->verb, "group", need->group, "resource",
                need->resource, "subresource", need->subresource, "namespace",
                !is_lease         ? need->namespace
                : lease_namespace ? lease_namespace
                                  : facts->namespace,
                "name", is_lease ? lease : NULL);

        return json_dumps(review, JSON_COMPACT);
}

/* Return: 1 allowed, 0 denied; -1 unknown, with the reason in @err */
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

/* Flags name sources; those in a file are only on the page of metrics. */
static bool has_source(const struct doctor_facts *facts, const char *name) {
        return doctor_flag_has(&facts->controller, "metrics-source", name) ||
               doctor_page_sum(facts, DOCTOR_CONTROLLER, "plimsoll_nodes_served", "source", name)
                               .count > 0;
}

/* Does the program do what the permission is for, as far as is known? */
static bool is_needed(const struct need *need, const struct doctor_facts *facts) {
        const struct doctor_flags *flags = need->account == EXTENDER ? &facts->extender
                                                                     : &facts->controller;

        switch (need->purpose) {
        case FOR_ALL:
                break;
        case FOR_KUBELETS:
                return has_source(facts, "kubelet");
        case FOR_METRICS_SERVER:
                return has_source(facts, "metrics-server");
        case FOR_EVENTS:
                return doctor_flag_is_on(flags, "events");
        case FOR_POLICY:
                return !doctor_flag(flags, "policy-config-path");
        case FOR_LEASE:
                return doctor_flag_is_on(flags, "leader-elect");
        case FOR_IDLE:
                return facts->policy->idle_line_ratio > 0;
        case FOR_BIND:
                return doctor_flag_is_on(flags, "bind");
        }
        return true;
}

void doctor_permission_ask(struct cluster *cluster, struct doctor_facts *facts) {
        for (size_t i = 0; i < DOCTOR_ACCOUNT_COUNT; i++) {
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
