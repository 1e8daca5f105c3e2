#include "cli/explain/explain_decision.h"

#include <stdint.h>
#include <string.h>

#include "base/timestamp.h"
#include "cli/explain/terms.h"
#include "codec/json.h"

/* "200 candidates" */
static void print_candidates(const json_t *call, FILE *out) {
        (void)fprintf(out, "%s candidate%s", terms_number(call, "candidates").text,
                      json_int_at(0, call, "candidates", NULL) == 1 ? "" : "s");
}

/* ", 3 unknown", unless there are none. */
static void print_count(const json_t *object, const char *key, const char *what, FILE *out) {
        json_int_t count = json_int_at(0, object, key, NULL);

        if (count > 0)
                (void)fprintf(out, ", %" JSON_INTEGER_FORMAT " %s", count, what);
}

/* ---- The newest of several. */

static int64_t at_unix_ms(const json_t *decision, const char *call) {
        const char *at = json_string_at(decision, call, "at", NULL);
        int64_t unix_ms = INT64_MIN;

        return at && timestamp_parse(at, strlen(at), &unix_ms) ? unix_ms : INT64_MIN;
}

static int64_t newest_unix_ms(const json_t *decision) {
        int64_t filter = at_unix_ms(decision, "filter"), rank = at_unix_ms(decision, "prioritize");

        return filter > rank ? filter : rank;
}

static bool is_confirmed(const json_t *decision) {
        return json_is_string(json_at(decision, "confirmedAt", NULL));
}

static void take_newer(json_t *into, const json_t *other, const char *call, const char *count) {
        if (at_unix_ms(other, call) <= at_unix_ms(into, call))
                return;
        (void)json_object_set(into, call, json_at(other, call, NULL));
        (void)json_object_set(into, count, json_at(other, count, NULL));
}

json_t *explain_decision_newer(json_t *a, json_t *b) {
        bool is_b = !a ||
                    (is_confirmed(a) == is_confirmed(b) ? newest_unix_ms(b) > newest_unix_ms(a)
                                                        : is_confirmed(b));
        json_t *newer = is_b ? b : a, *older = is_b ? a : b;
        const char *uid = json_string_at(newer, "uid", NULL);

        if (uid && json_is_at(uid, older, "uid", NULL) &&
            is_confirmed(newer) == is_confirmed(older)) {
                take_newer(newer, older, "filter", "filterCalls");
                take_newer(newer, older, "prioritize", "prioritizeCalls");
        }
        json_decref(older);
        return newer;
}

/* ---- The pod's node, compared with the answers. */

static void print_outcome(const json_t *decision, const struct explain_place *place, FILE *out) {
        const json_t *nodes = json_at(decision, "prioritize", "bestNodes", NULL);
        const char *node = explain_place_node(place);
        const char *uid = json_string_at(place->pod, "metadata", "uid", NULL);
        const char *asked_uid = json_string_at(decision, "uid", NULL);

        if (!is_confirmed(decision))
                (void)fputs("unverified: no binding confirms that a scheduler asked\n", out);
        if (uid && asked_uid && strcmp(uid, asked_uid) != 0) {
                (void)fputs("these answers are about another pod with this name\n", out);
                return;
        }
        if (!node || json_array_size(nodes) == 0)
                return;
        const json_t *best = json_array_get(nodes, 0),
                     *its = json_find_at(node, nodes, "node", NULL);
        bool is_best = its == best ||
                       json_equal(json_at(its, "score", NULL), json_at(best, "score", NULL));

        if (!its)
                (void)fputs("its node is not among the best nodes of the extender", out);
        else if (its == best)
                (void)fputs("its node is the best node of the extender", out);
        else if (is_best)
                (void)fputs("its node has the same score as the best node of the extender", out);
        else
                (void)fprintf(out, "its node scored %s, and the best node %s",
                              terms_number(its, "score").text, terms_number(best, "score").text);
        (void)fputs(is_best ? "\n" : ": other plugins of the scheduler also score nodes\n", out);
}

/* ---- Filter. */

static void print_rejections(const json_t *filter, size_t max_nodes, FILE *out) {
        const json_t *predicates = json_at(filter, "predicates", NULL);
        const json_t *nodes = json_at(filter, "rejectedNodes", NULL);

        for (size_t i = 0; i < json_array_size(predicates) && i < max_nodes; i++) {
                const json_t *predicate = json_array_get(predicates, i);
                (void)fprintf(out, "  %s over %s above %s%%\n",
                              terms_number(predicate, "over").text,
                              terms_text(predicate, "metric").text,
                              terms_scaled(predicate, "limit", 100).text);
        }
        for (size_t i = 0; i < json_array_size(nodes) && i < max_nodes; i++) {
                const json_t *node = json_array_get(nodes, i);
                (void)fprintf(out, "  %s: rejected: %s is %s of %s%%\n",
                              terms_text(node, "node").text, terms_text(node, "metric").text,
                              terms_scaled(node, "value", 100).text,
                              terms_scaled(node, "limit", 100).text);
        }
}

static void print_filter(const json_t *filter, size_t max_nodes, FILE *out) {
        if (!json_is_object(filter)) {
                (void)fputs("filter: no call\n", out);
                return;
        }
        (void)fprintf(out, "filter at %s: ", terms_text(filter, "at").text);
        print_candidates(filter, out);
        (void)fprintf(out, ", %s passed", terms_number(filter, "passed").text);
        print_count(filter, "rejected", "rejected", out);
        print_count(filter, "leftOut", "left out by the shortlist", out);
        print_count(filter, "unknown", "not in the extender's table", out);
        (void)fputc('\n', out);
        if (json_is_true(json_at(filter, "daemonset", NULL)))
                (void)fputs("  pods of a DaemonSet pass everywhere\n", out);
        if (json_is_true(json_at(filter, "heldBack", NULL)))
                (void)fputs("  held back: kube-scheduler places it as if nobody were asked\n", out);
        if (json_int_at(0, filter, "rule", NULL) > 0)
                (void)fprintf(out, "  rule %s of the policy applies to it\n",
                              terms_number(filter, "rule").text);
        if (json_is_true(json_at(filter, "allOverLimits", NULL)))
                (void)fputs("  every candidate was above a limit, so all passed\n", out);
        print_rejections(filter, max_nodes, out);
}

/* ---- Prioritize. */

static void print_ranking(const json_t *ranking, const json_t *filter, size_t max_nodes,
                          const struct style *style, FILE *out) {
        const json_t *nodes = json_at(ranking, "bestNodes", NULL);
        json_int_t passed = json_int_at(0, filter, "passed", NULL);

        if (!json_is_object(ranking)) {
                (void)fprintf(out, "prioritize: no call%s\n",
                              passed == 1 ? ", because only one node passed" : "");
                return;
        }
        (void)fprintf(out, "prioritize at %s: ", terms_text(ranking, "at").text);
        print_candidates(ranking, out);
        print_count(ranking, "unknown", "not in the extender's table", out);
        (void)fprintf(out, ", scoring %s\n", terms_text(ranking, "scoring").text);
        terms_print_expected(json_at(ranking, "expected", NULL), out);
        for (size_t i = 0; i < json_array_size(nodes) && i < max_nodes; i++) {
                (void)fputc('\n', out);
                terms_print(json_array_get(nodes, i), style, out);
        }
}

void explain_decision_print(const json_t *decision, const struct explain_place *place,
                            size_t max_nodes, const struct style *style, FILE *out) {
        const json_t *filter = json_at(decision, "filter", NULL);

        print_outcome(decision, place, out);
        print_filter(filter, max_nodes, out);
        print_ranking(json_at(decision, "prioritize", NULL), filter, max_nodes, style, out);
}
