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

static bool is_held_back(const json_t *page) {
        return number(page, "heldBack", NULL) > 0;
}

static void put_head(const json_t *page, FILE *out) {
        const char *since = json_string_at(page, "since", NULL);
        char counted[DURATION_TEXT_MAX];

        duration_format((int64_t)(number(page, "countedSeconds", NULL) / 60) * MS_PER_MIN, counted);
        (void)fputs("since ", out);
        (void)style_text(since ? since : "now", SIZE_MAX, out);
        (void)fprintf(out, ", %s counted; ", counted);
        if (is_held_back(page))
                (void)fprintf(out, "%.4g%% of all pods held back\n\n",
                              100 * number(page, "heldBack", NULL));
        else
                (void)fprintf(out, "%.0f pods judged, %.0f not\n\n", number(page, "pods", "judged"),
                              number(page, "pods", "notJudged"));
}

static bool has_ratio(const json_t *page) {
        return json_is_number(json_at(page, "ratio", "middle", NULL));
}

/* A row: of each world, a number, or its share of another one. */
struct trial_line {
        const char *title, *key, *of;
        bool is_share;
};

static void put_line(struct table *table, const json_t *page, const struct trial_line *line) {
        static const char *const worlds[] = {"real", "virtual"};

        table_row(table);
        table_cell(table, "", "%s", line->title);
        for (size_t w = 0; w < ARRAY_LEN(worlds); w++) {
                double value = number(json_at(page, line->key, NULL), worlds[w], NULL);
                double of = line->of ? number(page, line->of, worlds[w]) : 1;
                if (line->is_share)
                        table_cell(table, "", "%.1f%%", of > 0 ? 100 * value / of : 0);
                else
                        table_cell(table, "", "%.0f", value);
        }
}

static void put_table(const json_t *page, const struct style *style, FILE *out) {
        static const struct table_column predicted[] = {{"", .is_left = true},
                                                        {"AS IT IS"},
                                                        {"WITH PLIMSOLL"},
                                                        {"", .is_left = true}},
                                         held_back[] = {{"", .is_left = true},
                                                        {"HELD BACK"},
                                                        {"WITH PLIMSOLL"},
                                                        {"", .is_left = true}};
        static const struct trial_line of_nodes[] = {{"hot node-minutes", "hotMinutes"},
                                                     {"node-minutes above 80%", "veryHotMinutes"},
                                                     {"nodes hot now", "hotNodes"},
                                                     {"pods placed above a limit", "overLimit",
                                                      .is_share = true}},
                                       of_pods[] = {{"time of pods on hot nodes", "hotMinutes",
                                                     "countedMinutes", true},
                                                    {"above 80%", "veryHotMinutes",
                                                     "countedMinutes", true}};
        bool is_held = is_held_back(page);
        const struct trial_line *lines = is_held ? of_pods : of_nodes;
        size_t count = is_held ? ARRAY_LEN(of_pods) : ARRAY_LEN(of_nodes);
        _cleanup_(table_freep) struct table *table = table_new(
                style, is_held ? held_back : predicted, ARRAY_LEN(predicted));

        for (size_t i = 0; i < count; i++) {
                put_line(table, page, &lines[i]);
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
        if (number(page, "hotMinutes", "real") < 1)
                return "no node is hot: there is nothing to gain";
        if (!has_ratio(page))
                return "too early: too little is counted";
        if (number(page, "ratio", "low") > 1)
                return is_held_back(page) ? "a loss: pods are on hot nodes for longer"
                                          : "a loss: nodes would be hot for longer";
        if (number(page, "ratio", "high") < 1)
                return is_held_back(page) ? "a gain: pods are on hot nodes for less time"
                                          : "a gain: nodes would be hot for less time";
        return "no gain: the difference may be chance";
}

void trial_print(const json_t *page, const char *from, const struct style *style, FILE *out) {
        const char *asked = json_string_at(page, "askedAt", NULL);
        double running = number(page, "pods", "running"), judged = number(page, "pods", "judged");

        put_head(page, out);
        put_table(page, style, out);
        (void)fprintf(out, "\n%s; by ", verdict_of(page));
        (void)style_text(from, SIZE_MAX, out);
        (void)fputc('\n', out);
        if (is_held_back(page)) {
                if (!asked)
                        (void)fputs("kube-scheduler has not asked: it places both groups by "
                                    "itself\n",
                                    out);
                return;
        }
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
