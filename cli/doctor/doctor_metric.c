/* What the running programs report: their metrics and status pages. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_report.h"
#include "codec/json.h"

enum {
        EXPIRES_SOON_DAYS = 21,
        BINDING_MAX_S = 300, /* from a call to the binding; volumes take time */
};

static const double TIME_MAX_S = 1e10; /* what a page says is not to be believed */

static struct doctor_sum sum_of(const struct doctor_report *report, enum doctor_object program,
                                const char *metric) {
        return doctor_page_sum(report->facts, program, metric, NULL, NULL);
}

/* One that runs and does not answer has a fault, such as one that hangs. One that may not be asked
 * is unknown. */
static void check_pages(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        enum doctor_state state = DOCTOR_OK;
        const struct doctor_page *worst = NULL;

        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                bool is_silent = page->outcome == KUBE_UNAVAILABLE;
                bool is_refused = is_silent && strstr(page->err.msg, "refused");
                enum doctor_state its = page->text   ? DOCTOR_OK
                                        : is_refused ? DOCTOR_FAULT
                                        : is_silent  ? DOCTOR_WARNING
                                                     : DOCTOR_UNKNOWN;
                if (its > state) {
                        state = its;
                        worst = page;
                }
        }
        doctor_check(report, "metrics-pages", state,
                     "what it reports is unknown, and calls of an extender that hangs delay pods",
                     "%.100s does not answer: %s", worst ? worst->pod : "",
                     worst ? worst->err.msg : "");
        doctor_fix(report,
                   "kubectl -n %s describe pod %s, and its log; if it is well, the API server "
                   "cannot reach it: see the NetworkPolicies",
                   facts->namespace, doctor_name(worst ? worst->pod : NULL));
}

/* ---- The controllers. */

static long long of_source(const json_t *status, const char *source, const char *key) {
        return json_int_at(0, json_find_at(source, json_at(status, "sources", NULL), "name", NULL),
                           key, NULL);
}

/* A node that its kubelet serves needs no exporter. */
static long long failing_of(const json_t *status, const char *source) {
        return of_source(status, source, "nodesFailing") -
               (strcmp(source, "node-exporter") == 0 ? of_source(status, "kubelet", "nodesServed")
                                                     : 0);
}

/* All its nodes fail, and no other source serves one. */
static bool is_outage(const json_t *status, const char *source) {
        const json_t *other;
        long long served = 0;
        size_t i;

        json_array_foreach (json_at(status, "sources", NULL), i, other)
                served += json_int_at(0, other, "nodesServed", NULL);
        return failing_of(status, source) >= json_int_at(0, status, "nodeCount", NULL) &&
               served <= of_source(status, source, "nodesServed");
}

/* Append the failures that a controller reports. Return: how severe they are */
static enum doctor_state put_failures(const json_t *status, struct buf *out) {
        enum doctor_state state = DOCTOR_OK;
        const json_t *failure;
        size_t i;

        json_array_foreach (json_at(status, "failures", NULL), i, failure) {
                const char *source = json_string_at(failure, "source", NULL);
                const char *reason = json_string_at(failure, "reason", NULL);
                const char *see = json_string_at(failure, "see", NULL);
                const json_t *example = json_array_get(json_at(failure, "examples", NULL), 0);
                if (!source || failing_of(status, source) <= 0)
                        continue;
                if (state != DOCTOR_FAULT)
                        state = is_outage(status, source) ? DOCTOR_FAULT : DOCTOR_WARNING;
                buf_printf(out, "%s%.40s fails on %lld of %lld nodes, such as %.64s: %.40s, see %s",
                           out->len > 0 ? "; " : "", source, json_int_at(0, failure, "nodes", NULL),
                           json_int_at(0, status, "nodeCount", NULL),
                           json_is_string(example) ? json_string_value(example) : "?",
                           reason ? reason : "?", see ? see : "the log");
        }
        return state;
}

/* All replicas look at the same nodes: the one that sees most of a problem counts. */
static void check_sources(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        _cleanup_(buf_done) struct buf worst = BUF_INIT(DOCTOR_TEXT_MAX - 1);
        enum doctor_state state = DOCTOR_OK;

        for (size_t i = 0; i < facts->page_count; i++) {
                struct buf text = BUF_INIT(DOCTOR_TEXT_MAX - 1);
                enum doctor_state its = put_failures(facts->pages[i].status, &text);
                if (its > state) {
                        buf_done(&worst);
                        worst = text;
                        state = its;
                } else {
                        buf_done(&text);
                }
        }
        doctor_check(report, "exporters", state,
                     "a node without a working source has no annotations", "%s",
                     worst.len > 0 ? worst.data : "");
        doctor_fix(report,
                   "docs/troubleshooting.md has a row for each reason, and kubectl -n %s logs "
                   "deploy/plimsoll-controller | grep 'node is failing' the addresses. The ports "
                   "must be open in deploy/base/network-policy.yaml, or with Helm, in "
                   "networkPolicies.extraEgressPorts",
                   facts->namespace);
}

/* What the API server refuses is what the account lacks. */
static void check_rights(struct doctor_report *report, enum doctor_object program, const char *id,
                         const char *kubectl) {
        const struct doctor_facts *facts = report->facts;
        _cleanup_(buf_done) struct buf refused = BUF_INIT(DOCTOR_TEXT_MAX - 1);

        doctor_refused(facts, program, &refused);
        const char *text = refused.len > 0 ? refused.data : "";
        bool is_idle = strstr(text, "nodes/status");

        doctor_check(report, id, doctor_if(refused.len > 0, DOCTOR_FAULT),
                     "the program cannot do its work without them", "the API server refuses %s",
                     text);
        doctor_fix_by(report,
                      is_idle                          ? "apply -k deploy/idle"
                      : strstr(text, "pods/binding")   ? "apply -f deploy/extender-bind/rbac.yaml"
                      : strstr(text, "preferrednodes") ? "apply -f deploy/admission/rbac.yaml"
                                                       : kubectl,
                      is_idle ? "idle.enabled=true" : "");
}

/* Does no node have the metric of the policy with this number? */
static bool is_unmeasured(const json_t *nodes, size_t metric) {
        const json_t *node;
        size_t i;

        json_array_foreach (nodes, i, node)
                if (json_is_number(json_array_get(json_at(node, "usage", NULL), metric)))
                        return false;
        return json_array_size(nodes) > 0;
}

/* Metrics that limits or scores use and that no node has, although nodes have others. */
static void check_metrics(struct doctor_report *report) {
        const struct policy *policy = report->facts->policy;
        _cleanup_(buf_done) struct buf names = BUF_INIT(DOCTOR_TEXT_MAX / 2);
        bool has_some = false;

        for (size_t i = 0; i < report->facts->page_count; i++) {
                const json_t *status = report->facts->pages[i].status;
                const json_t *nodes = json_at(status, "nodes", NULL), *metric;
                size_t j;
                if (!status || !doctor_has(report->facts, DOCTOR_POLICY) ||
                    report->facts->policy_err.code != 0)
                        continue;
                buf_clear(&names);
                json_array_foreach (json_at(status, "policy", "metrics", NULL), j, metric) {
                        const char *name = json_string_at(metric, "name", NULL);
                        bool is_bare = is_unmeasured(nodes, j);
                        has_some |= !is_bare;
                        if (is_bare && name && j < policy->metric_count &&
                            strcmp(policy->metrics[j].name, name) == 0 && policy_uses(policy, j))
                                buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", name);
                }
        }
        doctor_check(report, "metrics-written", doctor_if(has_some && names.len > 0, DOCTOR_FAULT),
                     "limits and weights of this metric have no effect", "no node has %s",
                     names.len > 0 ? names.data : "");
        doctor_fix(
                report,
                "a kubelet has only CPU, memory, swap and PSI, and metrics-server only CPU and "
                "memory: run node_exporter for others. The reason for each metric: kubectl -n %s "
                "exec deploy/plimsoll-controller -- /usr/bin/plimsoll-controller --dry-run --once",
                report->facts->namespace);
}

static void check_idle(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const char *sources = doctor_flag(facts->controller_flags, "metrics-source");
        bool is_kubelet = sources && strncmp(sources, "kubelet", strlen("kubelet")) == 0;
        double offered = sum_of(report, DOCTOR_CONTROLLER, "plimsoll_idle_offered_cores").largest;
        double mixed = sum_of(report, DOCTOR_CONTROLLER, "plimsoll_idle_mixed_pods").largest;

        doctor_check(report, "idle-offers", doctor_if(offered <= 0, DOCTOR_WARNING),
                     "no batch pod is placed by idle CPU",
                     "the policy has spec.idle, but no node offers idle CPU");
        doctor_fix(report, "kubectl -n %s logs deploy/plimsoll-controller | grep 'idle CPU'",
                   facts->namespace);
        /* Only a kubelet reports the usage of each pod. */
        doctor_check(
                report, "idle-source",
                doctor_if(!is_kubelet && !doctor_flag(facts->controller_flags, "sources"),
                          DOCTOR_WARNING),
                "what batch pods use counts like that of services",
                "the policy has spec.idle, but --metrics-source=%.*s does not begin with kubelet",
                sources ? (int)strcspn(sources, "\n") : 0, sources ? sources : "");
        doctor_fix(report, "run the controller with --metrics-source=kubelet,node-exporter");
        doctor_check(report, "idle-pods", doctor_if(mixed > 0, DOCTOR_WARNING),
                     "these pods count twice, and get CPU before other batch pods do",
                     "%.0f pods request both CPU and idle CPU", mixed);
        doctor_fix(report, "remove cpu from the pods' requests; if their template has none, remove "
                           "it from default and defaultRequest of the namespace's LimitRange");
}

/* New pods are not measured yet, and metrics-server may stand in for kubelets. */
static void check_pods(struct doctor_report *report) {
        double bound = sum_of(report, DOCTOR_CONTROLLER, "plimsoll_pods").largest;
        double measured = sum_of(report, DOCTOR_CONTROLLER, "plimsoll_pods_measured").largest;
        double failing = sum_of(report, DOCTOR_CONTROLLER, "plimsoll_kubelets_failing").largest;

        doctor_check(report, "pods-measured",
                     doctor_if(failing > 0 && measured < 0.9 * bound, DOCTOR_WARNING),
                     "the others count by what their workload used before, or by their requests",
                     "%.0f of %.0f pods are measured, and %.0f kubelets cannot be read", measured,
                     bound, failing);
        doctor_fix(report,
                   "kubectl -n %s logs deploy/plimsoll-controller | grep 'reading of pods' has the "
                   "reason for each kubelet; if none is read, add metrics-server to the sources",
                   report->facts->namespace);
}

static void check_controllers(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const struct doctor_sum leaders = sum_of(report, DOCTOR_CONTROLLER, "plimsoll_leader");
        bool are_all_read = true;

        for (size_t i = 0; i < facts->page_count; i++)
                are_all_read &= facts->pages[i].program != DOCTOR_CONTROLLER ||
                                facts->pages[i].text;
        check_sources(report);
        check_rights(report, DOCTOR_CONTROLLER, "controller-permissions",
                     "apply -f deploy/base/rbac-controller.yaml");
        /* One that cannot be read may lead. */
        doctor_check(report, "leader",
                     doctor_if(leaders.sum > 1 || (leaders.sum < 1 && are_all_read), DOCTOR_FAULT),
                     "without a leader nothing is written; two overwrite each other's values",
                     "%.0f controllers in %s lead", leaders.sum, facts->namespace);
        doctor_fix(report,
                   "give all controllers the same --leader-elect-resource-namespace and -name; "
                   "kubectl -n %s logs deploy/plimsoll-controller | grep lease",
                   facts->namespace);
        check_metrics(report);
        if (leaders.sum > 0)
                check_pods(report);
        if (facts->policy->idle_line_ratio > 0 && facts->controller_flags)
                check_idle(report);
}

/* ---- The extenders. */

/* An idle cluster needs no calls, so an old one matters only if a pod was bound long after it, and
 * after the start of the youngest extender: earlier calls may have been for the one that it
 * replaced. Where admission steers pods, no scheduler need ever call; next to a second scheduler,
 * kube-scheduler does not. */
static void check_called(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const struct doctor_sum calls = sum_of(report, DOCTOR_EXTENDER,
                                               "plimsoll_extender_last_call_timestamp_seconds");
        double called_s = fmin(calls.largest, TIME_MAX_S);
        double bound_s = sum_of(report, DOCTOR_EXTENDER,
                                "plimsoll_extender_last_binding_timestamp_seconds")
                                 .largest;
        double began_s = sum_of(report, DOCTOR_EXTENDER, "process_start_time_seconds").largest;
        bool is_never = calls.count > 0 && called_s == 0 &&
                        !doctor_has(facts, DOCTOR_ADMISSION_KIND);
        bool is_missed = called_s > 0 && bound_s > fmax(called_s, began_s) + BINDING_MAX_S &&
                         doctor_has(facts, DOCTOR_EXTENDER);
        char last[TIMESTAMP_MAX];

        timestamp_format_s((int64_t)called_s * MS_PER_S, last, sizeof(last));
        doctor_check(report, "extender-called", doctor_if(is_never || is_missed, DOCTOR_WARNING),
                     "pods are placed as if the extender were not installed",
                     "no scheduler has called the extender since %s%s",
                     is_never ? "it started" : last, is_missed ? "; pods were bound since" : "");
        doctor_fix(report,
                   "add the extender to the scheduler's --config, see docs/install.md; the log of "
                   "kube-scheduler says why it skips one. urlPrefix: http://ADDRESS:8010/v1, with "
                   "the address from kubectl -n %s get service plimsoll-extender -o "
                   "jsonpath='{.spec.clusterIP}'",
                   facts->namespace);
}

/* What the extenders make of the annotations, and of all nodes. Nodes come and go between the two
 * counts. */
static void check_readings(struct doctor_report *report) {
        static const char metric[] = "plimsoll_extender_readings";
        const struct doctor_facts *facts = report->facts;
        double all = sum_of(report, DOCTOR_EXTENDER, metric).sum;
        double usable = doctor_page_sum(facts, DOCTOR_EXTENDER, metric, "state", "usable").sum;
        double expired = doctor_page_sum(facts, DOCTOR_EXTENDER, metric, "state", "expired").sum;
        double bad = doctor_page_sum(facts, DOCTOR_EXTENDER, metric, "state", "malformed").sum;
        double ahead = sum_of(report, DOCTOR_EXTENDER, "plimsoll_extender_skewed_readings").sum;
        double known = sum_of(report, DOCTOR_EXTENDER, "plimsoll_extender_table_nodes").smallest;

        doctor_check(report, "annotations",
                     all > 0 && usable <= 0 ? DOCTOR_FAULT
                                            : doctor_if(expired + bad > 0, DOCTOR_WARNING),
                     "limits are ignored on these nodes, and old values rank them",
                     "of %.0f readings, the extenders can use %.0f; %.0f have expired, %.0f cannot "
                     "be read",
                     all, usable, expired, bad);
        doctor_fix(
                report,
                "kubectl plimsoll top names the nodes. kubectl -n %s logs "
                "deploy/plimsoll-controller | grep -e failing -e lease -e clock; run both programs "
                "with the same --annotation-prefix; if crane writes, set --annotation-timezone",
                facts->namespace);
        doctor_check(report, "annotations-clock", doctor_if(ahead > 0, DOCTOR_WARNING),
                     "these values expire too late", "%.0f of %.0f readings are from the future",
                     ahead, all);
        doctor_fix(report, "synchronize the clocks of the machines that controllers run on; if "
                           "crane writes them, run the extender with --annotation-timezone");
        doctor_check(report, "extender-table",
                     doctor_if(known < doctor_node_count(facts) * 0.9, DOCTOR_FAULT),
                     "an unknown node passes with a score of 0",
                     "an extender knows %.0f of %.0f nodes", known, doctor_node_count(facts));
        doctor_fix(report, "kubectl -n %s logs deploy/plimsoll-extender", facts->namespace);
}

static void check_extenders(struct doctor_report *report) {
        static const char calls[] = "plimsoll_extender_requests_total";
        static const char bucket[] = "plimsoll_extender_request_duration_seconds_bucket";
        const struct doctor_facts *facts = report->facts;
        double all = sum_of(report, DOCTOR_EXTENDER, calls).sum;
        double bad = all - doctor_page_sum(facts, DOCTOR_EXTENDER, calls, "code", "200").sum;
        double timed = doctor_page_sum(facts, DOCTOR_EXTENDER, bucket, "le", "+Inf").sum;
        double slow = timed - doctor_page_sum(facts, DOCTOR_EXTENDER, bucket, "le", "0.1").sum;
        const struct doctor_sum expiry_s = sum_of(
                report, DOCTOR_EXTENDER, "plimsoll_tls_certificate_expiry_timestamp_seconds");
        double days = (expiry_s.smallest * MS_PER_S - (double)facts->now_unix_ms) / MS_PER_DAY;

        check_rights(report, DOCTOR_EXTENDER, "extender-permissions",
                     "apply -f deploy/base/rbac-extender.yaml");
        check_called(report);
        doctor_check(report, "extender-answers", doctor_if(bad > all / 100, DOCTOR_WARNING),
                     "the scheduler placed these pods without the extender",
                     "%.0f of %.0f calls were rejected", bad, all);
        doctor_fix(report, "kubectl -n %s logs deploy/plimsoll-extender", facts->namespace);
        doctor_check(report, "extender-speed", doctor_if(slow > timed / 100, DOCTOR_WARNING),
                     "every pod waits for the extender", "%.0f of %.0f calls took more than 100 ms",
                     slow, timed);
        doctor_fix(report, "give the extender a CPU request, and set nodeCacheCapable: true");
        check_readings(report);
        doctor_check(report, "certificate",
                     expiry_s.count == 0 || days >= EXPIRES_SOON_DAYS ? DOCTOR_OK
                     : days < 0                                       ? DOCTOR_FAULT
                                                                      : DOCTOR_WARNING,
                     "the scheduler cannot call the extender after that",
                     "the extender's certificate ends in %.0f days", days);
        doctor_fix(report, "renew the Secret plimsoll-extender-tls, see docs/tls.md");
}

/* Could a page of the program be read? */
static bool has_page(const struct doctor_facts *facts, enum doctor_object program) {
        for (size_t i = 0; i < facts->page_count; i++)
                if (facts->pages[i].program == program && facts->pages[i].text)
                        return true;
        return false;
}

void doctor_check_reports(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        size_t all = doctor_page_sum(facts, 0, "plimsoll_build_info", NULL, NULL).count;
        size_t ours =
                doctor_page_sum(facts, 0, "plimsoll_build_info", "version", PLIMSOLL_VERSION).count;

        doctor_about(report, DOCTOR_CONTROLLER);
        check_pages(report);
        doctor_check(report, "versions", doctor_if(ours < all, DOCTOR_WARNING),
                     "different versions may read a policy differently",
                     "%zu of %zu programs have another version than this plugin, %s", all - ours,
                     all, PLIMSOLL_VERSION);
        doctor_fix_by(report,
                      "apply -k deploy/, after you set newTag in deploy/images/kustomization.yaml",
                      "");
        if (has_page(facts, DOCTOR_CONTROLLER))
                check_controllers(report);
        doctor_about(report, DOCTOR_EXTENDER);
        if (has_page(facts, DOCTOR_EXTENDER))
                check_extenders(report);
}
