#include "policy/policy_entries.h"

#include <float.h>
#include <stdio.h>

#include "base/nearest.h"
#include "base/number.h"

void policy_expect_unique(const struct reader_map *item) {
        reader_expected(item, "name", "a unique name");
}

bool policy_has_list(const struct reader_map *map, const char *field) {
        const struct tree_node *list = tree_get(map->node, field);

        return list && !tree_is_null(list);
}

static const char sync_name[] = "a name of spec.syncPolicy";

/* @name is not in syncPolicy: it is misspelt here or there. */
static void expect_sync_name(const struct reader_map *item, const char *name,
                             const struct policy *policy) {
        struct nearest nearest = NEAREST_TO(name);
        struct metric_query query;

        for (size_t i = 0; i < policy->metric_count; i++)
                nearest_offer(&nearest, policy->metrics[i].name);
        const char *near = nearest.candidate;
        if (!near)
                reader_expected(item, "name", "%s (add it there)", sync_name);
        else if (policy_query_parse(policy, name, &query) &&
                 !policy_query_parse(policy, near, &query))
                reader_expected(item, "name", "%s (which has %s: did you mean %s there?)",
                                sync_name, near, name);
        else
                reader_expected(item, "name", "%s (did you mean %s?)", sync_name, near);
}

/* The index of the syncPolicy entry with the item's name; SIZE_MAX on error. */
static size_t read_sync_index(const struct reader_map *item, const struct policy *policy) {
        const char *name = reader_text(item, "name", READER_REQUIRED, sync_name);
        int index = name ? policy_metric_index(policy, name) : -1;

        if (index < 0) {
                if (name && !policy_sync_is_wrong(item))
                        expect_sync_name(item, name, policy);
                return SIZE_MAX;
        }
        /* Such a metric is never written, so it never has a fresh value. Crane ignores it silently.
         */
        if (policy->metrics[index].period_ms == 0 && !policy_sync_is_wrong(item))
                reader_expected(item, "name", "%s with a period above 0", sync_name);
        return (size_t)index;
}

/* Only a built-in resource is known to have no usage above 1. */
static bool is_share(const struct policy_metric *metric) {
        return metric->is_query && metric->query.resource < METRIC_RESOURCE_COUNT;
}

struct policy_range policy_read_predicates(const struct reader_map *parent, const char *list,
                                           size_t max, struct policy *policy) {
        static const char name[] = "maxLimitPecent" /* crane's spelling */,
                          alias[] = "maxLimitPercent";
        static const char *const fields[] = {"name", name, "overLimit", NULL};
        struct policy_range range = {policy->predicate_total, policy->predicate_total};
        struct reader_map item = {.fields = fields, .alias = alias};

        for (size_t i = 0; reader_map_item(parent, list, max, i, &item); i++) {
                struct policy_predicate *predicate = &policy->predicates[range.end];
                char limit[NUMBER_TEXT_MAX];
                predicate->metric = read_sync_index(&item, policy);
                bool has_alias = policy_has_list(&item, alias);
                if (has_alias && policy_has_list(&item, name))
                        reader_refuse(&item, alias, "expected either %s or %s, got both", name,
                                      alias);
                reader_number(&item, has_alias ? alias : name, READER_REQUIRED,
                              "a ratio up to 1 or a percentage up to 100 (0: no limit)", 0, 100,
                              &predicate->limit_ratio);
                if (predicate->limit_ratio > 1)
                        predicate->limit_ratio /= 100;
                predicate->over_limit = (enum policy_over_limit)reader_choice(
                        &item, "overLimit", READER_OPTIONAL, policy_over_limit_names);
                policy->has_last |= predicate->over_limit == POLICY_OVER_LIMIT_LAST;
                policy->predicate_total = ++range.end;
                if (!reader_map_end(&item) || predicate->metric == SIZE_MAX)
                        continue;
                for (size_t before = range.begin; before + 1 < range.end; before++)
                        if (policy->predicates[before].metric == predicate->metric)
                                policy_expect_unique(&item);
                /* A ratio, as in the annotations, not a percentage: kube-scheduler passes its
                 * message to the event recorder as a format, and the event of a pod would read
                 * "above 65%!(MISSING)". */
                if (predicate->limit_ratio == 1 && is_share(&policy->metrics[predicate->metric]))
                        reader_warn(&item, NULL, "no usage is above 1, so this is no limit");
                number_format(predicate->limit_ratio, limit);
                (void)snprintf(predicate->reason, sizeof(predicate->reason), "%s above %s",
                               policy->metrics[predicate->metric].name, limit);
        }
        return range;
}

struct policy_range policy_read_priorities(const struct reader_map *parent, const char *list,
                                           size_t max, struct policy *policy) {
        static const char *const fields[] = {"name", "weight", "scale", "target", NULL};
        struct policy_range range = {policy->priority_total, policy->priority_total};
        struct reader_map item = {.fields = fields};
        bool is_sound = true;
        double sum = 0;

        for (size_t i = 0; reader_map_item(parent, list, max, i, &item); i++) {
                struct policy_priority *priority = &policy->priorities[range.end];
                priority->metric = read_sync_index(&item, policy);
                reader_number(&item, "weight", READER_REQUIRED, "a finite number >= 0", 0, DBL_MAX,
                              &priority->weight);
                priority->scale = (enum policy_scale)reader_choice(&item, "scale", READER_OPTIONAL,
                                                                   policy_scale_names);
                reader_number(&item, "target", READER_OPTIONAL, "a ratio above 0 and below 1",
                              DBL_TRUE_MIN, 1 - DBL_EPSILON / 2, &priority->target_ratio);
                policy->priority_total = ++range.end;
                is_sound &= reader_map_end(&item);
                sum += priority->weight;
                if (priority->metric == SIZE_MAX)
                        continue;
                for (size_t before = range.begin; before + 1 < range.end; before++)
                        if (policy->priorities[before].metric == priority->metric)
                                policy_expect_unique(&item);
        }
        if (is_sound && range.end > range.begin && sum == 0)
                reader_refuse(parent, list, "expected at least one weight above 0, got none");
        if (!number_is_finite(sum))
                reader_refuse(parent, list, "expected weights with a finite sum, got infinity");
        return range;
}
