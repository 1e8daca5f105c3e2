#include "cli/explain/explain_decision.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/timestamp.h"
#include "codec/json.h"

enum { TEXT_MAX_COLUMNS = 400, NUMBER_MAX = 32 };

/* ---- Members of an object. */

static void print_text(const json_t *object, const char *key, FILE *out) {
        const char *text = json_string_at(object, key, NULL);

        (void)style_text(text ? text : "?", TEXT_MAX_COLUMNS, out);
}

static bool decision_number(const json_t *object, const char *key, double *ret) {
        const json_t *number = json_at(object, key, NULL);

        *ret = json_number_value(number);
        return json_is_number(number);
}

/* A number times @factor: a ratio as percent with 100. */
static const char *scaled(const json_t *object, const char *key, double factor,
                          char text[static NUMBER_MAX]) {
        double value;

        if (!decision_number(object, key, &value))
                return "?";
        value *= factor;
        (void)snprintf(text, NUMBER_MAX, fabs(value) < 1e7 ? "%.1f" : "%.3g", value);
        return text;
}

static const char *plain(const json_t *object, const char *key, char text[static NUMBER_MAX]) {
        double value;

        if (!decision_number(object, key, &value))
                return "?";
        (void)snprintf(text, NUMBER_MAX, "%.7g", value);
        return text;
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

static void take_newer(json_t *into, const json_t *other, const char *call, const char *count) {
        if (at_unix_ms(other, call) <= at_unix_ms(into, call))
                return;
        (void)json_object_set(into, call, json_at(other, call, NULL));
        (void)json_object_set(into, count, json_at(other, count, NULL));
}

json_t *explain_decision_newer(json_t *a, json_t *b) {
        bool is_b = !a || newest_unix_ms(b) > newest_unix_ms(a);
        json_t *newer = is_b ? b : a, *older = is_b ? a : b;
        const char *uid = json_string_at(newer, "uid", NULL);
        const char *older_uid = json_string_at(older, "uid", NULL);

        if (uid && older_uid && strcmp(uid, older_uid) == 0) {
                take_newer(newer, older, "filter", "filterCalls");
                take_newer(newer, older, "prioritize", "prioritizeCalls");
        }
        json_decref(older);
        return newer;
}

/* ---- Where it went, beside what was answered. */

static const json_t *find_node(const json_t *nodes, const char *name) {
        for (size_t i = 0; i < json_array_size(nodes); i++) {
                const char *node = json_string_at(json_array_get(nodes, i), "node", NULL);
                if (node && strcmp(node, name) == 0)
                        return json_array_get(nodes, i);
        }
        return NULL;
}

static void print_outcome(const json_t *decision, const struct explain_place *place, FILE *out) {
        const json_t *nodes = json_at(decision, "prioritize", "bestNodes", NULL);
        const char *node = explain_place_node(place), *uid = explain_place_uid(place);
        const char *asked_uid = json_string_at(decision, "uid", NULL);
        char score[NUMBER_MAX], best_score[NUMBER_MAX];

        if (uid && asked_uid && strcmp(uid, asked_uid) != 0) {
                (void)fputs("what follows is about an earlier pod of that name\n", out);
                return;
        }
        if (!node || json_array_size(nodes) == 0)
                return;
        const json_t *best = json_array_get(nodes, 0), *its = find_node(nodes, node);
        if (!its)
                (void)fputs("its node is not among the best that the extender ranked", out);
        else if (its == best)
                (void)fputs("its node is the best that the extender ranked", out);
        else
                (void)fprintf(out, "its node scored %s, the best %s", plain(its, "score", score),
                              plain(best, "score", best_score));
        (void)fputs(its == best ? "\n" : ": the scheduler's other plugins have a say\n", out);
}

/* ---- Filter. */

static void print_rejections(const json_t *filter, size_t max_nodes, FILE *out) {
        const json_t *predicates = json_at(filter, "predicates", NULL);
        const json_t *nodes = json_at(filter, "rejectedNodes", NULL);
        char over[NUMBER_MAX], value[NUMBER_MAX], limit[NUMBER_MAX];

        for (size_t i = 0; i < json_array_size(predicates) && i < max_nodes; i++) {
                const json_t *predicate = json_array_get(predicates, i);
                (void)fprintf(out, "  %s over ", plain(predicate, "over", over));
                print_text(predicate, "metric", out);
                (void)fprintf(out, " above %s %%\n", scaled(predicate, "limit", 100, limit));
        }
        for (size_t i = 0; i < json_array_size(nodes) && i < max_nodes; i++) {
                const json_t *node = json_array_get(nodes, i);
                (void)fputs("  ", out);
                print_text(node, "node", out);
                (void)fputs(": rejected: ", out);
                print_text(node, "metric", out);
                (void)fprintf(out, " is %s of %s %%\n", scaled(node, "value", 100, value),
                              scaled(node, "limit", 100, limit));
        }
}

static void print_filter(const json_t *filter, size_t max_nodes, FILE *out) {
        char candidates[NUMBER_MAX], passed[NUMBER_MAX];

        if (!json_is_object(filter)) {
                (void)fputs("filter: was not asked\n", out);
                return;
        }
        (void)fputs("filter at ", out);
        print_text(filter, "at", out);
        (void)fprintf(out, ": %s candidates, %s passed", plain(filter, "candidates", candidates),
                      plain(filter, "passed", passed));
        print_count(filter, "rejected", "rejected", out);
        print_count(filter, "leftOut", "left out by the shortlist", out);
        print_count(filter, "unknown", "not in the extender's table", out);
        (void)fputc('\n', out);
        if (json_is_true(json_at(filter, "daemonset", NULL)))
                (void)fputs("  it is a DaemonSet's, which passes everywhere\n", out);
        if (json_int_at(0, filter, "rule", NULL) > 0)
                (void)fprintf(out, "  rule %s of the policy holds for it\n",
                              plain(filter, "rule", candidates));
        if (json_is_true(json_at(filter, "allOverLimits", NULL)))
                (void)fputs("  every candidate was over a limit, so all passed\n", out);
        print_rejections(filter, max_nodes, out);
}

/* ---- Prioritize. */

static void print_learned(const json_t *expected, FILE *out) {
        char cores[NUMBER_MAX], confidence[NUMBER_MAX], mib[NUMBER_MAX], factor[NUMBER_MAX];

        (void)fprintf(out, "  expected: %s CPUs, learned of ", plain(expected, "loadCores", cores));
        print_text(expected, "workload", out);
        (void)fprintf(out, " (confidence %s %%); %s MiB by the cluster's factor %s\n",
                      scaled(expected, "confidence", 100, confidence),
                      scaled(expected, "loadBytes", 1.0 / (1 << 20), mib),
                      plain(expected, "clusterFactorMem", factor));
}

/* The factors are what all pods use of what they request. */
static void print_unlearned(const json_t *expected, FILE *out) {
        char cores[NUMBER_MAX], mib[NUMBER_MAX], cpu[NUMBER_MAX], mem[NUMBER_MAX];

        (void)fprintf(out, "  expected: %s CPUs and %s MiB, by the cluster's factors %s and %s; ",
                      plain(expected, "loadCores", cores),
                      scaled(expected, "loadBytes", 1.0 / (1 << 20), mib),
                      plain(expected, "clusterFactorCpu", cpu),
                      plain(expected, "clusterFactorMem", mem));
        if (json_string_at(expected, "workload", NULL)) {
                (void)fputs("nothing is learned of ", out);
                print_text(expected, "workload", out);
        } else {
                (void)fputs("it has no workload", out);
        }
        (void)fputc('\n', out);
}

static void print_expectation(const json_t *expected, FILE *out) {
        double learned;

        if (!json_is_object(expected))
                return;
        if (decision_number(expected, "learnedCores", &learned))
                print_learned(expected, out);
        else
                print_unlearned(expected, out);
}

/* How old the reading was then. */
static void print_age(const json_t *usage, FILE *out) {
        char age[DURATION_TEXT_MAX];
        double age_s;

        if (!decision_number(usage, "ageSeconds", &age_s) || fabs(age_s) > INT32_MAX)
                return;
        duration_format((int64_t)age_s * MS_PER_S, age);
        (void)fprintf(out, " (%s old)", age);
}

static void print_usage(const json_t *estimate, const char *resource, FILE *out) {
        const json_t *usage = json_at(estimate, resource, NULL);
        char total[NUMBER_MAX], part[NUMBER_MAX];

        if (!json_is_object(usage))
                return;
        (void)fprintf(out, "    %s %s %% = ", resource, scaled(usage, "expected", 100, total));
        if (json_is_null(json_at(usage, "reading", NULL)))
                (void)fputs("no reading", out);
        else
                (void)fprintf(out, "%s read", scaled(usage, "reading", 100, part));
        print_age(usage, out);
        (void)fprintf(out, " + %s in flight", scaled(usage, "inFlight", 100, part));
        (void)fprintf(out, " + %s pod twice", scaled(usage, "pod", 100, part));
        (void)fprintf(out, " + %s reserved", scaled(usage, "reserved", 100, part));
        (void)fprintf(out, ", weight %s\n", plain(usage, "weight", part));
}

static void print_terms(const json_t *terms, size_t max_terms, FILE *out) {
        char points[NUMBER_MAX], reading[NUMBER_MAX], weight[NUMBER_MAX];

        for (size_t i = 0; i < json_array_size(terms) && i < max_terms; i++) {
                const json_t *term = json_array_get(terms, i);
                (void)fputs("    ", out);
                print_text(term, "metric", out);
                (void)fprintf(out, ": %s points of 100: ", scaled(term, "points", 1, points));
                if (json_is_null(json_at(term, "value", NULL)))
                        (void)fputs("no reading", out);
                else
                        (void)fprintf(out, "%s %% read", scaled(term, "value", 100, reading));
                print_age(term, out);
                (void)fprintf(out, ", weight %s\n", plain(term, "weight", weight));
        }
}

static void print_node(const json_t *node, size_t max_terms, FILE *out) {
        const json_t *estimate = json_at(node, "estimate", NULL);
        char score[NUMBER_MAX], number[NUMBER_MAX];
        double value;

        (void)fputs("  ", out);
        print_text(node, "node", out);
        (void)fprintf(out, ": score %s", plain(node, "score", score));
        if (decision_number(estimate, "headroom", &value))
                (void)fprintf(out, ", headroom %s %%", scaled(estimate, "headroom", 1, number));
        if (decision_number(node, "score100", &value))
                (void)fprintf(out, ", %s of 100", plain(node, "score100", number));
        if (decision_number(node, "hotValue", &value) && value > 0)
                (void)fprintf(out, ", hot value %s", plain(node, "hotValue", number));
        if (json_is_false(json_at(node, "known", NULL)))
                (void)fputs(", not in the extender's table", out);
        if (json_is_true(json_at(node, "last", NULL)))
                (void)fputs(", over a limit that puts it last", out);
        (void)fputc('\n', out);
        print_usage(estimate, "cpu", out);
        print_usage(estimate, "mem", out);
        if (decision_number(estimate, "other", &value) && value > 0)
                (void)fprintf(out, "    other %s %%, the largest of the other priorities\n",
                              scaled(estimate, "other", 100, number));
        print_terms(json_at(node, "priorities", NULL), max_terms, out);
}

static void print_ranking(const json_t *ranking, const json_t *filter, size_t max_nodes,
                          FILE *out) {
        const json_t *nodes = json_at(ranking, "bestNodes", NULL);
        json_int_t told = json_int_at(0, filter, "passed", NULL);
        char candidates[NUMBER_MAX];

        if (!json_is_object(ranking)) {
                (void)fprintf(out, "prioritize: was not asked%s\n",
                              told == 1 ? ", since a single node passed" : "");
                return;
        }
        (void)fputs("prioritize at ", out);
        print_text(ranking, "at", out);
        (void)fprintf(out, ": %s candidates", plain(ranking, "candidates", candidates));
        print_count(ranking, "unknown", "not in the extender's table", out);
        (void)fputs(", scoring ", out);
        print_text(ranking, "scoring", out);
        (void)fputc('\n', out);
        print_expectation(json_at(ranking, "expected", NULL), out);
        for (size_t i = 0; i < json_array_size(nodes) && i < max_nodes; i++)
                print_node(json_array_get(nodes, i), max_nodes, out);
}

void explain_decision_print(const json_t *decision, const struct explain_place *place,
                            size_t max_nodes, FILE *out) {
        const json_t *filter = json_at(decision, "filter", NULL);

        print_outcome(decision, place, out);
        print_filter(filter, max_nodes, out);
        print_ranking(json_at(decision, "prioritize", NULL), filter, max_nodes, out);
}
