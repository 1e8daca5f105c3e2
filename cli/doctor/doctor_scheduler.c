/* kube-scheduler's configuration, and cluster autoscalers. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/duration.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/doctor/doctor_check.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_url.h"
#include "kube/kube_path.h"

enum {
        TIMEOUT_MAX_MS = 1000,
        BIND_IGNORED_SINCE_MINOR = 30, /* https://github.com/kubernetes/kubernetes/pull/122503 */
        BATCHING_SINCE_MINOR = 35,
        SAMPLED_FROM =
                100, /* kube-scheduler's minFeasibleNodesToFind: of fewer nodes, it looks at all */
};

static const char *entry_text(const struct doctor_facts *facts, const char *key) {
        return doctor_config_text(facts->config->entry, key);
}

static void check_registered(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (doctor_needs_entry(facts, finding) || !facts->config)
                return;
        if (doctor_config_list(facts->config->tree, "extenders")->count == 0 ||
            doctor_needs_places(facts, finding))
                doctor_find(finding, DOCTOR_FAULT,
                            "%s: no extender has port %d or plimsoll in its urlPrefix",
                            facts->config->from, KUBE_PORT_EXTENDER);
}

/* kube-scheduler reads YAML 1.1. */
static bool is_true(const struct doctor_facts *facts, const char *key) {
        static const char *const words[] = {"true", "yes", "on", "y"};
        const char *text = entry_text(facts, key);

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (strcasecmp(text, words[i]) == 0)
                        return true;
        return false;
}

/* The fields of an entry of `extenders`. kube-scheduler does not start if a field is unknown or has
 * another type. */
static const struct {
        const char *name;
        bool is_text; /* may be quoted */
} fields[] = {{"urlPrefix", true},  {"filterVerb", true},        {"preemptVerb", true},
              {"bindVerb", true},   {"httpTimeout", true},       {"prioritizeVerb", true},
              {"weight", false},    {"ignorable", false},        {"enableHTTPS", false},
              {"tlsConfig", false}, {"nodeCacheCapable", false}, {"managedResources", false}};

static void check_field(const char *from, const struct tree_node *field,
                        struct doctor_finding *finding) {
        struct nearest nearest = NEAREST_TO(field->key);

        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                nearest_offer(&nearest, fields[i].name);
                if (strcmp(field->key, fields[i].name) != 0)
                        continue;
                if (!fields[i].is_text && field->is_quoted)
                        doctor_find(finding, DOCTOR_WARNING,
                                    "%s: %s is a string: remove the quotes", from, field->key);
                return;
        }
        doctor_find(finding, DOCTOR_WARNING, "%s: an extender has no field %.60s%s%s%s", from,
                    field->key, nearest.candidate ? "; did you mean " : "",
                    nearest.candidate ? nearest.candidate : "", nearest.candidate ? "?" : "");
}

static void check_fields(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_config *config = facts->config;

        for (size_t i = 0; i < config->entry->count; i++)
                check_field(config->from, &config->entry->items[i], finding);
}

static void check_resources(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct tree_node *list = tree_get(facts->config->entry, "managedResources");
        _cleanup_(freep) char *others = xasprintf(", and %zu more", list ? list->count - 1 : 0);

        if (list && list->kind == TREE_LIST && list->count > 0)
                doctor_find(finding, DOCTOR_WARNING,
                            "%s: managedResources: the extender is called only for pods that "
                            "request %.100s"
                            "%s",
                            facts->config->from, doctor_config_text(&list->items[0], "name"),
                            list->count > 1 ? others : "");
}

static void check_bind(const struct doctor_facts *facts, struct doctor_finding *finding) {
        bool is_ignored = doctor_minor(facts) >= BIND_IGNORED_SINCE_MINOR &&
                          is_true(facts, "ignorable");

        if (entry_text(facts, "bindVerb")[0] && doctor_needs_flags(&facts->extender, finding) &&
            !doctor_flag_is_on(&facts->extender, "bind"))
                doctor_find(finding, is_ignored ? DOCTOR_WARNING : DOCTOR_FAULT,
                            "%s: it has bindVerb, but the extender runs without --bind",
                            facts->config->from);
}

static void check_true(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const char *key = finding->check->key;

        if (!is_true(facts, key))
                doctor_find(finding, finding->check->state, "%s: %s is not true",
                            facts->config->from, key);
}

static void check_timeout(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const char *from = facts->config->from, *text = entry_text(facts, "httpTimeout");
        int64_t timeout_ms = 0;

        if (duration_parse(text, strlen(text), &timeout_ms) < 0 || timeout_ms == 0)
                doctor_find(finding, DOCTOR_WARNING,
                            "%s: httpTimeout is not set: the default is 5s", from);
        else if (timeout_ms > TIMEOUT_MAX_MS)
                doctor_find(finding, DOCTOR_WARNING, "%s: httpTimeout is %.32s", from, text);
}

static void check_weight(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const char *from = facts->config->from, *text = entry_text(facts, "weight");
        double weight = 0;

        if (!entry_text(facts, "prioritizeVerb")[0])
                return;
        if (!number_parse(text, strlen(text), &weight) || weight < 1 || floor(weight) != weight)
                doctor_find(finding, DOCTOR_FAULT, "%s: weight is not a positive integer", from);
        else if (weight <= 1)
                doctor_find(finding, DOCTOR_WARNING, "%s: weight is 1", from);
}

static bool has_rejecting_limit(const struct policy *policy) {
        for (size_t i = 0; i < policy->predicate_total; i++)
                if (policy->predicates[i].limit_ratio > 0 &&
                    policy->predicates[i].over_limit == POLICY_OVER_LIMIT_REJECT)
                        return true;
        return false;
}

static void check_verbs(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const struct {
                const char *key, *name;
        } verbs[] = {{"filterVerb", "filter"},
                     {"prioritizeVerb", "prioritize"},
                     {"preemptVerb", "preempt"},
                     {"bindVerb", "bind"}};
        const char *prefix = entry_text(facts, "urlPrefix");
        bool rejects = !doctor_is_hidden(facts, DOCTOR_POLICY) &&
                       has_rejecting_limit(facts->policy);

        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                const char *verb = entry_text(facts, verbs[i].key);
                if (verb[0] && !doctor_url_leads_to(prefix, verb, verbs[i].name))
                        doctor_find(
                                finding, DOCTOR_FAULT,
                                "%.200s: the extender does not serve %.100s/%.60s, which is the %s",
                                facts->config->from, prefix, verb, verbs[i].key);
        }
        if (!entry_text(facts, "prioritizeVerb")[0])
                doctor_find(finding, DOCTOR_FAULT, "%s: prioritizeVerb is not set",
                            facts->config->from);
        else if (rejects && !entry_text(facts, "filterVerb")[0])
                doctor_find(finding, DOCTOR_FAULT, "%s: filterVerb is not set",
                            facts->config->from);
}

/* The value of the first profile that has one, or else the value for all profiles. */
static const char *percentage_of_nodes(const struct tree *tree) {
        const struct tree_node *profiles = doctor_config_list(tree, "profiles");

        for (size_t i = 0; i < profiles->count; i++) {
                const char *own = doctor_config_text(&profiles->items[i],
                                                     "percentageOfNodesToScore");
                if (own[0])
                        return own;
        }
        return doctor_config_text(tree_root(tree), "percentageOfNodesToScore");
}

static void check_sampling(const struct doctor_facts *facts, struct doctor_finding *finding) {
        for (size_t i = 0; i < facts->config_count; i++) {
                const char *percentage = percentage_of_nodes(facts->configs[i].tree);
                if (facts->configs[i].entry && facts->nodes.count > SAMPLED_FROM &&
                    strcmp(percentage, "100") != 0)
                        doctor_find(finding, DOCTOR_WARNING,
                                    "%s: percentageOfNodesToScore is %.16s of %zu nodes",
                                    facts->configs[i].from, percentage[0] ? percentage : "adaptive",
                                    facts->nodes.count);
        }
}

/*
 * Opportunistic batching reuses the scores of a pod for the next similar pods. A scheduler with an
 * extender switches it off in all profiles. It logs that, but no metric shows it:
 * https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/scheduler/framework/runtime/framework.go
 */
static void check_batching(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (doctor_minor(facts) < BATCHING_SINCE_MINOR)
                return;
        doctor_find(finding, DOCTOR_OK, "an extender disables opportunistic batching");
        for (size_t i = 0; i < facts->config_count; i++) {
                const struct tree_node *profiles = doctor_config_list(facts->configs[i].tree,
                                                                      "profiles");
                if (facts->configs[i].entry && profiles->count > 1)
                        doctor_find(finding, DOCTOR_WARNING,
                                    "%s: opportunistic batching is disabled in all %zu profiles",
                                    facts->configs[i].from, profiles->count);
        }
}

/* An autoscaler simulates the scheduler's plugins, but not extenders. */
static void check_autoscaler(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct policy *policy = facts->policy;

        if (has_rejecting_limit(policy) && policy->when_all_over == POLICY_ALL_OVER_REJECT)
                doctor_find(finding, DOCTOR_WARNING,
                            "%s runs, but the policy's limits reject nodes", finding->check->what);
}

#define AUTOSCALER_WHY                                                                             \
        "if every node is above a limit, pods stay pending, but the autoscaler adds no node: it "  \
        "does not know the limits"
#define AUTOSCALER_FIX                                                                             \
        "set overLimit: last on the policy's limits, or spec.extender.whenAllOver: pass"

static const struct doctor_check rows[] = {
        {"scheduler-registered", "the scheduler does not call the extender",
         "add the extender, see deploy/scheduler/config-http.yaml", check_registered},
        {"scheduler-url", "the scheduler cannot reach the extender, and places pods without it",
         "urlPrefix: http://ADDRESS:8010/v1, with the address from kubectl -n @NS get service "
         "plimsoll-extender -o jsonpath='{.spec.clusterIP}'",
         doctor_url_check, .needs_entry = true},
        {"scheduler-ignorable",
         "without a running extender no pod is scheduled, not even the extender's own",
         "set ignorable: true", check_true, .needs_entry = true, .key = "ignorable",
         .state = DOCTOR_FAULT},
        {"scheduler-timeout", "an extender that hangs delays every pod by this time",
         "set httpTimeout: 200ms", check_timeout, .needs_entry = true},
        {"scheduler-weight", "other plugins outweigh the load", "set weight: 3", check_weight,
         .needs_entry = true},
        {"scheduler-names", "every call carries whole nodes: a hundred times the bytes",
         "set nodeCacheCapable: true", check_true, .needs_entry = true, .key = "nodeCacheCapable",
         .state = DOCTOR_WARNING},
        {"scheduler-verbs", "limits that reject nodes need filterVerb, and scores prioritizeVerb",
         "set filterVerb: filter and prioritizeVerb: prioritize", check_verbs, .needs_entry = true},
        {"scheduler-fields", "kube-scheduler refuses to start with it",
         "see deploy/scheduler/config-http.yaml", check_fields, .needs_entry = true},
        {"scheduler-resources", "all other pods are placed without the extender",
         "remove managedResources: the load of a node concerns every pod", check_resources,
         .needs_entry = true},
        {"scheduler-bind",
         "before Kubernetes 1.30, or with ignorable: false, no pod is bound; otherwise each "
         "binding "
         "begins with a call that fails",
         "remove bindVerb, or run the extender with --bind: see deploy/extender-bind", check_bind,
         .needs_entry = true},
        {"scheduler-sampling",
         "pods get the best node of a sample, or wait if all nodes in the sample are above a limit",
         "set percentageOfNodesToScore: 100", check_sampling, .needs_entry = true},
        {"scheduler-batching",
         "similar pods are scheduled one by one, even where load does not matter",
         "run a second scheduler for the profiles that do not need load", check_batching,
         .needs_entry = true},
        {"cluster-autoscaler", AUTOSCALER_WHY, AUTOSCALER_FIX, check_autoscaler,
         .needs = DOCTOR_AUTOSCALER, .what = "the cluster autoscaler"},
        {"karpenter", AUTOSCALER_WHY, AUTOSCALER_FIX, check_autoscaler, .needs = DOCTOR_KARPENTER,
         .what = "Karpenter"},
};

const struct doctor_checks doctor_scheduler_checks = {rows, ARRAY_LEN(rows)};
