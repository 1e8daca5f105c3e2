/* The two programs and the objects around them. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_check.h"
#include "codec/json.h"

enum {
        MANY_RESTARTS = 5,
        RESTARTS_COUNT_MS = 60 * 60 * MS_PER_S,
        MINOR_OLDEST = 29,
};

static void check_version(const struct doctor_facts *facts, struct doctor_finding *finding) {
        unsigned minor = doctor_minor(facts);

        if (minor == 0)
                doctor_find(finding, DOCTOR_UNKNOWN, "/version has no minor version");
        else if (minor < MINOR_OLDEST)
                doctor_find(finding, DOCTOR_WARNING, "Kubernetes 1.%u", minor);
}

/* Do not suggest a second installation to somebody who looks in the wrong namespace. */
static void check_installed(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_check_there(facts, finding);
        if (finding->state != DOCTOR_FAULT || !facts->elsewhere)
                return;
        doctor_find(finding, DOCTOR_FAULT, "Plimsoll is in the namespace %s, not in %s",
                    facts->elsewhere, facts->namespace);
        doctor_name(finding, facts->elsewhere);
        finding->fix = "kubectl plimsoll doctor --plimsoll-namespace=@IT";
}

static void check_extender(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (doctor_has(facts, DOCTOR_SCHEDULER)) /* its pods run extenders */
                return;
        if (doctor_lacks(facts, DOCTOR_EXTENDER) && doctor_is_hidden(facts, DOCTOR_SCHEDULER))
                (void)doctor_needs(facts, DOCTOR_SCHEDULER, finding);
        else
                check_installed(facts, finding);
}

/* ": plimsoll-controller-0: nodes: not listed yet"; "": no controller reports a reason. Owned by
 * the caller. */
static char *unready_text(const struct doctor_facts *facts) {
        static const char fails[] = "[-] ";

        for (size_t i = 0; i < facts->page_count; i++) {
                const json_t *checks = json_at(facts->pages[i].status, "checks", NULL);
                for (size_t j = 0; j < json_array_size(checks); j++) {
                        const char *line = json_string_value(json_array_get(checks, j));
                        if (line && strncmp(line, fails, strlen(fails)) == 0)
                                return xasprintf(": %.100s: %.300s", facts->pages[i].pod,
                                                 line + strlen(fails));
                }
        }
        return xstrdup("");
}

/* Taints and idle CPU need no extender, unless a scheduler is configured to call it. */
static void find_no_replicas(const struct doctor_facts *facts, bool is_extender,
                             struct doctor_finding *finding) {
        const struct doctor_config *config = facts->config;
        bool is_needless = is_extender &&
                           (facts->policy->level_count > 0 || facts->policy->idle_line_ratio > 0);

        if (is_needless && !config)
                doctor_find(
                        finding, DOCTOR_UNKNOWN,
                        "it is scaled to 0 replicas; with --scheduler-config, doctor checks that "
                        "no scheduler calls it");
        else if (!is_needless || config->entry)
                doctor_find(finding, DOCTOR_FAULT, "it is scaled to 0 replicas%s%.200s",
                            is_needless ? ", but called by " : "", is_needless ? config->from : "");
}

static void check_replicas(const struct doctor_facts *facts, struct doctor_finding *finding) {
        bool is_extender = finding->check->needs == DOCTOR_EXTENDER;
        const json_t *deployment = facts->objects[finding->check->needs].json;
        long long desired = json_int_at(1, deployment, "spec", "replicas", NULL);
        long long ready = json_int_at(0, deployment, "status", "readyReplicas", NULL);

        if (desired == 0) {
                find_no_replicas(facts, is_extender, finding);
                return;
        }
        _cleanup_(freep) char *why = is_extender ? xstrdup("") : unready_text(facts);
        if (ready == 0)
                doctor_find(finding, DOCTOR_FAULT, "none of %lld replicas is ready%s", desired,
                            why);
        else if (ready < desired)
                doctor_find(finding, DOCTOR_WARNING, "%lld of %lld replicas are ready%s", ready,
                            desired, why);
        else if (desired < 2)
                doctor_find(finding, DOCTOR_WARNING, "there is one replica");
}

static void check_service(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (!doctor_is_there(facts, DOCTOR_SERVICE, DOCTOR_FAULT,
                             "no Service plimsoll-extender in @NS", finding))
                return;
        if (!json_is_at(PROGRAM_EXTENDER, facts->objects[DOCTOR_SERVICE].json, "spec", "selector",
                        "app.kubernetes.io/name", NULL))
                doctor_find(finding, DOCTOR_FAULT,
                            "the Service plimsoll-extender does not select the extender's pods");
}

/* Return: the node that runs all of the program's pods, if there are several; else NULL */
static const char *shared_node(const struct doctor_facts *facts, const char *program) {
        const json_t *pods = json_at(facts->objects[DOCTOR_PODS].json, "items", NULL);
        const char *first = NULL;
        size_t count = 0;

        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                const char *node = json_string_at(pod, "spec", "nodeName", NULL);
                if (!node ||
                    !json_is_at(program, pod, "metadata", "labels", "app.kubernetes.io/name", NULL))
                        continue;
                first = first ? first : node;
                count++;
                if (strcmp(first, node) != 0)
                        return NULL;
        }
        return count > 1 ? first : NULL;
}

static void check_spread(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char *const programs[] = {PROGRAM_EXTENDER, PROGRAM_CONTROLLER};

        for (size_t i = 0; i < ARRAY_LEN(programs) && facts->nodes.count > 1; i++) {
                const char *node = shared_node(facts, programs[i]);
                if (!node)
                        continue;
                doctor_name(finding, programs[i]);
                doctor_find(finding, DOCTOR_WARNING, "all replicas of %s are on %.253s",
                            programs[i], node);
        }
}

/* Only the last hour counts: the cause of older restarts may be gone. */
static bool is_restarting(const struct doctor_facts *facts, const json_t *status) {
        const char *ended = json_string_at(status, "lastState", "terminated", "finishedAt", NULL);
        int64_t ended_unix_ms;

        return json_int_at(0, status, "restartCount", NULL) >= MANY_RESTARTS && ended &&
               timestamp_parse(ended, strlen(ended), &ended_unix_ms) &&
               facts->now_unix_ms - ended_unix_ms <= RESTARTS_COUNT_MS;
}

/* Ignore sidecars that somebody added to our pods. */
static bool is_of_program(const json_t *pod, const json_t *status) {
        const char *app = json_string_at(pod, "metadata", "labels", "app.kubernetes.io/name", NULL);

        if (!app || (strcmp(app, PROGRAM_CONTROLLER) != 0 && strcmp(app, PROGRAM_EXTENDER) != 0))
                return true;
        const json_t *own = cluster_page_container(json_at(pod, "spec", NULL), app);
        return json_equal(json_at(status, "name", NULL), json_at(own, "name", NULL));
}

static void look_at_restarts(const struct doctor_facts *facts, const json_t *pod,
                             struct doctor_finding *finding) {
        const json_t *statuses = json_at(pod, "status", "containerStatuses", NULL);
        const char *name = json_string_at(pod, "metadata", "name", NULL);

        for (size_t i = 0; i < json_array_size(statuses); i++) {
                const json_t *status = json_array_get(statuses, i);
                const char *reason = json_string_at(status, "lastState", "terminated", "reason",
                                                    NULL);
                if (!is_restarting(facts, status) || !is_of_program(pod, status))
                        continue;
                doctor_name(finding, name);
                doctor_find(finding, DOCTOR_WARNING, "%.100s was restarted %lld times (%.60s)",
                            name ? name : "a pod", json_int_at(0, status, "restartCount", NULL),
                            reason ? reason : "for an unknown reason");
        }
}

static void check_restarts(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const json_t *pods = json_at(facts->objects[DOCTOR_PODS].json, "items", NULL);

        for (size_t i = 0; i < json_array_size(pods); i++)
                look_at_restarts(facts, json_array_get(pods, i), finding);
}

static void check_skew(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char metric[] = "plimsoll_build_info";
        size_t all = doctor_page_sum(facts, 0, metric, NULL, NULL).count;
        size_t ours = doctor_page_sum(facts, 0, metric, "version", PLIMSOLL_VERSION).count;

        if (all == 0)
                doctor_find(finding, DOCTOR_UNKNOWN, "no program's metrics can be read");
        else if (ours < all)
                doctor_find(finding, DOCTOR_WARNING,
                            "%zu of %zu programs have another version than this plugin, %s",
                            all - ours, all, PLIMSOLL_VERSION);
}

static void check_permissions(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_permissions *permissions = &facts->permissions[finding->check->account];

        if (permissions->missing[0])
                doctor_find(finding, DOCTOR_FAULT, "it may not %s", permissions->missing);
        else if (!permissions->is_known)
                doctor_find(finding, DOCTOR_UNKNOWN, "%s", permissions->err.msg);
}

static void check_kubelet_tls(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_flags *flags = &facts->controller;

        if (doctor_needs_flags(flags, finding) &&
            doctor_flag_has(flags, "metrics-source", "kubelet") &&
            doctor_flag_is_on(flags, "kubelet-insecure-skip-verify"))
                doctor_find(
                        finding, DOCTOR_WARNING,
                        "the certificates of kubelets are not verified, but kubelets get a token");
}

/* Only a kubelet reports the usage of each pod. */
static void check_idle_source(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char first[] = "kubelet";
        const char *sources = doctor_flag(&facts->controller, "metrics-source");

        if (facts->policy->idle_line_ratio == 0 ||
            !doctor_needs_flags(&facts->controller, finding) ||
            doctor_flag(&facts->controller, "sources"))
                return;
        if (!sources || strcspn(sources, ",") != strlen(first) ||
            strncmp(sources, first, strlen(first)) != 0)
                doctor_find(finding, DOCTOR_WARNING,
                            "the policy has spec.idle, but --metrics-source=%.60s does not begin "
                            "with kubelet",
                            sources ? sources : "node-exporter");
}

static const struct doctor_check rows[] = {
        {"kubernetes", "Plimsoll supports Kubernetes 1.29 and later", "upgrade the cluster",
         check_version},
        {"controller", "nothing writes annotations", "@UP", check_installed,
         .kubectl = "apply -k deploy/", .object = DOCTOR_CONTROLLER, .state = DOCTOR_FAULT,
         .what = "no Deployment plimsoll-controller in @NS"},
        {"controller-replicas", "annotations expire while no replica is ready",
         "kubectl -n @NS get pods -l app.kubernetes.io/name=plimsoll-controller; @UP",
         check_replicas, .kubectl = "-n @NS scale deploy/plimsoll-controller --replicas=2",
         .values = "controller.replicas=2", .needs = DOCTOR_CONTROLLER,
         .settles = DOCTOR_CONTROLLER},
        {"extender", "the scheduler has nothing to call", "@UP", check_extender,
         .kubectl = "apply -k deploy/", .object = DOCTOR_EXTENDER, .state = DOCTOR_FAULT,
         .what = "no Deployment plimsoll-extender in @NS"},
        {"extender-replicas", "pods are placed without load while no replica is ready",
         "kubectl -n @NS get pods -l app.kubernetes.io/name=plimsoll-extender; @UP", check_replicas,
         .kubectl = "-n @NS scale deploy/plimsoll-extender --replicas=2",
         .values = "extender.replicas=2", .needs = DOCTOR_EXTENDER, .settles = DOCTOR_EXTENDER},
        {"replicas-spread", "a program ends with its node",
         "kubectl -n @NS rollout restart deploy/@IT", check_spread, .needs = DOCTOR_PODS},
        {"extender-service", "the scheduler's urlPrefix has its address", "@UP", check_service,
         .kubectl = "apply -k deploy/", .needs = DOCTOR_EXTENDER},
        {"restarts", "windows are empty after a restart", "kubectl -n @NS logs --previous @IT",
         check_restarts, .needs = DOCTOR_PODS},
        {"versions", "different versions may read a policy differently", "@UP", check_skew,
         .settles = DOCTOR_CONTROLLER,
         .kubectl = "apply -k deploy/, after you set newTag in deploy/images/kustomization.yaml"},
        {"controller-permissions", "the controller cannot do its work without them", "@UP",
         check_permissions, .kubectl = "apply -f deploy/base/rbac-controller.yaml",
         .account = DOCTOR_ACCOUNT_CONTROLLER},
        {"extender-permissions",
         "the extender cannot rank nodes by what it may not read; pods that "
         "it may not bind stay pending",
         "@UP", check_permissions,
         .kubectl = "apply -f deploy/base/rbac-extender.yaml; with --bind, also kubectl apply -f "
                    "deploy/extender-bind/rbac.yaml",
         .needs = DOCTOR_EXTENDER, .account = DOCTOR_ACCOUNT_EXTENDER},
        {"idle-rights", "the policy has spec.idle, but no node can offer idle CPU", "@UP",
         check_permissions, .kubectl = "apply -k deploy/idle", .values = "idle.enabled=true",
         .account = DOCTOR_ACCOUNT_IDLE},
        {"idle-source", "the usage of batch pods counts like that of services: nodes look busy",
         "run the controller with --metrics-source=kubelet,node-exporter", check_idle_source,
         .needs = DOCTOR_CONTROLLER},
        {"kubelet-tls",
         "a server at a node's address gets a token with the controller's permissions",
         "set serverTLSBootstrap: true for the kubelets, or use a client certificate in --sources",
         check_kubelet_tls, .needs = DOCTOR_CONTROLLER},
        {"node-guard", "a stolen token of the controller can change more than a Node's annotations",
         "@UP; on Kubernetes 1.29, upgrade the cluster first", doctor_check_there,
         .kubectl = "apply -f deploy/base/node-guard.yaml", .values = "nodeGuard.enabled=true",
         .needs = DOCTOR_CONTROLLER, .object = DOCTOR_GUARD, .state = DOCTOR_WARNING,
         .what = "no ValidatingAdmissionPolicy plimsoll-controller-nodes"},
};

const struct doctor_checks doctor_program_checks = {rows, ARRAY_LEN(rows)};
