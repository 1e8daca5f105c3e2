#include "cli/explain/explain_nodes.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/number.h"
#include "cli/explain/terms.h"
#include "codec/json.h"

static void print_head(const json_t *answer, const char *from, FILE *out) {
        const json_t *expected = json_at(answer, "expected", NULL);

        (void)fprintf(out, "by %s\n", style_plain(from).text);
        terms_print_expected(expected, out);
        if (json_int_at(0, answer, "rule", NULL) > 0)
                (void)fprintf(out, "  rule %s of the policy applies to the pod: %s\n",
                              terms_number(answer, "rule").text,
                              json_is_true(json_at(answer, "exempt", NULL)) ? "no limit rejects it"
                                                                            : "it adds limits");
        else if (json_is_true(json_at(answer, "exempt", NULL)))
                (void)fputs("  the pod belongs to a DaemonSet: no limit rejects it\n", out);
}

/* Nodes without a score come last. */
static double worth(const json_t *node) {
        const json_t *headroom = json_at(node, "estimate", "headroom", NULL);

        if (!json_is_number(json_at(node, "score", NULL)))
                return -INT32_MAX;
        return 1000 * json_number_value(json_at(node, "score", NULL)) +
               json_number_value(headroom ? headroom : json_at(node, "score100", NULL));
}

static int compare_worth(const void *a, const void *b) {
        double left = worth(*(const json_t *const *)a), right = worth(*(const json_t *const *)b);

        return (left < right) - (left > right);
}

void explain_nodes_print(const json_t *answer, const char *from, const char *node, size_t max_nodes,
                         const struct style *style, FILE *out) {
        const json_t *nodes = json_at(answer, "nodes", NULL);
        const json_t *its = node ? json_find_at(node, nodes, "node", NULL) : NULL;
        size_t count = json_array_size(nodes), shown = its != NULL;
        _cleanup_(freep) const json_t **order = xcalloc(count + 1, sizeof(*order));

        for (size_t i = 0; i < count; i++)
                order[i] = json_array_get(nodes, i);
        qsort(order, count, sizeof(*order), compare_worth);
        print_head(answer, from, out);
        if (its) {
                (void)fputs("\nits node, which counts the pod already:\n", out);
                terms_print(its, style, out);
        }
        for (size_t i = 0; i < count && shown - (its != NULL) < max_nodes; i++) {
                if (order[i] == its)
                        continue;
                (void)fputc('\n', out);
                terms_print(order[i], style, out);
                shown++;
        }
        if (count == 0)
                (void)fputs("no nodes\n", out);
        if (shown < count)
                (void)fprintf(out, "\n%zu other node%s, no better: -o wide shows all\n",
                              count - shown, number_plural(count - shown));
}
