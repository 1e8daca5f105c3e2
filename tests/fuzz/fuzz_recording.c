/* A recording that is accepted is judged without trouble, whatever its decisions hold, and what is
 * counted of them adds up. */
#include "fuzz.h"

#include <string.h>

#include "base/mem.h"
#include "cli/simulate/difference.h"
#include "cli/simulate/placement.h"
#include "codec/json.h"
#include "tests/unit/fixture/property.h"

static struct policy *in_force(const struct recording *recording) {
        struct policy *policy = NULL;

        return policy_parse(recording->policy_text, strlen(recording->policy_text), false, &policy,
                            NULL) < 0
                       ? policy_default()
                       : policy;
}

static void check_placements(const struct recording *recording,
                             const struct node_table_options *options, struct node_table *before) {
        _cleanup_(node_table_freep) struct node_table *after = node_table_new(
                options, policy_default(), recording->at_unix_ms);
        struct placements placements;
        size_t same_first = 0, rejected = 0;

        placement_judge(recording, options, before, after, &placements);
        PROPERTY(placements.count + placements.left_out == json_array_size(recording->decisions));
        for (size_t i = 0; i < placements.count; i++) {
                const struct placement *of = &placements.items[i];
                PROPERTY(of->node && of->pod_space && of->pod_name && of->at);
                PROPERTY(of->rank_before <= of->candidates && of->rank_after <= of->candidates);
                same_first += of->is_same_first;
                rejected += of->rank_before > 0 && of->rank_after == 0;
        }
        PROPERTY(placements.same_first == same_first && placements.rejected == rejected);
        placement_done(&placements);
}

/* The same policy on both sides changes nothing. */
static void check_difference(const struct recording *recording, struct node_table *table) {
        const struct explained_pod pod = {0};
        struct explanation explanation;
        struct difference difference;
        struct error err = ERROR_NULL;

        if (recording_put_nodes(recording, table, NULL) < 0)
                return;
        (void)recording_estimate(recording, table, recording->estimate != NULL, &err);
        explanation_init(&explanation, table, NULL, &pod, recording->at_unix_ms);
        difference_init(&difference, &explanation, &explanation);
        PROPERTY(difference.count == json_array_size(recording->nodes));
        PROPERTY(difference.newly_rejected == 0 && difference.ranks_changed == 0);
        difference_done(&difference);
        explanation_done(&explanation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        /* The prefix is an option's, which has been checked. */
        const struct node_table_options options = {.annotation_prefix = ""};
        struct recording recording;
        json_t *root = NULL;

        if (json_parse((const char *)data, size, &root, NULL) < 0)
                return 0;
        if (recording_from_json(root, &recording, NULL) == 0) {
                struct node_table *table = node_table_new(&options, in_force(&recording),
                                                          recording.at_unix_ms);
                check_placements(&recording, &options, table);
                check_difference(&recording, table);
                node_table_free(table);
                recording_done(&recording);
        }
        json_decref(root);
        return 0;
}
