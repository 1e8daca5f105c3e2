/* What the running programs report: their metrics and status pages. */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_check.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum { EXPIRES_SOON_DAYS = 21 };

static double sum_of(const struct doctor_facts *facts, enum doctor_object program,
                     const char *metric) {
        return doctor_page_sum(facts, program, metric, NULL, NULL).sum;
}

/* The largest value of all replicas: they all look at the same nodes. */
static double largest_of(const struct doctor_facts *facts, const char *metric) {
        return doctor_page_sum(facts, DOCTOR_CONTROLLER, metric, NULL, NULL).largest;
}

/* No replica of the program answers. With mutual TLS, an extender should not. */
static void find_silence(const struct doctor_facts *facts, enum doctor_object program,
                         struct doctor_finding *finding) {
        bool is_extender = program == DOCTOR_EXTENDER;
        const struct doctor_page *failed = NULL;

        for (size_t i = 0; i < facts->page_count; i++) {
                if (facts->pages[i].program != program)
                        continue;
                if (facts->pages[i].outcome != KUBE_UNAVAILABLE)
                        return;
                failed = &facts->pages[i];
        }
        if (failed)
                doctor_name(finding, failed->pod);
        if (failed && !(is_extender && doctor_place(facts, DOCTOR_EXTENDER).is_mutual))
                doctor_find(finding,
                            strstr(failed->err.msg, "refused") ? DOCTOR_FAULT : DOCTOR_WARNING,
                            "no %s answers: %s", is_extender ? "extender" : "controller",
                            failed->err.msg);
}

static void check_pages(const struct doctor_facts *facts, struct doctor_finding *finding) {
        for (size_t i = 0; i < facts->page_count; i++)
                if (!facts->pages[i].text) {
                        doctor_find(finding, DOCTOR_UNKNOWN, "%s", facts->pages[i].err.msg);
                        doctor_name(finding, facts->pages[i].pod);
                }
        find_silence(facts, DOCTOR_CONTROLLER, finding);
        find_silence(facts, DOCTOR_EXTENDER, finding);
}

/* ---- Sources, from the controllers' status pages. */

static long long of_source(const json_t *status, const char *source, const char *key) {
        return json_int_at(0, json_find_at(source, json_at(status, "sources", NULL), "name", NULL),
                           key, NULL);
}

/* A node that its kubelet serves needs no exporter. */
static long long failing_of(const json_t *status, const char *source) {
        bool has_other = strcmp(source, "node-exporter") == 0;

        return of_source(status, source, "nodesFailing") -
               (has_other ? of_source(status, "kubelet", "nodesServed") : 0);
}

/* @failure: of one source, for one reason. Return: the source; NULL: it does not matter */
static const char *failing_source(const json_t *status, const json_t *failure) {
        const char *source = json_string_at(failure, "source", NULL);

        return source && failing_of(status, source) > 0 ? source : NULL;
}

/* The number of nodes on which sources fail. */
static long long count_failing(const json_t *status) {
        const json_t *failures = json_at(status, "failures", NULL);
        long long count = 0;

        for (size_t i = 0; i < json_array_size(failures); i++)
                if (failing_source(status, json_array_get(failures, i)))
                        count += json_int_at(0, json_array_get(failures, i), "nodes", NULL);
        return count;
}

/* The page of the replica with the most failures: all replicas look at the same nodes. NULL: no
 * page can be read, and the check is unknown. */
static const json_t *worst_status(const struct doctor_facts *facts,
                                  struct doctor_finding *finding) {
        const json_t *worst = NULL;

        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                if (page->status && (!worst || count_failing(page->status) > count_failing(worst)))
                        worst = page->status;
                else if (page->status_err.code)
                        doctor_find(finding, DOCTOR_UNKNOWN, "%s", page->status_err.msg);
        }
        if (worst)
                doctor_find(finding, DOCTOR_OK, "%s", "");
        return worst;
}

/* No other source serves a node. */
static bool is_outage(const json_t *status, const char *source) {
        const json_t *sources = json_at(status, "sources", NULL);
        long long served = 0;

        for (size_t i = 0; i < json_array_size(sources); i++)
                served += json_int_at(0, json_array_get(sources, i), "nodesServed", NULL);
        return failing_of(status, source) >= json_int_at(0, status, "nodeCount", NULL) &&
               served <= of_source(status, source, "nodesServed");
}

/* "node-0, node-1, ..." */
static void append_names(const json_t *names, const char *key, long long count, struct buf *out) {
        size_t shown = size_min(json_array_size(names), DOCTOR_EXAMPLES);

        for (size_t i = 0; i < shown; i++) {
                const json_t *item = json_array_get(names, i);
                const char *name = key ? json_string_at(item, key, NULL) : json_string_value(item);
                buf_printf(out, "%s%.64s", i > 0 ? ", " : "", name ? name : "?");
        }
        if (shown > 0 && (long long)shown < count)
                buf_puts(out, ", ...");
}

static void check_exporters(const struct doctor_facts *facts, struct doctor_finding *finding) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(DOCTOR_WHAT_MAX - 1);
        const json_t *status = worst_status(facts, finding);
        const json_t *failures = json_at(status, "failures", NULL);
        bool is_fault = false;

        for (size_t i = 0; i < json_array_size(failures); i++) {
                const json_t *failure = json_array_get(failures, i);
                const char *source = failing_source(status, failure);
                const char *reason = json_string_at(failure, "reason", NULL);
                const char *see = json_string_at(failure, "see", NULL);
                long long nodes = json_int_at(0, failure, "nodes", NULL);
                if (!source)
                        continue;
                is_fault |= is_outage(status, source);
                buf_printf(&text, "%s%.40s fails on %lld of %lld nodes (", text.len > 0 ? "; " : "",
                           source, nodes, json_int_at(0, status, "nodeCount", NULL));
                append_names(json_at(failure, "examples", NULL), NULL, nodes, &text);
                buf_printf(&text, "): %.40s, see %.100s", reason ? reason : "?",
                           see ? see : "the log");
        }
        if (text.len > 0)
                doctor_find(finding, is_fault ? DOCTOR_FAULT : DOCTOR_WARNING, "%s", text.data);
}

static void check_stale_nodes(const struct doctor_facts *facts, struct doctor_finding *finding) {
        _cleanup_(buf_done) struct buf names = BUF_INIT(DOCTOR_WHAT_MAX / 2);
        const struct doctor_sum stale = doctor_page_sum(facts, DOCTOR_CONTROLLER,
                                                        "plimsoll_nodes_stale", NULL, NULL);
        double nodes = largest_of(facts, "plimsoll_nodes");

        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                if (count_failing(page->status) > 0) /* check_exporters() reports it */
                        return;
                if (page->pod == stale.largest_pod)
                        append_names(json_at(page->status, "nodes", NULL), "name",
                                     (long long)stale.largest, &names);
        }
        doctor_name(finding, stale.largest_pod);
        if (stale.largest > 0)
                doctor_find(finding, stale.largest >= nodes ? DOCTOR_FAULT : DOCTOR_WARNING,
                            "%.0f of %.0f nodes have no recent sample%s%s", stale.largest, nodes,
                            names.len > 0 ? ": " : "", names.len > 0 ? names.data : "");
}

/* ---- The programs. */

/* Another check reports an invalid object. */
static void check_policy_loads(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (facts->policy_err.code != 0)
                return;
        const struct doctor_sum failed = doctor_page_sum(facts, 0, "plimsoll_policy_failed", NULL,
                                                         NULL);
        if (failed.sum > 0)
                doctor_find(finding, DOCTOR_FAULT, "%.100s cannot load the latest policy",
                            failed.largest_pod);
        doctor_name(finding, failed.largest_pod);
}

static void check_patches(const struct doctor_facts *facts, struct doctor_finding *finding) {
        double waiting = largest_of(facts, "plimsoll_patches_waiting");
        if (facts->nodes.count >= 10 && waiting * 2 > (double)facts->nodes.count)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %zu nodes are waiting to be patched",
                            waiting, facts->nodes.count);
}

static void check_leaders(const struct doctor_facts *facts, struct doctor_finding *finding) {
        double leaders = sum_of(facts, DOCTOR_CONTROLLER, "plimsoll_leader");
        for (size_t i = 0; i < facts->page_count; i++)
                if (facts->pages[i].program == DOCTOR_CONTROLLER && !facts->pages[i].text)
                        return; /* that one may lead */
        if (leaders > 1)
                doctor_find(finding, DOCTOR_FAULT, "%.0f controllers lead at once", leaders);
        else if (leaders < 1)
                doctor_find(finding, DOCTOR_FAULT, "no controller in %s leads", facts->namespace);
}

/* An idle cluster needs no calls, so an old one matters only if pods were bound after it. */
static void check_called(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_pods *pods = &facts->pods;
        _cleanup_(freep) char *bound = xasprintf(
                "%zu pods were bound in the last hour, such as %.200s", pods->bound_count,
                pods->bound_example ? pods->bound_example : "none");
        char last[TIMESTAMP_MAX];

        timestamp_format_s(doctor_last_call_unix_ms(facts), last, sizeof(last));
        if (sum_of(facts, DOCTOR_EXTENDER, "plimsoll_extender_requests_total") <= 0)
                doctor_find(finding, DOCTOR_WARNING,
                            "no scheduler has called the extender since it started%s%s",
                            pods->bound_count > 0 ? "; " : "", pods->bound_count > 0 ? bound : "");
        else if (pods->bound_count > 0)
                doctor_find(finding, DOCTOR_WARNING, "the last call was at %s, but %s", last,
                            bound);
        else if (!doctor_has(facts, DOCTOR_ALL_PODS) && !doctor_is_called_lately(facts))
                doctor_find(finding, DOCTOR_UNKNOWN,
                            "the last call was at %s, and later bindings are unknown: %s", last,
                            facts->objects[DOCTOR_ALL_PODS].err.msg);
}

static void check_answers(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char metric[] = "plimsoll_extender_requests_total";

        double all = sum_of(facts, DOCTOR_EXTENDER, metric);
        double good = doctor_page_sum(facts, DOCTOR_EXTENDER, metric, "code", "200").sum;
        if (all - good > all / 100)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %.0f calls were rejected", all - good,
                            all);
}

static void check_speed(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char metric[] = "plimsoll_extender_request_duration_seconds_bucket";

        double all = doctor_page_sum(facts, DOCTOR_EXTENDER, metric, "le", "+Inf").sum;
        const struct doctor_sum fast = doctor_page_sum(facts, DOCTOR_EXTENDER, metric, "le", "0.1");

        if (fast.count > 0 && all - fast.sum > all / 100)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %.0f calls took more than 100 ms",
                            all - fast.sum, all);
}

static void check_table(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_sum rows = doctor_page_sum(facts, DOCTOR_EXTENDER,
                                                       "plimsoll_extender_table_nodes", NULL, NULL);
        double nodes = (double)facts->nodes.count;

        if (!doctor_needs_count(facts, finding))
                return;
        /* Nodes come and go between the two counts. */
        bool lacks = rows.smallest < nodes * 0.9;
        doctor_name(finding, lacks ? rows.smallest_pod : rows.largest_pod);
        if (rows.count > 0 && (lacks || rows.largest > nodes * 1.1))
                doctor_find(finding, DOCTOR_FAULT,
                            "%.100s knows %.0f nodes, but the cluster has %.0f",
                            lacks ? rows.smallest_pod : rows.largest_pod,
                            lacks ? rows.smallest : rows.largest, nodes);
}

static void check_certificate(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_sum expiry_s = doctor_page_sum(
                facts, DOCTOR_EXTENDER, "plimsoll_tls_certificate_expiry_timestamp_seconds", NULL,
                NULL);

        if (expiry_s.count == 0)
                return; /* plain HTTP */
        double days = (expiry_s.smallest * MS_PER_S - (double)facts->now_unix_ms) / MS_PER_DAY;
        if (days < 0)
                doctor_find(finding, DOCTOR_FAULT, "the extender's certificate has expired");
        else if (days < EXPIRES_SOON_DAYS)
                doctor_find(finding, DOCTOR_WARNING,
                            "the extender's certificate expires in %.0f days", days);
}

static const struct doctor_check rows[] = {
        {"metrics-pages", "what the programs report is unknown",
         "allow get on pods/proxy; with mutual TLS, read the page in the pod; if it does not "
         "answer, kubectl -n @NS describe pod @IT, and read its log",
         check_pages, .settles = DOCTOR_CONTROLLER},
        {"exporters", "a node without a working source has no annotations",
         "connect, timeout: the port is wrong, or a NetworkPolicy or firewall blocks it; dns: the "
         "name does not resolve, or a NetworkPolicy blocks port 53 (UDP). "
         "deploy/base/network-policy.yaml has the open ports; with Helm, add others to "
         "networkPolicies.extraEgressPorts. The addresses: kubectl -n @NS logs "
         "deploy/plimsoll-controller | grep what=scrape",
         check_exporters, .needs_page = DOCTOR_CONTROLLER},
        {"samples", "the annotations of these nodes are not updated",
         "kubectl get --raw '/api/v1/namespaces/@NS/pods/@IT:" KUBE_PORT_TEXT(
                 KUBE_PORT_CONTROLLER) "/proxy/readyz?verbose'",
         check_stale_nodes, .needs_page = DOCTOR_CONTROLLER, .settles = DOCTOR_CONTROLLER},
        {"policy-loaded", "the previous policy stays in force",
         "kubectl -n @NS logs @IT | grep 'cannot load policy'", check_policy_loads,
         .needs_page = DOCTOR_CONTROLLER},
        {"patches", "annotations are late",
         "raise --patch-qps, or lengthen the policy's shortest period", check_patches,
         .needs_page = DOCTOR_CONTROLLER},
        {"leader", "without a leader nothing is written; two overwrite each other's values",
         "give all controllers the same --leader-elect-resource-namespace and -name; kubectl -n "
         "@NS logs deploy/plimsoll-controller | grep lease",
         check_leaders, .needs_page = DOCTOR_CONTROLLER, .settles = DOCTOR_CONTROLLER},
        {"extender-called", "pods are placed as if the extender were not installed",
         "add the extender to the scheduler's --config, see docs/install.md; the log of "
         "kube-scheduler says why it skips one",
         check_called, .needs_page = DOCTOR_EXTENDER},
        {"extender-answers", "the scheduler placed these pods without the extender",
         "kubectl -n @NS logs deploy/plimsoll-extender", check_answers,
         .needs_page = DOCTOR_EXTENDER},
        {"extender-speed", "every pod waits for the extender",
         "give the extender a CPU request, and set nodeCacheCapable: true", check_speed,
         .needs_page = DOCTOR_EXTENDER},
        {"extender-table", "an unknown node passes with a score of 0",
         "kubectl get --raw '/api/v1/namespaces/@NS/pods/@IT:" KUBE_PORT_TEXT(
                 KUBE_PORT_EXTENDER) "/proxy/readyz?verbose'",
         check_table, .needs_page = DOCTOR_EXTENDER, .settles = DOCTOR_EXTENDER},
        {"certificate", "the scheduler cannot call the extender after that",
         "renew the Secret plimsoll-extender-tls, see docs/tls.md", check_certificate,
         .needs_page = DOCTOR_EXTENDER},
};

const struct doctor_checks doctor_metric_checks = {rows, ARRAY_LEN(rows)};
