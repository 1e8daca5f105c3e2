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

/* What a right is needed for. */
enum need_for {
        FOR_ALL,
        FOR_KUBELETS,
        FOR_METRICS_SERVER,
        FOR_EVENTS,
        FOR_POLICY,
        FOR_LEASE, /* in its namespace, and of its name */
        FOR_IDLE,
        FOR_BIND,
};

static const struct need {
        size_t account; /* of accounts */
        const char *verb, *group, *resource, *subresource;
        enum need_for what;
        const char *namespace; /* NULL: all of them */
} needs[] = {
        {0, "list", CORE, "nodes", ""},
        {0, "watch", CORE, "nodes", ""},
        {0, "patch", CORE, "nodes", ""},
        {0, "get", CORE, "nodes", "metrics", FOR_KUBELETS},
        {0, "list", "metrics.k8s.io", "nodes", "", FOR_METRICS_SERVER},
        {0, "list", CORE, "pods", ""},
        {0, "watch", CORE, "pods", ""},
        {0, "create", CORE, "events", "", FOR_EVENTS, "default"},
        {0, "patch", CORE, "events", "", FOR_EVENTS, "default"},
        {0, "list", POLICIES, "", FOR_POLICY},
        {0, "watch", POLICIES, "", FOR_POLICY},
        {0, "patch", POLICIES, "status", FOR_POLICY},
        {0, "get", LEASES, "", FOR_LEASE},
        {0, "update", LEASES, "", FOR_LEASE},
        {1, "list", CORE, "nodes", ""},
        {1, "watch", CORE, "nodes", ""},
        {1, "list", CORE, "pods", ""},
        {1, "watch", CORE, "pods", ""},
        {1, "list", POLICIES, "", FOR_POLICY},
        {1, "watch", POLICIES, "", FOR_POLICY},
        {1, "create", CORE, "pods", "binding", FOR_BIND},
        {1, "get", CORE, "pods", "", FOR_BIND},
        {DOCTOR_ACCOUNT_IDLE, "patch", CORE, "nodes", "status", FOR_IDLE},
};

/* The body of a SubjectAccessReview; owned by the caller. */
static char *review_of(const struct need *need, const struct doctor_facts *facts) {
        const char *lease = doctor_flag(&facts->controller, "leader-elect-resource-name");
        _cleanup_(freep) char *user = xasprintf("system:serviceaccount:%s:%s", facts->namespace,
                                                accounts[need->account]);
        _cleanup_(freep) char *group = xasprintf("system:serviceaccounts:%s", facts->namespace);
        json_auto_t *review = json_pack(
                "{s:s, s:s, s:{s:s, s:[s,s,s], s:{s:s, s:s, s:s, s:s, s:s*, s:s*}}}", "kind",
                "SubjectAccessReview", "apiVersion", "authorization.k8s.io/v1", "spec", "user",
                user, "groups", "system:serviceaccounts", group, "system:authenticated",
                "resourceAttributes", "verb", need->verb, "group", need->group, "resource",
                need->resource, "subresource", need->subresource, "namespace",
                need->what == FOR_LEASE ? doctor_lease_namespace(facts) : need->namespace, "name",
                need->what == FOR_LEASE ? lease : NULL);

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

/* By a flag, or by a file, whose sources show on the metrics page. */
static bool has_source(const struct doctor_facts *facts, const char *name) {
        return doctor_flag_has(&facts->controller, "metrics-source", name) ||
               doctor_page_sum(facts, DOCTOR_CONTROLLER, "plimsoll_nodes_served", "source", name)
                               .count > 0;
}

/* Whether the program does what the right is for, as far as is known. */
static bool is_needed(const struct need *need, const struct doctor_facts *facts) {
        const struct doctor_flags *flags = need->account == 1 ? &facts->extender
                                                              : &facts->controller;

        switch (need->what) {
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
