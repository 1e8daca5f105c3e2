#include "cli/trial/trial_verb.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "cli/cluster/cluster_programs.h"
#include "codec/json.h"

/* clang-format off */
static const struct option_row rows[] = {
        VERB_OUTPUT_ROW,
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

static double counted_s(const json_t *page) {
        return json_number_value(json_at(page, "countedSeconds", NULL));
}

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
                if (!longest || counted_s(page) > counted_s(longest)) {
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
