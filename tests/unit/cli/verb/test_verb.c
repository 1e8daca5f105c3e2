/* A verb's words may stand before its flags, between them, or behind them. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/verb/verb.h"

static struct {
        const char *output;
        bool is_wide;
        char seen[64]; /* the words, each with a space behind it */
} values;

static int take_words(int count, char **words, struct error *err) {
        (void)err;
        for (int i = 0; i < count; i++) {
                strcat(values.seen, words[i]);
                strcat(values.seen, " ");
        }
        return 0;
}

/* Nothing is asked after that. */
static int check(struct error *err) {
        return error_set(err, EIO, "no luck");
}

static const struct option_row rows[] = {
        {.name = "output",
         .letter = 'o',
         .type = OPTION_STRING,
         .value = &values.output,
         .help = "How."},
        {.name = "wide", .type = OPTION_BOOL, .value = &values.is_wide, .help = "All."},
};
static const struct verb verb = {.name = "show",
                                 .usage = "",
                                 .rows = rows,
                                 .row_count = ARRAY_LEN(rows),
                                 .take_words = take_words,
                                 .check = check};

static int call(const char *line) {
        char *argv[10] = {NULL}, *text = strdup(line);
        int argc = 0;

        for (char *rest = text, *word = NULL; (word = strsep(&rest, " ")) != NULL;)
                argv[argc++] = word;
        memset(&values, 0, sizeof(values));
        int r = verb_main(&verb, argc, argv);
        values.output = values.output && strcmp(values.output, "json") == 0 ? "json" : NULL;
        free(text);
        return r;
}

TEST(words) {
        static const struct {
                const char *line, *words;
                bool is_wide, is_json;
        } cases[] = {
                {"show", "", false, false},
                {"show node a", "node a ", false, false},
                {"show node a -o json --wide", "node a ", true, true},
                {"show --wide -ojson node a", "node a ", true, true},
                {"show node --wide a -ojson b", "node a b ", true, true},
                {"show node --wide -- a --x", "node a --x ", true, false},
                {"show - -ojson", "- ", false, true},
                {"show -- --wide", "--wide ", false, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                assert_int_equal(call(cases[i].line), VERB_EXIT_FAILURE);
                assert_string_equal(values.seen, cases[i].words);
                assert_int_equal(values.is_wide, cases[i].is_wide);
                assert_int_equal(values.output != NULL, cases[i].is_json);
        }
}

TEST(an_unknown_flag) {
        assert_int_equal(call("show --unknown"), VERB_EXIT_FAILURE);
        assert_string_equal(values.seen, "");
}
