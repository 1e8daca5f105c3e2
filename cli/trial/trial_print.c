#include <math.h>

#include "base/clock.h"
#include "base/duration.h"
#include "cli/trial/trial_verb.h"
#include "codec/json.h"
#include "program/table.h"

enum { EARLY_S = 3600 };

static const double NUMBER_MAX = 1e12;

/* A page may have 1e300: do not print 300 digits. */
static double number(const json_t *page, const char *key, const char *of) {
        return fmax(-NUMBER_MAX, fmin(json_number_value(json_at(page, key, of, NULL)), NUMBER_MAX));
}

static void put_head(const json_t *page, FILE *out) {
        const char *since = json_string_at(page, "since", NULL);
        char counted[DURATION_TEXT_MAX];

        duration_format((int64_t)(number(page, "countedSeconds", NULL) / 60) * MS_PER_MIN, counted);
        (void)fputs("since ", out);
        (void)style_text(since ? since : "now", SIZE_MAX, out);
        (void)fprintf(out, ", %s counted; %.0f pods judged, %.0f not\n\n", counted,
                      number(page, "pods", "judged"), number(page, "pods", "notJudged"));
}

static bool has_ratio(const json_t *page) {
        return json_is_number(json_at(page, "ratio", "middle", NULL));
}

static void put_table(const json_t *page, const struct style *style, FILE *out) {
        static const struct table_column columns[] = {
                {"", .is_left = true}, {"AS IT IS"}, {"WITH PLIMSOLL"}, {"", .is_left = true}};
        static const char *const worlds[] = {"real", "virtual"};
        const struct {
                const char *title;
                const json_t *pair;
                bool is_share;
        } rows[] = {
                {"hot node-minutes", json_at(page, "hotNodeMinutes", NULL)},
                {"node-minutes above 80%", json_at(page, "veryHotNodeMinutes", NULL)},
                {"nodes hot now", json_at(page, "hotNodes", NULL)},
                {"pods placed above a limit", json_at(page, "pods", "overLimit", NULL), true},
        };
        _cleanup_(table_freep) struct table *table = table_new(style, columns, ARRAY_LEN(columns));

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                table_row(table);
                table_cell(table, "", "%s", rows[i].title);
                for (size_t w = 0; w < ARRAY_LEN(worlds); w++) {
                        double value = number(rows[i].pair, worlds[w], NULL);
                        if (rows[i].is_share)
                                table_cell(table, "", "%.1f%%", 100 * value);
                        else
                                table_cell(table, "", "%.0f", value);
                }
                if (i == 0 && has_ratio(page))
                        table_cell(table, "", "%.0f%% (%.0f to %.0f%%)",
                                   100 * number(page, "ratio", "middle"),
                                   100 * number(page, "ratio", "low"),
                                   100 * number(page, "ratio", "high"));
        }
        (void)table_print(table, SIZE_MAX, out);
}

static const char *verdict_of(const json_t *page) {
        if (!json_is_at("estimate", page, "scoring", NULL))
                return "no pod is judged: the policy's scoring must be estimate";
        if (number(page, "countedSeconds", NULL) < EARLY_S)
                return "too early: wait until an hour is counted";
        if (number(page, "hotNodeMinutes", "real") < 1)
                return "no node is hot: there is nothing to gain";
        if (!has_ratio(page))
                return "too early: too little is counted";
        if (number(page, "ratio", "low") > 1)
                return "a loss: nodes would be hot for longer";
        return number(page, "ratio", "high") < 1 ? "a gain: nodes would be hot for less time"
                                                 : "no gain: the difference may be chance";
}

void trial_print(const json_t *page, const char *from, const struct style *style, FILE *out) {
        const char *asked = json_string_at(page, "askedAt", NULL);
        double running = number(page, "pods", "running"), judged = number(page, "pods", "judged");

        put_head(page, out);
        put_table(page, style, out);
        (void)fprintf(out, "\n%s; by ", verdict_of(page));
        (void)style_text(from, SIZE_MAX, out);
        (void)fputc('\n', out);
        if (judged < running)
                (void)fprintf(out,
                              "%.0f pods run and %.0f were judged: the gain is too low while older "
                              "pods stay where they are\n",
                              running, judged);
        if (asked) {
                (void)fputs("kube-scheduler asked at ", out);
                (void)style_text(asked, SIZE_MAX, out);
                (void)fputs(": no pod is judged while it asks\n", out);
        }
}
