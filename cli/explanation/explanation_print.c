/* The explanation for people. */
#include "cli/explanation/explanation.h"
#include "cli/explanation/terms.h"

void explanation_print_source(const struct explanation *explanation, FILE *out) {
        const char *why_not = explanation->why_unscored, *from = explanation->estimate_from;

        if (!why_not && !from)
                return;
        (void)fputs(why_not ? "no scores: " : "scores by the estimate of ", out);
        (void)style_text(why_not ? why_not : from, SIZE_MAX, out);
        (void)fputc('\n', out);
}

static void print_pod(const struct explanation *explanation, FILE *out) {
        json_auto_t *expected = explanation_expected_json(explanation);

        (void)fputs(explanation->pod ? "pod " : "a pod without requests", out);
        (void)style_text(explanation->pod ? explanation->pod : "", SIZE_MAX, out);
        (void)fputs(":\n", out);
        terms_print_expected(expected, out);
        (void)fputc('\n', out);
}

/* A rule or a DaemonSet can change the limits for the pod. */
static void print_pods_rule(const struct explanation *explanation, FILE *out) {
        const struct policy_rule *rule = explanation->judge.question.rule;

        if (rule)
                (void)fprintf(out, "rule %zu of the policy applies to the pod: %s\n\n",
                              explanation_rule(explanation),
                              rule->is_exempt ? "no limit rejects it" : "it adds limits");
        else if (explanation->judge.question.is_exempt)
                (void)fputs("the pod belongs to a DaemonSet: no limit rejects it\n\n", out);
}

void explanation_print(const struct explanation *explanation, const json_t *nodes,
                       const struct style *style, FILE *out) {
        explanation_print_source(explanation, out);
        if (explanation_has_estimate(explanation) && !explanation->why_unscored)
                print_pod(explanation, out);
        print_pods_rule(explanation, out);
        for (size_t i = 0; i < json_array_size(nodes); i++) {
                if (i > 0)
                        (void)fputc('\n', out);
                terms_print(json_array_get(nodes, i), style, out);
        }
        if (json_array_size(nodes) == 0)
                (void)fputs("no nodes\n", out);
}
