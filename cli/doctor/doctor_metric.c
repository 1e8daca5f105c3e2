/* What the running programs say of themselves, on /metrics. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/doctor/doctor_check.h"
#include "controller/exposition/exposition.h"
#include "kube/kube_path.h"

enum { EXPIRES_SOON_DAYS = 21 };

/* Is a page of that program read? If not, why is told. */
static bool has_page(const struct doctor_facts *facts, bool of_controller,
                     struct doctor_finding *finding) {
        const struct doctor_page *failed = NULL;

        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                if (page->is_controller == of_controller && page->text)
                        return true;
                if (page->is_controller == of_controller)
                        failed = page;
        }
        doctor_find(finding, DOCTOR_UNKNOWN, "%s",
                    failed ? failed->err.msg : "no pod of it runs in the namespace");
        return false;
}

static double sum_of(const struct doctor_facts *facts, bool of_controller, const char *metric) {
        size_t found;

        return doctor_page_sum(facts, of_controller, metric, NULL, NULL, &found);
}

static void check_pages(const struct doctor_facts *facts, struct doctor_finding *finding) {
        for (size_t i = 0; i < facts->page_count; i++)
                if (!facts->pages[i].text)
                        doctor_find(finding, DOCTOR_UNKNOWN, "%s", facts->pages[i].err.msg);
}

/* "connect: 3, timeout: 1": failed scrapes by reason. */
static void append_reasons(const struct doctor_facts *facts, struct buf *out) {
        static const char *const reasons[] = {
                "dns",          "connect",   "tls",        "timeout",    "reset",    "too_large",
                "unauthorized", "not_found", "status_4xx", "status_5xx", "protocol", "malformed"};
        size_t found;

        for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
                double sum = doctor_page_sum(facts, true, "plimsoll_scrapes_total", "result",
                                             reasons[i], &found);
                if (sum > 0)
                        buf_printf(out, "%s%s: %.0f", out->len > 0 ? ", " : "", reasons[i], sum);
        }
}

static void check_exporters(const struct doctor_facts *facts, struct doctor_finding *finding) {
        _cleanup_(buf_done) struct buf reasons = BUF_INIT(DOCTOR_WHAT_MAX / 2);
        size_t found;

        if (!has_page(facts, true, finding))
                return;
        double failing = sum_of(facts, true, "plimsoll_targets_failing");
        double exporters = doctor_page_sum(facts, true, "plimsoll_targets_failing", "source",
                                           "node-exporter", &found);
        double kubelets = doctor_page_sum(facts, true, "plimsoll_nodes_served", "source", "kubelet",
                                          &found);
        failing -= fmin(exporters, kubelets); /* nodes that need none */
        append_reasons(facts, &reasons);
        if (failing > 0)
                doctor_find(finding, DOCTOR_WARNING,
                            "%.0f exporters fail, over all replicas; failed scrapes by reason: %s",
                            failing, reasons.len > 0 ? reasons.data : "none is counted");
}

static void check_stale_nodes(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (!has_page(facts, true, finding))
                return;
        double stale = sum_of(facts, true, "plimsoll_nodes_stale");
        if (stale > 0 && sum_of(facts, true, "plimsoll_targets_failing") == 0)
                doctor_find(finding, DOCTOR_WARNING, "%.0f nodes have no recent sample", stale);
}

static void check_policy_loads(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (!has_page(facts, true, finding))
                return;
        if (sum_of(facts, true, "plimsoll_policy_failed") > 0)
                doctor_find(finding, DOCTOR_FAULT, "a controller cannot load the latest policy");
        else if (sum_of(facts, false, "plimsoll_policy_failed") > 0)
                doctor_find(finding, DOCTOR_FAULT, "an extender cannot load the latest policy");
}

static void check_patches(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (!has_page(facts, true, finding))
                return;
        double waiting = sum_of(facts, true, "plimsoll_patches_waiting");
        if (facts->nodes.count >= 10 && waiting * 2 > (double)facts->nodes.count)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %zu nodes wait for their patch",
                            waiting, facts->nodes.count);
}

static void check_leaders(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (!has_page(facts, true, finding))
                return;
        double leaders = sum_of(facts, true, "plimsoll_leader");
        for (size_t i = 0; i < facts->page_count; i++)
                if (facts->pages[i].is_controller && !facts->pages[i].text)
                        return; /* the one that leads may be that one */
        if (leaders > 1)
                doctor_find(finding, DOCTOR_FAULT, "%.0f controllers lead at once", leaders);
        else if (leaders < 1)
                doctor_find(finding, DOCTOR_FAULT, "no controller in %s leads", facts->namespace);
}

static void check_called(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (has_page(facts, false, finding) &&
            sum_of(facts, false, "plimsoll_extender_requests_total") <= 0)
                doctor_find(finding, DOCTOR_WARNING, "no scheduler has ever called the extender");
}

static void check_answers(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char metric[] = "plimsoll_extender_requests_total";
        size_t found;

        if (!has_page(facts, false, finding))
                return;
        double all = sum_of(facts, false, metric);
        double good = doctor_page_sum(facts, false, metric, "code", "200", &found);
        if (all - good > all / 100)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %.0f calls were refused", all - good,
                            all);
}

static void check_speed(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const char metric[] = "plimsoll_extender_request_duration_seconds";
        size_t found;

        if (!has_page(facts, false, finding))
                return;
        _cleanup_(buf_done) struct buf name = BUF_INIT(128);
        buf_printf(&name, "%s_bucket", metric);
        double all = doctor_page_sum(facts, false, name.data, "le", "+Inf", &found);
        double fast = doctor_page_sum(facts, false, name.data, "le", "0.1", &found);
        if (found > 0 && all - fast > all / 100)
                doctor_find(finding, DOCTOR_WARNING, "%.0f of %.0f calls took more than 100 ms",
                            all - fast, all);
}

static void check_table(const struct doctor_facts *facts, struct doctor_finding *finding) {
        size_t found;

        if (!has_page(facts, false, finding))
                return;
        double rows = doctor_page_sum(facts, false, "plimsoll_extender_table_nodes", NULL, NULL,
                                      &found);
        double wanted = (double)found * (double)facts->nodes.count;
        /* Nodes come and go meanwhile. */
        if (found > 0 && (rows < wanted * 0.9 || rows > wanted * 1.1))
                doctor_find(finding, DOCTOR_FAULT, "%zu extenders know %.0f nodes, of %zu each",
                            found, rows, facts->nodes.count);
}

static void check_certificate(const struct doctor_facts *facts, struct doctor_finding *finding) {
        size_t found;

        if (!has_page(facts, false, finding))
                return;
        double sum_s = doctor_page_sum(facts, false,
                                       "plimsoll_tls_certificate_expiry_timestamp_seconds", NULL,
                                       NULL, &found);
        if (found == 0)
                return; /* plain HTTP */
        double days = (sum_s / (double)found * 1000 - (double)facts->now_unix_ms) / MS_PER_DAY;
        if (days < 0)
                doctor_find(finding, DOCTOR_FAULT, "the extender's certificate has expired");
        else if (days < EXPIRES_SOON_DAYS)
                doctor_find(finding, DOCTOR_WARNING, "the extender's certificate ends in %.0f days",
                            days);
}

static const struct doctor_check rows[] = {
        {"metrics-pages", "what the programs say of themselves is not known",
         "allow get on pods/proxy; with mutual TLS, ask the pod itself", check_pages},
        {"exporters", "nodes without an exporter have no annotations",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep what=scrape", check_exporters},
        {"samples", "nothing is written for them",
         "kubectl get --raw '/api/v1/namespaces/@NS/pods/POD:" KUBE_PORT_TEXT(
                 KUBE_PORT_CONTROLLER) "/proxy/readyz?verbose'",
         check_stale_nodes},
        {"policy-loaded", "the policy before it stays in force",
         "kubectl -n @NS logs deploy/plimsoll-controller | grep 'cannot load policy'",
         check_policy_loads},
        {"patches", "annotations come late",
         "raise --patch-qps, or lengthen the policy's shortest period", check_patches},
        {"one-leader", "two that write overwrite each other; none writes nothing",
         "give all controllers the same --leader-elect-resource-namespace", check_leaders},
        {"extender-called", "pods are placed as if it were not installed",
         "add the extender to the scheduler's --config, see docs/install.md", check_called},
        {"extender-answers", "for these pods the scheduler did without it",
         "kubectl -n @NS logs deploy/plimsoll-extender", check_answers},
        {"extender-speed", "every pod waits for it",
         "give it a CPU request, and set nodeCacheCapable: true", check_speed},
        {"extender-table", "a node that it does not know passes, and scores 0",
         "kubectl get --raw '/api/v1/namespaces/@NS/pods/POD:" KUBE_PORT_TEXT(
                 KUBE_PORT_EXTENDER) "/proxy/readyz?verbose'",
         check_table},
        {"certificate", "the scheduler will no longer reach it",
         "renew the Secret plimsoll-extender-tls, see docs/install.md", check_certificate},
};

const struct doctor_checks doctor_metric_checks = {rows, ARRAY_LEN(rows)};
