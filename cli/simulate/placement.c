#include "cli/simulate/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "cli/simulate/difference.h"
#include "codec/json.h"
#include "policy/estimate/estimate_terms.h"

struct judging {
        const struct recording *recording;
        const struct node_table_options *options;
        struct node_table *before, *after;
        struct strmap nodes; /* name: its entry of the recording */
};

/* ---- What was kept of a candidate. */

static bool kept_number(const json_t *object, const char *key, double *ret) {
        const json_t *number = json_at(object, key, NULL);

        *ret = json_number_value(number);
        return json_is_number(number);
}

/* Replace the present reading by the one that was kept, or remove it if that was not usable. */
static void set_kept_reading(const struct judging *judging, json_t *annotations, const char *metric,
                             const json_t *kept, const char *ratio_key) {
        const struct node_table_options *options = judging->options;
        double ratio, age_s;

        if (!metric)
                return;
        _cleanup_(freep) char *key = xasprintf("%s%s", options->annotation_prefix, metric);
        (void)json_object_del(annotations, key);
        if (!kept_number(kept, ratio_key, &ratio) || ratio < 0 || ratio > ANNOTATION_RATIO_MAX)
                return;
        /* A rejection has no age: its reading was usable. */
        (void)kept_number(kept, "ageSeconds", &age_s);
        if (age_s < -INT32_MAX || age_s > INT32_MAX)
                return;
        char text[ANNOTATION_TEXT_MAX];
        annotation_format_ratio(options->is_percent ? ratio * 100 : ratio,
                                judging->recording->at_unix_ms - (int64_t)(age_s * MS_PER_S),
                                options->zone, text);
        (void)json_object_set_new(annotations, key, json_string(text));
}

static void set_hot(const struct judging *judging, json_t *annotations, const json_t *kept) {
        char text[ANNOTATION_TEXT_MAX];
        double hot;

        if (!kept_number(kept, "hotValue", &hot) || hot < 0 || hot > INT32_MAX)
                return;
        _cleanup_(freep) char *key = xasprintf("%s" ANNOTATION_HOT_VALUE,
                                               judging->options->annotation_prefix);
        annotation_format_hot((int64_t)hot, judging->recording->at_unix_ms, judging->options->zone,
                              text);
        (void)json_object_set_new(annotations, key, json_string(text));
}

static const json_t *labels_of(const struct judging *judging, const char *name) {
        return json_at(strmap_get(&judging->nodes, name, strlen(name)), "labels", NULL);
}

/* Add a candidate with its present annotations to @candidates. Return: the annotations; NULL: it
 * has no name */
static json_t *placement_add_candidate(const struct judging *judging, json_t *candidates,
                                       const char *name) {
        json_t *known = name ? json_object_get(candidates, name) : NULL;

        if (known || !name)
                return known;
        const json_t *node = strmap_get(&judging->nodes, name, strlen(name));
        json_t *annotations = node ? json_copy(json_at(node, "annotations", NULL)) : json_object();
        (void)json_object_set_new(candidates, name, annotations);
        return annotations;
}

static void add_ranked(const struct judging *judging, json_t *candidates, const json_t *kept) {
        static const char *const resources[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};
        const struct policy *policy = node_table_policy(judging->before);
        const char *name = json_string_at(kept, "node", NULL);
        json_t *annotations = placement_add_candidate(judging, candidates, name);
        const json_t *terms = json_at(kept, "priorities", NULL);
        struct estimate_terms estimate;

        if (!annotations)
                return;
        for (size_t i = 0; i < json_array_size(terms); i++)
                set_kept_reading(judging, annotations,
                                 json_string_at(json_array_get(terms, i), "metric", NULL),
                                 json_array_get(terms, i), "value");
        set_hot(judging, annotations, kept);
        estimate_terms_init(&estimate, policy, policy_pool_of(policy, labels_of(judging, name)));
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const json_t *usage = json_at(kept, "estimate", resources[r], NULL);
                if (json_is_object(usage) && estimate.metric[r] >= 0)
                        set_kept_reading(judging, annotations,
                                         policy->metrics[estimate.metric[r]].name, usage,
                                         "reading");
        }
}

static json_t *candidates_of(const struct judging *judging, const json_t *decision) {
        const json_t *ranked = json_at(decision, "prioritize", "bestNodes", NULL);
        const json_t *rejected = json_at(decision, "filter", "rejectedNodes", NULL);
        json_t *candidates = json_object();

        for (size_t i = 0; i < json_array_size(ranked); i++)
                add_ranked(judging, candidates, json_array_get(ranked, i));
        for (size_t i = 0; i < json_array_size(rejected); i++) {
                const json_t *kept = json_array_get(rejected, i);
                json_t *annotations = placement_add_candidate(judging, candidates,
                                                              json_string_at(kept, "node", NULL));
                if (annotations)
                        set_kept_reading(judging, annotations, json_string_at(kept, "metric", NULL),
                                         kept, "value");
        }
        return candidates;
}

/* ---- Judging. */

static void placement_fill(const struct judging *judging, struct node_table *table,
                           const json_t *candidates) {
        int64_t now_unix_ms = judging->recording->at_unix_ms;
        json_t *annotations;
        const char *name;

        node_table_list_begins(table);
        json_object_foreach (json_iterable(candidates), name, annotations) {
                const struct node_update update = {
                        .name = name,
                        .annotations = annotations,
                        .labels = labels_of(judging, name),
                };
                node_table_put(table, &update, now_unix_ms);
        }
        node_table_list_ended(table);
}

static void placement_rank(struct placement *placement, const struct difference *difference) {
        const struct node_table *table = difference->after.explanation->table;

        placement->candidates = difference->count;
        for (size_t row = 0; row < difference->count; row++) {
                size_t before = difference->before.ranks[row];
                size_t after = difference->after.ranks[row];
                placement->is_same_first |= before == 1 && after == 1;
                if (strcmp(node_table_name(table, row), placement->node) == 0) {
                        placement->rank_before = before;
                        placement->rank_after = after;
                }
        }
}

static void placement_judge_both(const struct judging *judging, const json_t *candidates,
                                 struct placement *placement) {
        _cleanup_(explanation_done) struct explanation before, after;
        _cleanup_(difference_done) struct difference difference;
        int64_t now_unix_ms = judging->recording->at_unix_ms;

        placement_fill(judging, judging->before, candidates);
        placement_fill(judging, judging->after, candidates);
        explanation_init(&before, judging->before, NULL, now_unix_ms);
        explanation_init(&after, judging->after, NULL, now_unix_ms);
        difference_init(&difference, &before, &after);
        placement_rank(placement, &difference);
}

/* Return: false if there was nothing to choose from, or if not the nodes' limits alone held for the
 * pod: what a rule of another policy would make of it is not known */
static bool read_placement(const json_t *item, struct placement *ret) {
        const json_t *decision = json_at(item, "decision", NULL);
        const json_t *ranked = json_at(decision, "prioritize", "bestNodes", NULL);
        const char *node = json_string_at(item, "node", NULL);
        const char *first = json_string_at(json_array_get(ranked, 0), "node", NULL);
        const char *at = json_string_at(decision, "prioritize", "at", NULL);

        *ret = (struct placement){
                .pod_space = json_string_at(decision, "namespace", NULL),
                .pod_name = json_string_at(decision, "name", NULL),
                .at = at ? at : json_string_at(decision, "filter", "at", NULL),
                .node = node ? node : first,
                .is_bound = node != NULL,
        };
        return ret->pod_space && ret->pod_name && ret->at && ret->node &&
               !json_is_true(json_at(decision, "filter", "daemonset", NULL)) &&
               json_int_at(0, decision, "filter", "rule", NULL) == 0;
}

void placement_judge(const struct recording *recording, const struct node_table_options *options,
                     struct node_table *before, struct node_table *after, struct placements *ret) {
        struct judging judging = {recording, options, before, after, STRMAP_NULL};
        size_t count = json_array_size(recording->decisions);
        json_t *item;
        size_t i;

        *ret = (struct placements){.items = xcalloc(count + 1, sizeof(*ret->items))};
        json_array_foreach (recording->nodes, i, item) {
                const char *name = json_string_at(item, "name", NULL);
                (void)strmap_put(&judging.nodes, name, strlen(name), item);
        }
        json_array_foreach (recording->decisions, i, item) {
                struct placement *placement = &ret->items[ret->count];
                if (!read_placement(item, placement)) {
                        ret->left_out++;
                        continue;
                }
                json_auto_t *candidates = candidates_of(&judging, json_at(item, "decision", NULL));
                (void)placement_add_candidate(&judging, candidates, placement->node);
                placement_judge_both(&judging, candidates, placement);
                ret->count++;
                ret->same_first += placement->is_same_first;
                ret->rejected += placement->rank_after == 0 && placement->rank_before > 0;
        }
        strmap_done(&judging.nodes);
}

void placement_done(struct placements *placements) {
        free(placements->items);
        *placements = (struct placements){0};
}
