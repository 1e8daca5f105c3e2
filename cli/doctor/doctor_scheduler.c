/* kube-scheduler's configuration: what it accepts, and what does harm all the same. */
#include <string.h>
#include <strings.h>

#include "base/duration.h"
#include "base/mem.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_report.h"

enum {
        TIMEOUT_MAX_MS = 1000,
        BIND_IGNORED_SINCE_MINOR = 30, /* https://github.com/kubernetes/kubernetes/pull/122503 */
};

static const char *entry_text(const struct doctor_report *report, const char *key) {
        return doctor_config_text(report->facts->entry, key);
}

static bool is_true(const struct doctor_report *report, const char *key) {
        return strcasecmp(entry_text(report, key), "true") == 0;
}

static void check_calls(struct doctor_report *report) {
        const char *text = entry_text(report, "httpTimeout");
        int64_t timeout_ms = 0;
        bool is_bounded = duration_parse(text, strlen(text), &timeout_ms) == 0 && timeout_ms > 0 &&
                          timeout_ms <= TIMEOUT_MAX_MS;

        doctor_check(report, "scheduler-ignorable",
                     doctor_if(!is_true(report, "ignorable"), DOCTOR_FAULT),
                     "without a running extender no pod is scheduled, not even the extender's own",
                     "ignorable is not true");
        doctor_fix(report, "set ignorable: true");
        doctor_check(report, "scheduler-timeout", doctor_if(!is_bounded, DOCTOR_WARNING),
                     "an extender that hangs delays every pod by this time", "httpTimeout is %.32s",
                     *text ? text : "not set: 5s");
        doctor_fix(report, "set httpTimeout: 200ms");
        doctor_check(report, "scheduler-weight",
                     doctor_if(strcmp(entry_text(report, "weight"), "1") == 0, DOCTOR_WARNING),
                     "other plugins outweigh the load", "weight is 1");
        doctor_fix(report, "set weight: 3");
        doctor_check(report, "scheduler-names",
                     doctor_if(!is_true(report, "nodeCacheCapable"), DOCTOR_WARNING),
                     "every call carries whole nodes: a hundred times the bytes",
                     "nodeCacheCapable is not true");
        doctor_fix(report, "set nodeCacheCapable: true");
}

/* Does a limit of the policy reject nodes? */
static bool has_limit(const struct policy *policy) {
        for (size_t i = 0; i < policy->predicate_total; i++)
                if (policy->predicates[i].limit_ratio > 0 &&
                    policy->predicates[i].over_limit == POLICY_OVER_LIMIT_REJECT)
                        return true;
        return false;
}

/* The verb that the extender does not serve, or that is missing; NULL: none. */
static const char *wrong_verb(const struct doctor_report *report) {
        static const struct {
                const char *key, *name;
        } verbs[] = {{"filterVerb", "filter"},
                     {"prioritizeVerb", "prioritize"},
                     {"preemptVerb", "preempt"},
                     {"bindVerb", "bind"}};
        const struct doctor_facts *facts = report->facts;
        bool needs_filter = doctor_has(facts, DOCTOR_POLICY) && has_limit(facts->policy);

        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                const char *verb = entry_text(report, verbs[i].key), *slash = strrchr(verb, '/');
                bool is_needed = i == 1 || (i == 0 && needs_filter);
                if (*verb ? strcmp(slash ? slash + 1 : verb, verbs[i].name) != 0 : is_needed)
                        return verbs[i].key;
        }
        return NULL;
}

static void check_verbs(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const char *wrong = wrong_verb(report);
        const struct tree_node *managed = tree_get(facts->entry, "managedResources");
        bool is_ignored = doctor_minor(facts) >= BIND_IGNORED_SINCE_MINOR &&
                          is_true(report, "ignorable");
        const char *bind = doctor_flag(facts->extender_flags, "bind");
        bool is_binding = bind && strncmp(bind, "true", strlen("true")) == 0;
        bool is_for_some = managed && managed->kind == TREE_LIST && managed->count > 0;

        doctor_check(report, "scheduler-verbs", doctor_if(wrong, DOCTOR_FAULT),
                     "limits that reject nodes need filterVerb, and scores prioritizeVerb",
                     "%s is '%.60s', which the extender does not serve", wrong ? wrong : "",
                     wrong ? entry_text(report, wrong) : "");
        doctor_fix(report, "set filterVerb: filter and prioritizeVerb: prioritize");
        doctor_check(report, "scheduler-resources", doctor_if(is_for_some, DOCTOR_WARNING),
                     "all other pods are placed without the extender",
                     "managedResources: the extender is called only for pods that request %.100s",
                     is_for_some ? doctor_config_text(&managed->items[0], "name") : "");
        doctor_fix(report, "remove managedResources: the load of a node concerns every pod");
        if (!*entry_text(report, "bindVerb") || facts->extender_flags) {
                doctor_check(report, "scheduler-bind",
                             !*entry_text(report, "bindVerb") || is_binding ? DOCTOR_OK
                             : is_ignored                                   ? DOCTOR_WARNING
                                                                            : DOCTOR_FAULT,
                             "before Kubernetes 1.30, or with ignorable: false, no pod is bound; "
                             "otherwise each binding begins with a call that fails",
                             "it has bindVerb, but the extender runs without --bind");
                doctor_fix(report, "remove bindVerb, or run the extender with --bind: see "
                                   "deploy/extender-bind");
        }
}

void doctor_check_scheduler(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const char *url = entry_text(report, "urlPrefix");
        bool is_unedited = strstr(url, "CLUSTER_IP");

        doctor_check(report, "scheduler-registered",
                     !facts->config ? DOCTOR_UNKNOWN
                                    : doctor_if(!facts->entry || is_unedited, DOCTOR_FAULT),
                     "the scheduler does not call the extender, and places pods without it", "%s",
                     !facts->config
                             ? "name kube-scheduler's configuration with --scheduler-config=FILE"
                     : facts->entry ? "urlPrefix has the placeholder CLUSTER_IP instead of the "
                                      "Service's address"
                                    : "no extender has port 8010 or plimsoll in its urlPrefix");
        doctor_fix(report,
                   "see deploy/scheduler/config-http.yaml; the address: kubectl -n %s get service "
                   "plimsoll-extender -o jsonpath='{.spec.clusterIP}'",
                   facts->namespace);
        if (!facts->entry)
                return;
        check_calls(report);
        check_verbs(report);
}
