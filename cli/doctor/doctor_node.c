/* The nodes: their annotations, and whether they can be used. */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_check.h"
#include "codec/json.h"

enum { APPROVAL_MAX_MS = 10 * 60 * MS_PER_S };

/* All nodes are a fault, some are a warning. */
static enum doctor_state gravity(const struct doctor_facts *facts, const struct doctor_set *set) {
        return set->count == facts->nodes.count ? DOCTOR_FAULT : DOCTOR_WARNING;
}

static void check_bare(const struct doctor_facts *facts, struct doctor_finding *finding) {
        /* Under another prefix they are the affair of another check. */
        if (facts->nodes.prefixed.count == 0)
                doctor_find_nodes(finding, gravity(facts, &facts->nodes.bare), facts,
                                  &facts->nodes.bare, "have no annotation of the policy");
}

static void check_stale(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, gravity(facts, &facts->nodes.stale), facts, &facts->nodes.stale,
                          "have no usable annotation any more");
}

static void check_malformed(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, DOCTOR_WARNING, facts, &facts->nodes.malformed,
                          "have an annotation that cannot be read");
}

static void check_unit(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, DOCTOR_FAULT, facts, &facts->nodes.large,
                          "have a usage far above 1, as if it were in percent");
}

static void check_clocks(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, DOCTOR_WARNING, facts, &facts->nodes.future,
                          "have values from the future");
}

static void check_zone(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, DOCTOR_FAULT, facts, &facts->nodes.shifted,
                          "have time stamps that are ahead by whole hours");
}

static void check_prefix(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, DOCTOR_FAULT, facts, &facts->nodes.prefixed,
                          "have their annotations under another prefix");
}

static void check_foreign(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, DOCTOR_WARNING, facts, &facts->nodes.foreign,
                          "have readings that no metric of the policy is called like");
}

static void check_writers(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, DOCTOR_FAULT, facts, &facts->nodes.shared,
                          "have annotations that somebody else writes as well");
}

/* A metric that limits or scores use and no node has, though nodes have others. */
static void check_unwritten(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct policy *policy = facts->policy;
        _cleanup_(buf_done) struct buf names = BUF_INIT(DOCTOR_WHAT_MAX / 2);
        size_t with_some = facts->nodes.count - facts->nodes.bare.count - facts->nodes.stale.count;

        if (facts->nodes.outcome != KUBE_OK) {
                doctor_find(finding, DOCTOR_UNKNOWN, "%s", facts->nodes.err.msg);
                return;
        }
        for (size_t i = 0; with_some > 0 && i < policy->metric_count; i++) {
                bool is_used = false;
                for (size_t j = 0; j < policy->predicate_total; j++)
                        is_used |= policy->predicates[j].metric == i;
                for (size_t j = 0; j < policy->priority_total; j++)
                        is_used |= policy->priorities[j].metric == i;
                if (is_used && facts->nodes.read_of[i] == 0)
                        buf_printf(&names, "%s%s", names.len > 0 ? ", " : "",
                                   policy->metrics[i].name);
        }
        if (names.len > 0)
                doctor_find(finding, DOCTOR_FAULT, "no node has %s", names.data);
}

static void check_cordoned(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (facts->nodes.cordoned.count * 2 > facts->nodes.count || facts->nodes.outcome != KUBE_OK)
                doctor_find_nodes(finding, DOCTOR_WARNING, facts, &facts->nodes.cordoned,
                                  "are cordoned");
}

static void check_ready(const struct doctor_facts *facts, struct doctor_finding *finding) {
        doctor_find_nodes(finding, gravity(facts, &facts->nodes.not_ready), facts,
                          &facts->nodes.not_ready, "are not ready");
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
        const char *example = NULL;
        size_t waiting = 0;

        if (!doctor_needs(facts, DOCTOR_KUBELET_REQUESTS, finding))
                return;
        const json_t *all = json_at(facts->objects[DOCTOR_KUBELET_REQUESTS].json, "items", NULL);
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

static const struct doctor_check rows[] = {
        {"annotations", "such nodes pass, and nothing is known of them",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep 'node is failing'", check_bare},
        {"annotations-fresh", "such nodes pass, and rank by old values",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep -e failing -e lease; if they are "
         "old by whole hours, run the extender with --annotation-timezone",
         check_stale},
        {"annotations-format", "what cannot be read is not used",
         "kubectl get node NODE -o jsonpath='{.metadata.annotations}'", check_malformed},
        {"annotations-unit", "every node is above every limit, and scores 0",
         "run the extender with --annotation-unit=percent", check_unit},
        {"annotations-clock", "they are used longer than they should be",
         "synchronise the clocks of the machines that controllers run on", check_clocks},
        {"annotations-timezone", "they are used for hours after they should have expired",
         "run the extender with --annotation-timezone=Asia/Shanghai, or the zone of the writer",
         check_zone},
        {"annotations-prefix", "the extender looks for other keys",
         "give controller and extender the same --annotation-prefix", check_prefix},
        {"annotations-left", "they are old, nobody renews them, and other schedulers may use them",
         "plimsoll-controller --cleanup --dry-run, with the controllers stopped", check_foreign},
        {"annotations-writers", "each overwrites the other's values",
         "stop crane-scheduler-controller, or give one of them another --annotation-prefix",
         check_writers},
        {"metrics-written", "limits and weights on it have no effect",
         "plimsoll-controller --dry-run --once prints the reason for each metric", check_unwritten},
        {"nodes-ready", "they take no pods", "kubectl describe node NODE", check_ready},
        {"nodes-cordoned", "few nodes take pods, and these get all the load",
         "kubectl uncordon NODE", check_cordoned},
        {"kubelet-certificates",
         "without one a kubelet answers nobody who verifies it, neither us nor metrics-server",
         "kubectl get csr, and kubectl certificate approve NAME; better, run an approver",
         check_kubelets},
};

const struct doctor_checks doctor_node_checks = {rows, ARRAY_LEN(rows)};
