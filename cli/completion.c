#include "cli/completion.h"

#include <string.h>

#include "base/mem.h"

static void offer(const char *before, const char *candidate, const char *typed, FILE *out) {
        if (strncmp(candidate, typed, strlen(typed)) == 0)
                (void)fprintf(out, "%s%s\n", before, candidate);
}

/* Return: may the value be a file? */
static bool offer_values(const struct option_row *row, const char *before, const char *typed,
                         FILE *out) {
        static const char *const truths[] = {"true", "false", NULL};
        const char *const *choices = row->type == OPTION_BOOL ? truths : row->choices;

        for (size_t i = 0; choices && choices[i]; i++)
                offer(before, choices[i], typed, out);
        return row->metavar && strcmp(row->metavar, "FILE") == 0;
}

static void offer_flags(const struct verb *verb, const char *typed, FILE *out) {
        for (size_t i = 0; i < verb->row_count; i++) {
                if (!verb->rows[i].name) /* a heading */
                        continue;
                _cleanup_(freep) char *flag = xasprintf("--%s", verb->rows[i].name);
                offer("", flag, typed, out);
        }
        offer("", "--help", typed, out);
}

/* Return: may the word be a file? */
static bool offer_for_verb(const struct verb *verb, int count, char **words, FILE *out) {
        const char *typed = words[count - 1], *value;
        const struct option_row *row = options_find_flag(verb->rows, verb->row_count, typed,
                                                         &value);

        if (row && value) {
                _cleanup_(freep) char *flag = xmemdup0(typed, (size_t)(value - typed));
                return offer_values(row, flag, value, out);
        }
        if (typed[0] == '-') {
                offer_flags(verb, typed, out);
                return false;
        }
        row = count > 1 ? options_find_flag(verb->rows, verb->row_count, words[count - 2], &value)
                        : NULL;
        if (row && row->type != OPTION_BOOL && !value)
                return offer_values(row, "", typed, out);
        for (size_t i = 0; count == 1 && verb->words && verb->words[i]; i++)
                offer("", verb->words[i], typed, out);
        return false;
}

void completion_offer(const struct verb *const *verbs, size_t verb_count, int count, char **words,
                      FILE *out) {
        bool is_file = false;

        for (size_t i = 0; i < verb_count; i++)
                if (count == 1)
                        offer("", verbs[i]->name, words[0], out);
                else if (strcmp(verbs[i]->name, words[0]) == 0)
                        is_file = offer_for_verb(verbs[i], count - 1, words + 1, out);
        if (count == 1) {
                offer("", "--help", words[0], out);
                offer("", "--version", words[0], out);
        }
        (void)fputs(is_file ? ":0\n" : ":4\n", out);
}
