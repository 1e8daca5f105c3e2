/* The nodes and their annotations. */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_check.h"
#include "codec/json.h"

enum { APPROVAL_MAX_MS = 10 * 60 * MS_PER_S };

/* "<subject> <the row's text>: a, b, c" */
static void find_set(const struct doctor_set *set, const char *subject, enum doctor_state state,
                     struct doctor_finding *finding) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(DOCTOR_WHAT_MAX - 1);

        buf_printf(&text, "%s %s", subject, finding->check->what);
        if (set->detail)
                buf_printf(&text, " (%s)", set->detail);
        for (size_t i = 0; i < size_min(set->count, DOCTOR_EXAMPLES); i++)
                buf_printf(&text, "%s%s", i > 0 ? ", " : ": ", set->names[i]);
        doctor_find(finding, state, "%s%s", text.data, set->count > DOCTOR_EXAMPLES ? ", ..." : "");
        doctor_name(finding, set->names[0]);
}

/* "3 of 200 nodes <the row's text>: a, b, c". If the row has no state, all nodes are a fault and
 * some are a warning. Some nodes are unknown if they may be those that the controller ignores. */
static void check_nodes(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_check *check = finding->check;
        const struct doctor_set *set = &facts->nodes.sets[check->set];
        bool is_about_followed = check->set == DOCTOR_BARE || check->set == DOCTOR_STALE ||
                                 check->set == DOCTOR_OFFERLESS;
        size_t all = facts->nodes.count - (is_about_followed ? facts->nodes.ignored : 0);
        enum doctor_state by_share = set->count == all ? DOCTOR_FAULT : DOCTOR_WARNING;
        _cleanup_(freep) char *subject = xasprintf("%zu of %zu nodes", set->count, all);

        if (doctor_needs(facts, DOCTOR_NODES, finding) && set->count > 0 &&
            (!is_about_followed || set->count == all ||
             doctor_needs_flags(&facts->controller, finding)))
                find_set(set, subject, check->state ? check->state : by_share, finding);
}

/* The flags say how to read annotations; only the extender has the unit. */
static void check_style(const struct doctor_facts *facts, struct doctor_finding *finding) {
        bool is_unit = finding->check->set == DOCTOR_LARGE;

        check_nodes(facts, finding);
        if (finding->state > DOCTOR_UNKNOWN)
                (void)doctor_needs_flags(is_unit ? &facts->extender : doctor_reader(facts),
                                         finding);
}

static void check_bare(const struct doctor_facts *facts, struct doctor_finding *finding) {
        /* Another check reports annotations with another prefix. */
        if (facts->nodes.sets[DOCTOR_PREFIXED].count == 0)
                check_nodes(facts, finding);
}

/* A metric that limits or scores use and that no node has, although nodes have other metrics. */
static void check_unwritten(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct policy *policy = facts->policy;
        _cleanup_(buf_done) struct buf names = BUF_INIT(DOCTOR_WHAT_MAX / 2);
        size_t with_some = facts->nodes.count - facts->nodes.ignored -
                           facts->nodes.sets[DOCTOR_BARE].count;

        if (!doctor_needs(facts, DOCTOR_NODES, finding))
                return;
        for (size_t i = 0; with_some > 0 && i < policy->metric_count; i++)
                if (facts->nodes.needed[i] > 0 && facts->nodes.present[i] == 0)
                        buf_printf(&names, "%s%s", names.len > 0 ? ", " : "",
                                   policy->metrics[i].name);
        if (names.len > 0)
                doctor_find(finding, DOCTOR_FAULT, "no node has %s", names.data);
}

static void check_cordoned(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_nodes *nodes = &facts->nodes;

        if (nodes->sets[DOCTOR_CORDONED].count * 2 > nodes->count ||
            !doctor_has(facts, DOCTOR_NODES))
                check_nodes(facts, finding);
}

/* A CertificateSigningRequest that is neither approved nor denied after a while. */
static bool is_waiting(const struct doctor_facts *facts, const json_t *request) {
        const char *created = json_string_at(request, "metadata", "creationTimestamp", NULL);
        int64_t created_unix_ms;

        return json_array_size(json_at(request, "status", "conditions", NULL)) == 0 && created &&
               timestamp_parse(created, strlen(created), &created_unix_ms) &&
               facts->now_unix_ms - created_unix_ms > APPROVAL_MAX_MS;
}

/* Such a kubelet cannot serve TLS. The API server deletes the request after a day, and the kubelet
 * creates another one. */
static void check_kubelets(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const json_t *all = json_at(facts->objects[DOCTOR_KUBELET_REQUESTS].json, "items", NULL);
        const char *example = NULL;
        size_t waiting = 0;

        for (size_t i = 0; i < json_array_size(all); i++) {
                const json_t *request = json_array_get(all, i);
                if (!is_waiting(facts, request))
                        continue;
                waiting++;
                example = json_string_at(request, "spec", "username", NULL);
        }
        if (waiting > 0)
                doctor_find(finding, DOCTOR_WARNING,
                            "%zu kubelets, such as %.100s, wait for a serving certificate", waiting,
                            example ? example : "?");
}

/* Other checks report a policy that cannot be read, and the missing permission. */
static void check_offers(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (facts->policy_err.code != 0 || facts->permissions[DOCTOR_ACCOUNT_IDLE].missing[0])
                return;
        check_nodes(facts, finding);
        /* A node that offers nothing may run batch pods that cannot be listed. */
        if (finding->state > DOCTOR_UNKNOWN && doctor_is_hidden(facts, DOCTOR_ALL_PODS))
                (void)doctor_needs(facts, DOCTOR_ALL_PODS, finding);
}

static void check_idle_pods(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_set *set = &facts->pods.mixed;
        _cleanup_(freep) char *subject = xasprintf("%zu pod%s", set->count,
                                                   number_plural(set->count));

        if (facts->policy->idle_line_ratio > 0 && doctor_needs(facts, DOCTOR_ALL_PODS, finding) &&
            set->count > 0)
                find_set(set, subject, DOCTOR_WARNING, finding);
}

static const struct doctor_check rows[] = {
        {"annotations", "these nodes pass, but nothing is known about their load",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep 'node is failing'", check_bare,
         .set = DOCTOR_BARE, .settles = DOCTOR_CONTROLLER,
         .what = "have no annotation of the policy"},
        {"annotations-fresh", "the limit is ignored on these nodes, and old values rank them",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep -e failing -e lease -e clock; "
         "if they are old by whole hours, run the extender with --annotation-timezone",
         check_nodes, .set = DOCTOR_STALE, .settles = DOCTOR_CONTROLLER,
         .what = "have an annotation that has expired"},
        {"annotations-format", "an unreadable value is ignored",
         "kubectl get node @IT -o jsonpath='{.metadata.annotations}'", check_nodes,
         .set = DOCTOR_MALFORMED, .state = DOCTOR_WARNING,
         .what = "have an annotation that cannot be read"},
        {"annotations-unit", "every node is above every limit, and scores 0",
         "run the extender with --annotation-unit=percent", check_style, .set = DOCTOR_LARGE,
         .state = DOCTOR_FAULT, .what = "have a usage far above 1, as if it were in percent"},
        {"annotations-clock", "these values expire too late",
         "synchronize the clocks of the machines that controllers run on", check_nodes,
         .set = DOCTOR_FUTURE, .state = DOCTOR_WARNING, .what = "have values from the future"},
        {"annotations-timezone", "these values expire hours too late",
         "run the extender with --annotation-timezone=Asia/Shanghai, or the zone of the writer",
         check_style, .set = DOCTOR_SHIFTED, .state = DOCTOR_FAULT,
         .what = "have timestamps that are ahead by whole hours"},
        {"annotations-prefix", "the extender reads other keys",
         "run controller and extender with the same --annotation-prefix", check_style,
         .set = DOCTOR_PREFIXED, .state = DOCTOR_FAULT,
         .what = "have annotations with another prefix"},
        {"annotations-left", "nothing renews these values, but other schedulers may use them",
         "kubectl annotate node @IT KEY-, for each such key of each such node", check_nodes,
         .set = DOCTOR_FOREIGN, .state = DOCTOR_WARNING,
         .what = "have readings older than a day that no controller renews or removes"},
        {"annotations-writers", "the writers overwrite each other's values",
         "stop crane-scheduler-controller, or run one of them with another --annotation-prefix",
         check_nodes, .set = DOCTOR_SHARED, .state = DOCTOR_FAULT,
         .what = "have annotations that another program also writes"},
        {"metrics-written", "limits and weights of this metric have no effect",
         "a kubelet has only CPU, memory, swap and PSI, and metrics-server only CPU and memory: "
         "run "
         "node_exporter for others. The reason for each metric: kubectl -n @NS exec "
         "deploy/plimsoll-controller -- /usr/bin/plimsoll-controller --dry-run --once",
         check_unwritten, .settles = DOCTOR_CONTROLLER},
        {"nodes-ready", "these nodes take no pods", "kubectl describe node @IT", check_nodes,
         .set = DOCTOR_NOT_READY, .what = "are not ready"},
        {"nodes-cordoned", "the few other nodes get all the load", "kubectl uncordon @IT",
         check_cordoned, .set = DOCTOR_CORDONED, .state = DOCTOR_WARNING, .what = "are cordoned"},
        {"kubelet-certificates",
         "neither Plimsoll nor metrics-server can verify a kubelet without one",
         "kubectl get csr, and kubectl certificate approve NAME; better, run an approver",
         check_kubelets, .needs = DOCTOR_KUBELET_REQUESTS},
        {"idle-offers", "no batch pod is placed on these nodes",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep 'idle CPU'", check_offers,
         .set = DOCTOR_OFFERLESS, .settles = DOCTOR_CONTROLLER,
         .what = "offer no idle CPU, although the policy has spec.idle"},
        {"idle-left", "nothing lowers the offer when these nodes get busy",
         "@UP, until the controller has removed the offers; without a controller, kubectl apply -k "
         "deploy/cleanup",
         check_offers, .kubectl = "apply -k deploy/idle", .values = "idle.enabled=true",
         .needs = DOCTOR_POLICY, .set = DOCTOR_OFFER_LEFT, .state = DOCTOR_WARNING,
         .what = "still offer idle CPU, although the policy has no spec.idle"},
        {"idle-pods", "these pods count twice, and get CPU before other batch pods do",
         "remove cpu from the pods' requests; if their template has none, remove it from default "
         "and defaultRequest of the namespace's LimitRange",
         check_idle_pods, .what = "with requests for both CPU and idle CPU"},
};

const struct doctor_checks doctor_node_checks = {rows, ARRAY_LEN(rows)};
