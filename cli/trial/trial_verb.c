/* `trial`: what Plimsoll would do for the cluster, by the trial of an extender. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "cli/cluster/cluster_programs.h"
#include "cli/verb/verb.h"
#include "codec/json.h"
#include "program/table.h"

enum { EARLY_S = 3600 };

/* clang-format off */
static const struct option_row rows[] = {
        VERB_OUTPUT_ROW,
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

static double number(const json_t *page, const char *key, const char *of) {
        return json_number_value(json_at(page, key, of, NULL));
}

static bool is_held_back(const json_t *page) {
        return number(page, "heldBack", NULL) > 0;
}

/* ---- The page. */

/* Every replica sees all bindings, but a scheduler asks one of them. Timestamps compare as texts.
 */
static void hear_of_calls(json_t *page, const json_t *other) {
        const char *asked = json_string_at(page, "askedAt", NULL),
                   *later = json_string_at(other, "askedAt", NULL);

        if (later && (!asked || strcmp(later, asked) > 0))
                (void)json_object_set_new(page, "askedAt", json_string(later));
}

/* The page of the extender that has counted for the longest time. @ret_from: borrowed */
static int read_page(struct cluster_question *question, json_t **ret, const char **ret_from,
                     struct error *err) {
        json_auto_t *longest = NULL;
        json_t *page;
        int r = 0;

        while (r == 0 && (page = cluster_question_next(question))) {
                r = cluster_check_version(page, question->from, err);
                if (!longest || number(page, "countedSeconds", NULL) >
                                        number(longest, "countedSeconds", NULL)) {
                        json_t *shorter = longest;
                        longest = page;
                        page = shorter;
                        *ret_from = question->from;
                }
                if (page)
                        hear_of_calls(longest, page);
                json_decref(page);
        }
        if (r == 0 && !longest)
                r = error_set(err, ENODATA, "no extender has a trial: %s", question->why_not);
        if (r == 0)
                *ret = json_incref(longest);
        return r;
}

/* ---- For people. */

static void put_head(const json_t *page, FILE *out) {
        const char *since = json_string_at(page, "since", NULL);
        double counted_s = fmax(0, fmin(number(page, "countedSeconds", NULL), INT32_MAX));
        char counted[DURATION_TEXT_MAX];

        duration_format((int64_t)(counted_s / 60) * MS_PER_MIN, counted);
        (void)fprintf(out, "since %s, %s counted; ", style_plain(since ? since : "now").text,
                      counted);
        if (is_held_back(page))
                (void)fprintf(out, "%.4g%% of all pods held back\n\n",
                              100 * number(page, "heldBack", NULL));
        else
                (void)fprintf(out, "%lld pods judged, %lld not\n\n",
                              json_int_at(0, page, "pods", "judged", NULL),
                              json_int_at(0, page, "pods", "notJudged", NULL));
}

/* @key: minutes, of those that were counted */
static void put_row(struct table *table, const char *title, const json_t *page, const char *key) {
        static const char *const worlds[] = {"real", "virtual"};

        table_row(table);
        table_cell(table, "", "%s", title);
        for (size_t w = 0; w < ARRAY_LEN(worlds); w++)
                table_cell(table, "", "%.3g%%",
                           100 * number(page, key, worlds[w]) /
                                   fmax(1, number(page, "countedMinutes", worlds[w])));
}

static bool has_ratio(const json_t *page) {
        return json_is_number(json_at(page, "ratio", "middle", NULL));
}

static void put_table(const json_t *page, const struct style *style, FILE *out) {
        const struct table_column columns[] = {
                {"", .is_left = true},
                {is_held_back(page) ? "HELD BACK" : "AS IT IS"},
                {"WITH PLIMSOLL"},
                {"", .is_left = true},
        };
        _cleanup_(table_freep) struct table *table = table_new(style, columns, ARRAY_LEN(columns));

        put_row(table, "time above the line", page, "hotMinutes");
        if (has_ratio(page))
                table_cell(table, "", "%.0f%% (%.0f to %.0f%%)",
                           100 * number(page, "ratio", "middle"),
                           100 * number(page, "ratio", "low"), 100 * number(page, "ratio", "high"));
        put_row(table, "time above 80% CPU", page, "veryHotMinutes");
        (void)table_print(table, SIZE_MAX, out);
}

static const char *verdict_of(const json_t *page) {
        if (!json_is_at("estimate", page, "scoring", NULL))
                return "no pod is judged: the policy's scoring must be estimate";
        if (number(page, "countedSeconds", NULL) < EARLY_S)
                return "too early: wait until an hour is counted";
        if (number(page, "hotMinutes", "real") < 1)
                return "no node is hot: there is nothing to gain";
        if (!has_ratio(page))
                return "too early: too little is counted";
        if (number(page, "ratio", "low") > 1)
                return "a loss: more time above the line";
        if (number(page, "ratio", "high") < 1)
                return "a gain: less time above the line";
        return "no gain: the difference may be chance";
}

static void trial_print(const json_t *page, const char *from, const struct style *style,
                        FILE *out) {
        const char *asked = json_string_at(page, "askedAt", NULL);
        json_int_t running = json_int_at(0, page, "pods", "running", NULL),
                   judged = json_int_at(0, page, "pods", "judged", NULL);

        put_head(page, out);
        put_table(page, style, out);
        (void)fprintf(out, "\n%s; by %s\n", verdict_of(page), style_plain(from).text);
        if (is_held_back(page) && !asked)
                (void)fputs("kube-scheduler has not asked: it places both groups by itself\n", out);
        if (is_held_back(page))
                return;
        if (judged < running)
                (void)fprintf(out,
                              "%lld pods run and %lld were judged: the gain is too low while older "
                              "pods stay where they are\n",
                              running, judged);
        if (asked)
                (void)fprintf(out, "kube-scheduler asked at %s: no pod is judged while it asks\n",
                              style_plain(asked).text);
}

static int run_trial(struct cluster *cluster, struct error *err) {
        _cleanup_(cluster_question_done) struct cluster_question question = {
                cluster, PROGRAM_EXTENDER, "trial"};
        struct style style = style_of(stdout);
        json_auto_t *page = NULL;
        const char *from = NULL;

        int r = read_page(&question, &page, &from, err);
        if (r < 0)
                return r;
        if (verb_is_document())
                verb_document(TAKE_PTR(page));
        else
                trial_print(page, from, &style, stdout);
        return 0;
}

const struct verb trial_verb = {
        .name = "trial",
        .summary = "Show what Plimsoll would do if kube-scheduler asked it",
        .usage = "Usage: kubectl plimsoll trial [FLAG...]\n"
                 "\n"
                 "Show how long nodes were hot, and how long they would have been if\n"
                 "kube-scheduler had asked Plimsoll about each pod. Nothing is changed: an\n"
                 "extender that nobody asks judges every pod that is bound, and keeps account of\n"
                 "where it would be.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll trial\n"
                 "  kubectl plimsoll trial -o json\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_trial,
};
