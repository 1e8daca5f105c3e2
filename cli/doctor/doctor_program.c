/* The two programs and the objects around them. */
#include <string.h>

#include "base/mem.h"
#include "cli/doctor/doctor_report.h"
#include "codec/json.h"

enum { MINOR_OLDEST = 29 };

static const struct program {
        enum doctor_object deployment;
        const char *name, *id, *why, *values;
} programs[] = {
        {DOCTOR_CONTROLLER, PROGRAM_CONTROLLER, "controller-replicas",
         "annotations expire while no replica is ready", "controller.replicas=2"},
        {DOCTOR_EXTENDER, PROGRAM_EXTENDER, "extender-replicas",
         "pods are placed without load while no replica is ready", "extender.replicas=2"},
};

/* Two checks depend on the same fact, so it is told once. */
static void check_unread(struct doctor_report *report) {
        for (int i = 0; i < DOCTOR_OBJECT_COUNT; i++) {
                const struct doctor_fact *fact = &report->facts->objects[i];
                if (fact->outcome != KUBE_OK && fact->outcome != KUBE_NOT_FOUND)
                        doctor_check(report, "unread", DOCTOR_UNKNOWN,
                                     "what depends on it was not checked", "%s", fact->err.msg);
        }
}

/* ": plimsoll-controller-0: nodes: not listed yet"; "": no program reports a reason. Owned by the
 * caller. */
static char *unready_text(const struct doctor_facts *facts) {
        static const char fails[] = "[-] ";

        for (size_t i = 0; i < facts->page_count; i++) {
                const json_t *line;
                size_t j;
                json_array_foreach (json_at(facts->pages[i].status, "checks", NULL), j, line) {
                        const char *text = json_string_value(line);
                        if (text && strncmp(text, fails, strlen(fails)) == 0)
                                return xasprintf(": %.100s: %.300s", facts->pages[i].pod,
                                                 text + strlen(fails));
                }
        }
        return xstrdup("");
}

static void check_lacking(struct doctor_report *report, const struct program *program) {
        doctor_check(report, program->id, DOCTOR_FAULT, program->why,
                     "no Deployment %s in the namespace %s", program->name,
                     report->facts->namespace);
        doctor_fix_by(report,
                      "apply -k deploy/; if it is in another namespace, --plimsoll-namespace=NAME",
                      "");
}

static void check_replicas(struct doctor_report *report, const struct program *program) {
        const struct doctor_facts *facts = report->facts;
        const json_t *object = facts->objects[program->deployment].json;
        bool is_extender = program->deployment == DOCTOR_EXTENDER;
        /* Taints and idle CPU need no extender, unless a scheduler is configured to call it. */
        bool is_needless = is_extender && !facts->entry &&
                           (facts->policy->level_count > 0 || facts->policy->idle_line_ratio > 0);
        long long wanted = json_int_at(1, object, "spec", "replicas", NULL);
        long long ready = json_int_at(0, object, "status", "readyReplicas", NULL);
        _cleanup_(freep) char *why = is_extender ? xstrdup("") : unready_text(facts);
        _cleanup_(freep) char *scale = xasprintf("-n %s scale deploy/%s --replicas=2",
                                                 facts->namespace, program->name);
        enum doctor_state state = (wanted == 0 && !is_needless) || (wanted > 0 && ready == 0)
                                          ? DOCTOR_FAULT
                                          : doctor_if(wanted == 1 || ready < wanted,
                                                      DOCTOR_WARNING);

        doctor_check(report, program->id, state, program->why, "%lld of %lld replicas are ready%s",
                     ready, wanted, why);
        doctor_fix_by(report, scale, program->values);
        if (wanted >= 2)
                doctor_fix(report, "kubectl -n %s describe pods -l app.kubernetes.io/name=%s",
                           facts->namespace, program->name);
}

/* All replicas on one node, although there are others? */
static void check_spread(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const char *node = NULL, *program = NULL;

        for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
                const char *first = NULL;
                size_t count = 0, same = 0, j;
                const json_t *pod;
                json_array_foreach (doctor_items(facts, DOCTOR_PODS), j, pod) {
                        const char *its = json_string_at(pod, "spec", "nodeName", NULL);
                        if (!its || !cluster_page_runs(pod, programs[i].name))
                                continue;
                        first = first ? first : its;
                        count++;
                        same += strcmp(first, its) == 0;
                }
                if (count > 1 && same == count && doctor_node_count(facts) > 1) {
                        node = first;
                        program = programs[i].name;
                }
        }
        doctor_check(report, "replicas-spread", doctor_if(node, DOCTOR_WARNING),
                     "a program ends with its node", "all replicas of %s are on %.253s",
                     program ? program : "", node ? node : "");
        doctor_fix(report, "kubectl -n %s rollout restart deploy/%s", facts->namespace,
                   doctor_name(program));
}

static void check_objects(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const json_t *service = facts->objects[DOCTOR_SERVICE].json;
        bool is_ours = json_is_at(PROGRAM_EXTENDER, service, "spec", "selector",
                                  "app.kubernetes.io/name", NULL);

        if (doctor_has(facts, DOCTOR_EXTENDER)) {
                doctor_check(report, "extender-service",
                             doctor_if(doctor_lacks(facts, DOCTOR_SERVICE) || (service && !is_ours),
                                       DOCTOR_FAULT),
                             "the scheduler's urlPrefix has its address",
                             "no Service plimsoll-extender in %s selects the extender's pods",
                             facts->namespace);
                doctor_fix_by(report, "apply -k deploy/", "");
        }
        if (doctor_has(facts, DOCTOR_CONTROLLER)) {
                doctor_check(report, "node-guard",
                             doctor_if(doctor_lacks(facts, DOCTOR_GUARD), DOCTOR_WARNING),
                             "a stolen token of the controller can change more than a Node's "
                             "annotations",
                             "no ValidatingAdmissionPolicy plimsoll-controller-nodes");
                doctor_fix_by(report, "apply -f deploy/base/node-guard.yaml",
                              "nodeGuard.enabled=true");
        }
}

void doctor_check_programs(struct doctor_report *report) {
        unsigned minor = doctor_minor(report->facts);

        check_unread(report);
        doctor_check(report, "kubernetes", doctor_if(minor < MINOR_OLDEST, DOCTOR_WARNING),
                     "Plimsoll supports Kubernetes 1.29 and later", "Kubernetes 1.%u", minor);
        doctor_fix(report, "upgrade the cluster");
        for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
                const struct program *program = &programs[i];
                /* A second scheduler has extenders in its pods. */
                bool is_beside = program->deployment == DOCTOR_EXTENDER &&
                                 !doctor_lacks(report->facts, DOCTOR_SCHEDULER);
                doctor_about(report, program->deployment);
                if (doctor_has(report->facts, program->deployment))
                        check_replicas(report, program);
                else if (doctor_lacks(report->facts, program->deployment) && !is_beside)
                        check_lacking(report, program);
        }
        doctor_about(report, 0);
        check_spread(report);
        check_objects(report);
}
