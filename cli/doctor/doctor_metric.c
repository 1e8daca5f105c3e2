/* What the running programs say of themselves, on /metrics. */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/doctor/doctor_called.h"
#include "cli/doctor/doctor_check.h"
#include "kube/kube_path.h"

enum { EXPIRES_SOON_DAYS = 21 };

static double sum_of(const struct doctor_facts *facts, enum doctor_object program,
                     const char *metric) {
        return doctor_page_sum(facts, program, metric, NULL, NULL).sum;
}

/* The largest value of all replicas, since all look at the same nodes. */
static double largest_of(const struct doctor_facts *facts, const char *metric) {
        return doctor_page_sum(facts, DOCTOR_CONTROLLER, metric, NULL, NULL).largest;
}

/* No replica of the program answers. With mutual TLS that is as it should be. */
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
        if (failed && !(is_extender && facts->extender.texts[FLAG_CLIENT_CA_FILE]))
                doctor_find(finding,
                            strstr(failed->err.msg, "refused") ? DOCTOR_FAULT : DOCTOR_WARNING,
                            "no %s answers: %s", is_extender ? "extender" : "controller",
                            failed->err.msg);
}

static void check_pages(const struct doctor_facts *facts, struct doctor_finding *finding) {
        for (size_t i = 0; i < facts->page_count; i++)
                if (!facts->pages[i].text)
                        doctor_find(finding, DOCTOR_UNKNOWN, "%s", facts->pages[i].err.msg);
        find_silence(facts, DOCTOR_CONTROLLER, finding);
        find_silence(facts, DOCTOR_EXTENDER, finding);
}

/* "connect: 3, timeout: 1": failed scrapes by reason. */
static void append_reasons(const struct doctor_facts *facts, struct buf *out) {
        static const char *const reasons[] = {
                "dns",          "connect",          "tls",          "timeout",   "reset",
                "too_large",    "credentials",      "unauthorized", "not_found", "status_4xx",
                "status_5xx",   "status_other",     "protocol",     "malformed", "no_address",
                "no_metrics",   "windows_exporter", "other_node",   "stale",     "no_capacity",
                "scrape_error", "url_too_long",     "over_budget"};

        for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
                double sum = doctor_page_sum(facts, DOCTOR_CONTROLLER, "plimsoll_scrapes_total",
                                             "result", reasons[i])
                                     .sum;
                if (sum > 0)
                        buf_printf(out, "%s%s: %.0f", out->len > 0 ? ", " : "", reasons[i], sum);
        }
}

static const char *const sources[] = {"node-exporter", "kubelet", "node-metrics", "prometheus",
                                      "metrics-server"};

static double of_source(const struct doctor_facts *facts, const char *metric, const char *source) {
        return doctor_page_sum(facts, DOCTOR_CONTROLLER, metric, "source", source).largest;
}

/* Of source number @i. A node that a kubelet serves needs no exporter. */
static double failing_of(const struct doctor_facts *facts, size_t i) {
        double needless = i == 0 ? of_source(facts, "plimsoll_nodes_served", "kubelet") : 0;

        return of_source(facts, "plimsoll_targets_failing", sources[i]) - needless;
}

static void check_exporters(const struct doctor_facts *facts, struct doctor_finding *finding) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(DOCTOR_WHAT_MAX / 2),
                                       reasons = BUF_INIT(DOCTOR_WHAT_MAX / 2);
        double nodes = largest_of(facts, "plimsoll_nodes"), served = 0;
        bool is_outage = false;

        for (size_t i = 0; i < ARRAY_LEN(sources); i++)
                served += of_source(facts, "plimsoll_nodes_served", sources[i]);
        for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
                double failing = failing_of(facts, i);
                double others = served - of_source(facts, "plimsoll_nodes_served", sources[i]);
                if (failing > 0)
                        buf_printf(&text, "%s%s fails on %.0f of %.0f nodes",
                                   text.len > 0 ? ", " : "", sources[i], failing, nodes);
                is_outage |= failing > 0 && failing >= nodes && others <= 0;
        }
        append_reasons(facts, &reasons);
        if (text.len > 0)
                doctor_find(finding, is_outage ? DOCTOR_FAULT : DOCTOR_WARNING,
                            "%s; failed scrapes by reason: %s", text.data,
                            reasons.len > 0 ? reasons.data : "none is counted");
}

static void check_stale_nodes(const struct doctor_facts *facts, struct doctor_finding *finding) {
        double stale = largest_of(facts, "plimsoll_nodes_stale");
        double nodes = largest_of(facts, "plimsoll_nodes");

        for (size_t i = 0; i < ARRAY_LEN(sources); i++)
                if (failing_of(facts, i) > 0) /* which is found by another check */
                        return;
        if (stale > 0)
                doctor_find(finding, stale >= nodes ? DOCTOR_FAULT : DOCTOR_WARNING,
                            "%.0f of %.0f nodes have no recent sample", stale, nodes);
}

/* That the object is refused is found by another check. */
static void check_policy_loads(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (facts->policy_err.code != 0)
                return;
        if (sum_of(facts, DOCTOR_CONTROLLER, "plimsoll_policy_failed") > 0)
                doctor_find(finding, DOCTOR_FAULT, "a controller cannot load the latest policy");
        else if (sum_of(facts, DOCTOR_EXTENDER, "plimsoll_policy_failed") > 0)
                doctor_find(finding, DOCTOR_FAULT, "an extender cannot load the latest policy");
}

static void check_patches(const struct doctor_facts *facts, struct doctor_finding *finding) {
        double waiting = largest_of(facts, "plimsoll_patches_waiting");
        if (facts->nodes.count >= 10 && waiting * 2 > (double)facts->nodes.count)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %zu nodes wait for their patch",
                            waiting, facts->nodes.count);
}

static void check_leaders(const struct doctor_facts *facts, struct doctor_finding *finding) {
        double leaders = sum_of(facts, DOCTOR_CONTROLLER, "plimsoll_leader");
        for (size_t i = 0; i < facts->page_count; i++)
                if (facts->pages[i].program == DOCTOR_CONTROLLER && !facts->pages[i].text)
                        return; /* the one that leads may be that one */
        if (leaders > 1)
                doctor_find(finding, DOCTOR_FAULT, "%.0f controllers lead at once", leaders);
        else if (leaders < 1)
                doctor_find(finding, DOCTOR_FAULT, "no controller in %s leads", facts->namespace);
}

static void check_answers(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char metric[] = "plimsoll_extender_requests_total";

        double all = sum_of(facts, DOCTOR_EXTENDER, metric);
        double good = doctor_page_sum(facts, DOCTOR_EXTENDER, metric, "code", "200").sum;
        if (all - good > all / 100)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %.0f calls were refused", all - good,
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
        /* Nodes come and go meanwhile. */
        if (rows.count > 0 && (rows.smallest < nodes * 0.9 || rows.largest > nodes * 1.1))
                doctor_find(finding, DOCTOR_FAULT,
                            "an extender knows %.0f nodes, and there are %.0f",
                            rows.smallest < nodes * 0.9 ? rows.smallest : rows.largest, nodes);
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
                doctor_find(finding, DOCTOR_WARNING, "the extender's certificate ends in %.0f days",
                            days);
}

static const struct doctor_check rows[] = {
        {"metrics-pages", "what the programs say of themselves is not known",
         "allow get on pods/proxy; with mutual TLS, ask the pod itself; if it does not answer, "
         "kubectl -n @NS describe pod POD, and its logs",
         check_pages},
        {"exporters", "nodes without an exporter have no annotations",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep what=scrape", check_exporters,
         .needs_page = DOCTOR_CONTROLLER},
        {"samples", "nothing is written for them",
         "kubectl get --raw '/api/v1/namespaces/@NS/pods/POD:" KUBE_PORT_TEXT(
                 KUBE_PORT_CONTROLLER) "/proxy/readyz?verbose'",
         check_stale_nodes, .needs_page = DOCTOR_CONTROLLER},
        {"policy-loaded", "the policy before it stays in force",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep 'cannot load policy'",
         check_policy_loads, .needs_page = DOCTOR_CONTROLLER},
        {"patches", "annotations come late",
         "raise --patch-qps, or lengthen the policy's shortest period", check_patches,
         .needs_page = DOCTOR_CONTROLLER},
        {"one-leader", "two leaders overwrite each other's values; without one, nothing is written",
         "give all controllers the same --leader-elect-resource-namespace", check_leaders,
         .needs_page = DOCTOR_CONTROLLER},
        {"extender-called", "pods are placed as if it were not installed",
         "add the extender to the scheduler's --config, see docs/install.md; kube-scheduler's log "
         "says why it skips one",
         doctor_called_check, .needs_page = DOCTOR_EXTENDER},
        {"extender-answers", "for these pods the scheduler did without it",
         "kubectl -n @NS logs deploy/plimsoll-extender", check_answers,
         .needs_page = DOCTOR_EXTENDER},
        {"extender-speed", "every pod waits for it",
         "give it a CPU request, and set nodeCacheCapable: true", check_speed,
         .needs_page = DOCTOR_EXTENDER},
        {"extender-table", "a node that it does not know passes, and scores 0",
         "kubectl get --raw '/api/v1/namespaces/@NS/pods/POD:" KUBE_PORT_TEXT(
                 KUBE_PORT_EXTENDER) "/proxy/readyz?verbose'",
         check_table, .needs_page = DOCTOR_EXTENDER},
        {"certificate", "the scheduler will no longer reach it",
         "renew the Secret plimsoll-extender-tls, see docs/install.md", check_certificate,
         .needs_page = DOCTOR_EXTENDER},
};

const struct doctor_checks doctor_metric_checks = {rows, ARRAY_LEN(rows)};
