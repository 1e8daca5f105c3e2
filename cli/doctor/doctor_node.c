/* The nodes: their annotations, and whether they can be used. */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_check.h"
#include "codec/json.h"

enum { APPROVAL_MAX_MS = 10 * 60 * MS_PER_S };

/* "<of whom> <the row's text>: a, b, c" */
static void find_set(const struct doctor_set *set, const char *of_whom, enum doctor_state state,
                     struct doctor_finding *finding) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(DOCTOR_WHAT_MAX - 1);

        buf_printf(&text, "%s %s", of_whom, finding->check->what);
        if (set->detail)
                buf_printf(&text, " (%s)", set->detail);
        for (size_t i = 0; i < size_min(set->count, DOCTOR_EXAMPLES); i++)
                buf_printf(&text, "%s%s", i > 0 ? ", " : ": ", set->names[i]);
        doctor_find(finding, state, "%s%s", text.data, set->count > DOCTOR_EXAMPLES ? ", ..." : "");
        doctor_name(finding, set->names[0]);
}

/* "3 of 200 nodes <the row's text>: a, b, c". Without a state in the row, all nodes are a fault,
 * and some are a warning, unless these may be the ones that the controller leaves out. */
static void check_nodes(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_check *check = finding->check;
        const struct doctor_set *set = &facts->nodes.sets[check->set];
        bool is_of_followed = check->set == DOCTOR_BARE || check->set == DOCTOR_STALE ||
                              check->set == DOCTOR_OFFERLESS;
        size_t all = facts->nodes.count - (is_of_followed ? facts->nodes.ignored : 0);
        enum doctor_state by_share = set->count == all ? DOCTOR_FAULT : DOCTOR_WARNING;
        _cleanup_(freep) char *of_whom = xasprintf("%zu of %zu nodes", set->count, all);

        if (doctor_needs(facts, DOCTOR_NODES, finding) && set->count > 0 &&
            (!is_of_followed || set->count == all ||
             doctor_needs_flags(&facts->controller, finding)))
                find_set(set, of_whom, check->state ? check->state : by_share, finding);
}

/* How annotations are read is not known without the programs; only the extender says whether they
 * are in percent. */
static void check_style(const struct doctor_facts *facts, struct doctor_finding *finding) {
        bool is_unit = finding->check->set == DOCTOR_LARGE;

        check_nodes(facts, finding);
        if (finding->state > DOCTOR_UNKNOWN)
                (void)doctor_needs_flags(is_unit ? &facts->extender : doctor_reader(facts),
                                         finding);
}

static void check_bare(const struct doctor_facts *facts, struct doctor_finding *finding) {
        /* Annotations under another prefix are found by another check. */
        if (facts->nodes.sets[DOCTOR_PREFIXED].count == 0)
                check_nodes(facts, finding);
}

/* A metric that limits or scores use and no node has, though nodes have others. */
static void check_unwritten(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct policy *policy = facts->policy;
        _cleanup_(buf_done) struct buf names = BUF_INIT(DOCTOR_WHAT_MAX / 2);
        size_t with_some = facts->nodes.count - facts->nodes.ignored -
                           facts->nodes.sets[DOCTOR_BARE].count;

        if (!doctor_needs(facts, DOCTOR_NODES, finding))
                return;
        for (size_t i = 0; with_some > 0 && i < policy->metric_count; i++)
                if (facts->nodes.wanted_of[i] > 0 && facts->nodes.read_of[i] == 0)
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

/* A CertificateSigningRequest that nobody has approved or denied for a while. */
static bool is_waiting(const struct doctor_facts *facts, const json_t *request) {
        const char *created = json_string_at(request, "metadata", "creationTimestamp", NULL);
        int64_t created_unix_ms;

        return json_array_size(json_at(request, "status", "conditions", NULL)) == 0 && created &&
               timestamp_parse(created, strlen(created), &created_unix_ms) &&
               facts->now_unix_ms - created_unix_ms > APPROVAL_MAX_MS;
}

/* Such a kubelet serves nothing over TLS. The API server deletes the request after a day, and the
 * kubelet makes another. */
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
                            "%zu requests of kubelets for a serving certificate wait, such as "
                            "%.100s's",
                            waiting, example ? example : "?");
}

/* That the policy cannot be read, or that the controller lacks the right, is found by another
 * check. */
static void check_offers(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (facts->policy_err.code != 0 || facts->permissions[DOCTOR_ACCOUNT_IDLE].missing[0])
                return;
        check_nodes(facts, finding);
        /* A node that offers nothing may have batch pods that cannot be seen. */
        if (finding->state > DOCTOR_UNKNOWN && doctor_is_hidden(facts, DOCTOR_IDLE_PODS))
                (void)doctor_needs(facts, DOCTOR_IDLE_PODS, finding);
}

static void check_idle_pods(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_set *set = &facts->idle_pods;
        _cleanup_(freep) char *of_whom = xasprintf("%zu pod%s", set->count,
                                                   number_plural(set->count));

        if (set->count > 0)
                find_set(set, of_whom, DOCTOR_WARNING, finding);
}

static const struct doctor_check rows[] = {
        {"annotations", "such nodes pass, and nothing is known of them",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep 'node is failing'", check_bare,
         .set = DOCTOR_BARE, .what = "have no annotation of the policy"},
        {"annotations-fresh",
         "a limit on it has no effect on such nodes, and they rank by old values",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep -e failing -e lease -e clock; "
         "if they are old by whole hours, run the extender with --annotation-timezone",
         check_nodes, .set = DOCTOR_STALE, .what = "have an annotation that has expired"},
        {"annotations-format", "what cannot be read is not used",
         "kubectl get node @IT -o jsonpath='{.metadata.annotations}'", check_nodes,
         .set = DOCTOR_MALFORMED, .state = DOCTOR_WARNING,
         .what = "have an annotation that cannot be read"},
        {"annotations-unit", "every node is above every limit, and scores 0",
         "run the extender with --annotation-unit=percent", check_style, .set = DOCTOR_LARGE,
         .state = DOCTOR_FAULT, .what = "have a usage far above 1, as if it were in percent"},
        {"annotations-clock", "they are used longer than they should be",
         "synchronise the clocks of the machines that controllers run on", check_nodes,
         .set = DOCTOR_FUTURE, .state = DOCTOR_WARNING, .what = "have values from the future"},
        {"annotations-timezone", "they are used for hours after they should have expired",
         "run the extender with --annotation-timezone=Asia/Shanghai, or the zone of the writer",
         check_style, .set = DOCTOR_SHIFTED, .state = DOCTOR_FAULT,
         .what = "have time stamps that are ahead by whole hours"},
        {"annotations-prefix", "the extender looks for other keys",
         "give controller and extender the same --annotation-prefix", check_style,
         .set = DOCTOR_PREFIXED, .state = DOCTOR_FAULT,
         .what = "have their annotations under another prefix"},
        {"annotations-left", "they are old, nobody renews them, and other schedulers may use them",
         "kubectl annotate node @IT KEY-, for each such key of each such node", check_nodes,
         .set = DOCTOR_FOREIGN, .state = DOCTOR_WARNING,
         .what = "have readings older than a day that no controller renews or removes"},
        {"annotations-writers", "each overwrites the other's values",
         "stop crane-scheduler-controller, or give one of them another --annotation-prefix",
         check_nodes, .set = DOCTOR_SHARED, .state = DOCTOR_FAULT,
         .what = "have annotations that somebody else writes as well"},
        {"metrics-written", "limits and weights on it have no effect",
         "plimsoll-controller --dry-run --once prints the reason for each metric", check_unwritten},
        {"nodes-ready", "they take no pods", "kubectl describe node @IT", check_nodes,
         .set = DOCTOR_NOT_READY, .what = "are not ready"},
        {"nodes-cordoned", "few nodes take pods, and these get all the load",
         "kubectl uncordon @IT", check_cordoned, .set = DOCTOR_CORDONED, .state = DOCTOR_WARNING,
         .what = "are cordoned"},
        {"kubelet-certificates",
         "without one a kubelet answers nobody who verifies it, neither us nor metrics-server",
         "kubectl get csr, and kubectl certificate approve NAME; better, run an approver",
         check_kubelets, .needs = DOCTOR_KUBELET_REQUESTS},
        {"idle-offers", "no batch pod is placed on them",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep 'idle CPU'", check_offers,
         .set = DOCTOR_OFFERLESS, .what = "offer no idle CPU, though the policy has spec.idle"},
        {"idle-left", "nobody lowers it when they get busy",
         "kubectl apply -k deploy/idle until the controller has taken it away; or "
         "plimsoll-controller --cleanup, with the controllers stopped",
         check_offers, .needs = DOCTOR_POLICY, .set = DOCTOR_OFFER_LEFT, .state = DOCTOR_WARNING,
         .what = "still offer idle CPU, though the policy has no spec.idle"},
        {"idle-pods", "they are counted twice, and get CPU before other batch pods do",
         "take cpu out of the pods' requests; if it is not in their template, a LimitRange of the "
         "namespace adds it: take cpu out of its default and defaultRequest",
         check_idle_pods, .needs = DOCTOR_IDLE_PODS,
         .what = "with CPU and idle CPU among the requests"},
};

const struct doctor_checks doctor_node_checks = {rows, ARRAY_LEN(rows)};
