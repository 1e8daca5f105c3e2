#include "policy/judge/pod_rule.h"

#include "base/glob.h"

static bool has_label(const struct skim_string *labels, const struct policy_label *wanted) {
        struct skim_string key, value;
        struct skim skim;
        bool has = false;

        if (labels->len == 0)
                return false;
        skim_init(&skim, labels->text, labels->len);
        if (skim_peek(&skim) != '{')
                return false;
        for (skim_enter(&skim); skim_member(&skim, &key) == SKIM_MORE;) {
                if (!skim_is(&key, wanted->name)) {
                        if (!skim_value(&skim))
                                return false;
                        continue;
                }
                bool is_text = skim_peek(&skim) == '"';
                if (!skim_plain_text(&skim, &value))
                        return false;
                has = is_text && skim_is(&value, wanted->value);
        }
        return has;
}

static bool is_in(const struct policy_rule *rule, const struct skim_string *namespace) {
        for (size_t i = 0; i < rule->namespace_count; i++)
                if (glob_matches(rule->namespaces[i], namespace->text, namespace->len))
                        return true;
        return rule->namespace_count == 0;
}

static bool matches(const struct policy_rule *rule, const struct pod_facts *pod) {
        if (!is_in(rule, &pod->namespace) || pod->priority >= rule->priority_below)
                return false;
        if (rule->priority_class[0] && !skim_is(&pod->priority_class, rule->priority_class))
                return false;
        for (size_t i = 0; i < rule->labels.count; i++)
                if (!has_label(&pod->labels, &rule->labels.labels[i]))
                        return false;
        return true;
}

const struct policy_rule *pod_rule_find(const struct policy *policy, const struct pod_facts *pod) {
        for (size_t i = 0; i < policy->rule_count && !pod->is_daemonset; i++)
                if (matches(&policy->rules[i], pod))
                        return &policy->rules[i];
        return NULL;
}
