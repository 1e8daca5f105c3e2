#include "cli/simulate/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"

enum { VERDICT_CHANGES = 100 }; /* more than any change of a score */

static bool passes(const json_t *node) {
        return !json_is_string(json_at(node, "closedBy", NULL)) &&
               !json_is_string(json_at(node, "rejectedBy", NULL));
}

static double change_of(const json_t *before, const json_t *after) {
        if (passes(before) != passes(after))
                return VERDICT_CHANGES + passes(before); /* newly rejected ones first */
        return fabs(json_number_value(json_at(after, "score", NULL)) -
                    json_number_value(json_at(before, "score", NULL)));
}

static int compare_changes(const void *a, const void *b) {
        const struct difference_node *left = a, *right = b;

        if (left->change < right->change || left->change > right->change)
                return left->change > right->change ? -1 : 1;
        return strcmp(left->name, right->name);
}

void difference_init(struct difference *difference, const json_t *before, const json_t *after) {
        const json_t *old = json_at(before, "nodes", NULL), *new = json_at(after, "nodes", NULL);
        size_t count = size_min(json_array_size(old), json_array_size(new));

        *difference = (struct difference){
                .before = before,
                .after = after,
                .nodes = xcalloc(count + 1, sizeof(*difference->nodes)),
                .count = count,
        };
        for (size_t i = 0; i < count; i++) {
                struct difference_node *node = &difference->nodes[i];
                node->before = json_array_get(old, i);
                node->after = json_array_get(new, i);
                const char *name = json_string_at(node->after, "node", NULL);
                node->name = name ? name : "?";
                node->change = change_of(node->before, node->after);
                difference->changed += node->change > 0;
                difference->newly_rejected += passes(node->before) && !passes(node->after);
                difference->newly_passing += !passes(node->before) && passes(node->after);
        }
        qsort(difference->nodes, count, sizeof(*difference->nodes), compare_changes);
}

void difference_done(struct difference *difference) {
        free(difference->nodes);
        *difference = (struct difference){0};
}
