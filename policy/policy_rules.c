#include "policy/policy_rules.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"

static int expect_word(struct policy_reader *reader, const struct tree_node *node,
                       const char *word) {
        const char *text = NULL;
        int r = policy_read_text(reader, node, word, &text);

        if (r < 0)
                return r;
        return strcmp(text, word) == 0 ? 0 : policy_reader_expected(reader, node, "%s", word);
}

int policy_rule_api_version(struct policy_reader *reader, const struct tree_node *node,
                            void *value) {
        (void)value;
        return expect_word(reader, node, POLICY_API_VERSION);
}

int policy_rule_kind(struct policy_reader *reader, const struct tree_node *node, void *value) {
        (void)value;
        return expect_word(reader, node, POLICY_KIND);
}

/* RFC 1123, as Kubernetes wants an object's name. */
static bool is_object_name(const char *text, size_t len) {
        static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";

        return len > 0 && strspn(text, inner) == len && !strchr("-.", text[0]) &&
               !strchr("-.", text[len - 1]);
}

int policy_rule_name(struct policy_reader *reader, const struct tree_node *node, void *value) {
        enum { NAME_BYTES = sizeof(reader->policy->name) };
        static const char what[] = "at most 253 of a-z, 0-9, '-' and '.'";
        const char *text = NULL;
        int r = policy_read_text(reader, node, what, &text);

        if (r < 0)
                return r;
        if (node->text_len >= NAME_BYTES || !is_object_name(text, node->text_len))
                return policy_reader_expected(reader, node, "%s", what);
        memcpy(value, text, node->text_len + 1);
        return 0;
}

int policy_rule_metric_name(struct policy_reader *reader, const struct tree_node *node,
                            void *value) {
        static const char what[] =
                "a metric's name of at most 63 letters, digits, '_', '-' and '.'";
        const char *text = NULL;
        int r = policy_read_text(reader, node, what, &text);

        if (r < 0)
                return r;
        if (!metric_name_is_valid(text))
                return policy_reader_expected(reader, node, "%s", what);
        memcpy(value, text, node->text_len + 1);
        return 0;
}

int policy_rule_period(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "a duration >= 0 such as 90s, 3m or 1h30m";
        int64_t period_ms = 0;
        int r = policy_read_duration(reader, node, what, &period_ms);

        if (r < 0)
                return r;
        if (period_ms < 0)
                return policy_reader_expected(reader, node, "%s", what);
        *(int64_t *)value = period_ms;
        return 0;
}

int policy_rule_metric(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "a name of spec.syncPolicy";
        const struct policy *policy = reader->policy;
        const char *text = NULL;
        int r = policy_read_text(reader, node, what, &text);

        if (r < 0)
                return r;
        int index = policy_sync_index(policy, text);
        if (index < 0) {
                struct nearest nearest = NEAREST_TO(text);
                for (size_t i = 0; i < policy->sync_count; i++)
                        nearest_offer(&nearest, policy->sync[i].name);
                return policy_reader_expected(
                        reader, node, "%s%s%s%s", what, nearest.candidate ? " (perhaps " : "",
                        nearest.candidate ? nearest.candidate : "", nearest.candidate ? ")" : "");
        }
        /* Never written, so never fresh: crane skips it silently, and the guard is off. */
        if (policy->sync[index].period_ms == 0)
                return policy_reader_expected(reader, node, "%s with a period above 0", what);
        *(size_t *)value = (size_t)index;
        return 0;
}

int policy_rule_limit(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "a ratio up to 1 or a percentage up to 100 (0: no limit)";
        double limit = 0;
        int r = policy_read_number(reader, node, what, &limit);

        if (r < 0)
                return r;
        if (limit < 0 || limit > 100)
                return policy_reader_expected(reader, node, "%s", what);
        if (limit > 1)
                limit /= 100;
        *(double *)value = limit == 0 ? 0 : limit; /* -0 is 0 */
        return 0;
}

int policy_rule_weight(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "a finite number >= 0";
        double weight = 0;
        int r = policy_read_number(reader, node, what, &weight);

        if (r < 0)
                return r;
        if (weight < 0)
                return policy_reader_expected(reader, node, "%s", what);
        *(double *)value = weight == 0 ? 0 : weight;
        return 0;
}

int policy_rule_time_range(struct policy_reader *reader, const struct tree_node *node,
                           void *value) {
        static const char what[] = "a duration above 0 such as 1m or 90s";
        int64_t time_range_ms = 0;
        int r = policy_read_duration(reader, node, what, &time_range_ms);

        if (r < 0)
                return r;
        if (time_range_ms <= 0)
                return policy_reader_expected(reader, node, "%s", what);
        *(int64_t *)value = time_range_ms;
        return 0;
}

int policy_rule_count(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "a whole number >= 1";
        int64_t count = 0;
        int r = policy_read_integer(reader, node, what, &count);

        if (r < 0)
                return r;
        if (count < 1)
                return policy_reader_expected(reader, node, "%s", what);
        *(int64_t *)value = count;
        return 0;
}

/* "absolute" or @other. */
static int read_absolute_or(struct policy_reader *reader, const struct tree_node *node,
                            const char *other, bool *ret_is_other) {
        char what[32];
        const char *text = NULL;

        (void)snprintf(what, sizeof(what), "absolute or %s", other);
        int r = policy_read_text(reader, node, what, &text);
        if (r < 0)
                return r;
        *ret_is_other = strcmp(text, other) == 0;
        if (!*ret_is_other && strcmp(text, "absolute") != 0)
                return policy_reader_expected(reader, node, "%s", what);
        return 0;
}

int policy_rule_scale(struct policy_reader *reader, const struct tree_node *node, void *value) {
        bool is_relative = false;
        int r = read_absolute_or(reader, node, "relative", &is_relative);

        if (r < 0)
                return r;
        *(enum policy_scale *)value = is_relative ? POLICY_SCALE_RELATIVE : POLICY_SCALE_ABSOLUTE;
        return 0;
}

int policy_rule_scoring(struct policy_reader *reader, const struct tree_node *node, void *value) {
        bool is_spread = false;
        int r = read_absolute_or(reader, node, "spread", &is_spread);

        if (r < 0)
                return r;
        *(enum policy_scoring *)value = is_spread ? POLICY_SCORING_SPREAD : POLICY_SCORING_ABSOLUTE;
        return 0;
}

int policy_expect_once(struct policy_reader *reader, const struct tree_node *node) {
        return policy_reader_expected_in(reader, "name", tree_get(node, "name"),
                                         "every name only once");
}

int policy_check_metric(struct policy_reader *reader, const struct tree_node *node, size_t index) {
        struct policy_sync *metric = &reader->policy->sync[index];

        /* metric_count is the number of those before it: this one is not yet found. */
        if (policy_sync_index(reader->policy, metric->name) >= 0)
                return policy_expect_once(reader, node);
        metric->is_query = policy_query_parse(reader->policy, metric->name, &metric->query);
        if (!metric->is_query && strstr(metric->name, "_usage_"))
                policy_reader_warn(reader, node,
                                   "%s is no <resource>_usage_<statistic>_<window>, so a source "
                                   "must deliver it ready-made",
                                   metric->name);
        return 0;
}

/* A declaration that nothing follows from: a misspelling, most likely. */
int policy_check_metrics(struct policy_reader *reader, const struct tree_node *node) {
        const struct policy *policy = reader->policy;
        uint32_t used = 0;

        for (size_t i = 0; i < policy->sync_count; i++)
                if (policy->sync[i].is_query &&
                    policy->sync[i].query.resource >= METRIC_RESOURCE_COUNT)
                        used |= UINT32_C(1)
                                << (policy->sync[i].query.resource - METRIC_RESOURCE_COUNT);
        for (size_t i = 0; i < policy->metric_count; i++)
                if (!(used >> i & 1))
                        policy_reader_warn(reader, node,
                                           "no %s_usage_<statistic>_<window>, so spec.metrics[%zu] "
                                           "is not used",
                                           policy->metrics[i].name, i);
        return 0;
}

int policy_check_predicate(struct policy_reader *reader, const struct tree_node *node,
                           size_t index) {
        struct policy_predicate *predicate = &reader->policy->predicates[index];
        char limit[NUMBER_TEXT_MAX];

        for (size_t i = 0; i < index; i++)
                if (reader->policy->predicates[i].metric == predicate->metric)
                        return policy_expect_once(reader, node);
        /* A ratio, as in the annotations. No per cent sign: kube-scheduler gives its message to
         * the event recorder as a format, and a pod's event would read "above 65%!(MISSING)". */
        number_format(predicate->limit_ratio, limit);
        (void)snprintf(predicate->reason, sizeof(predicate->reason), "%s above %s",
                       reader->policy->sync[predicate->metric].name, limit);
        return 0;
}

int policy_check_priority(struct policy_reader *reader, const struct tree_node *node,
                          size_t index) {
        const struct policy_priority *priorities = reader->policy->priorities;

        for (size_t i = 0; i < index; i++)
                if (priorities[i].metric == priorities[index].metric)
                        return policy_expect_once(reader, node);
        return 0;
}

int policy_check_priorities(struct policy_reader *reader, const struct tree_node *node) {
        const struct policy *policy = reader->policy;
        double sum = 0;

        for (size_t i = 0; i < policy->priority_count; i++)
                sum += policy->priorities[i].weight;
        if (policy->priority_count > 0 && sum == 0)
                return policy_reader_refuse(reader, node,
                                            "expected at least one weight above 0, got none");
        if (!number_is_finite(sum))
                return policy_reader_refuse(reader, node,
                                            "expected weights with a finite sum, got infinity");
        return 0;
}
