/* What a shell is offered. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/completion.h"

static int output;
static bool is_watching;
static const char *sort, *filename;
static const char *const formats[] = {"table", "json", NULL};
static const struct option_row rows[] = {
        {.help = "A heading"},
        {.name = "output",
         .letter = 'o',
         .type = OPTION_ENUM,
         .value = &output,
         .choices = formats,
         .help = "How."},
        {.name = "sort",
         .type = OPTION_STRING,
         .value = &sort,
         .metavar = "KEY",
         .help = "By what."},
        {.name = "filename",
         .letter = 'f',
         .type = OPTION_STRING,
         .value = &filename,
         .metavar = "FILE",
         .help = "Of what."},
        {.name = "watch", .type = OPTION_BOOL, .value = &is_watching, .help = "On."},
};
static const struct verb top = {.name = "top", .rows = rows, .row_count = ARRAY_LEN(rows)};

/* Says by what it was asked. */
static void offer(int count, char **words, const char *typed, FILE *out) {
        for (int i = 0; i < count; i++)
                (void)fprintf(out, "%s/", words[i]);
        (void)fprintf(out, "%s by %s\n", typed, sort ? sort : "nothing");
}

static const struct verb explain = {.name = "explain",
                                    .words = "node nobody",
                                    .rows = rows,
                                    .row_count = ARRAY_LEN(rows),
                                    .offer = offer};
static const struct verb *const verbs[] = {&top, &explain};

TEST(offers) {
        static const struct {
                const char *words[5], *offered;
                bool are_files;
        } cases[] = {
                {{""}, "top\nexplain\n--help\n--version\n"},
                {{"e"}, "explain\n"},
                {{"x"}, ""},
                {{"top", ""}, ""},
                {{"top", "--"}, "--output\n--sort\n--filename\n--watch\n--help\n"},
                {{"top", "--o"}, "--output\n"},
                {{"top", "--output=j"}, "--output=json\n"},
                {{"top", "--output="}, "--output=table\n--output=json\n"},
                {{"top", "--output", ""}, "table\njson\n"},
                {{"top", "-o", "t"}, "table\n"},
                {{"top", "--output", "="}, "table\njson\n"}, /* as bash splits it */
                {{"top", "--output", "=", "j"}, "json\n"},
                {{"top", "--watch=t"}, "--watch=true\n"},
                {{"top", "--watch", ""}, ""},
                {{"top", "--nothing=x"}, ""},
                {{"top", "--sort", ""}, ""}, /* anything */
                {{"top", "--sort=x"}, ""},
                {{"top", "--outpux", ""}, ""}, /* as long as another flag */
                {{"top", "++output", ""}, ""},
                {{"top", "xo", ""}, ""},
                {{"top", "-", ""}, ""},
                {{"top", "-ojson", ""}, ""},
                {{"top", "="}, ""},
                {{"top", "=", "j"}, ""},
                {{"explain", "no"}, "node\nnobody\n"},
                {{"top", "-f", ""}, "", true},
                {{"top", "--filename", "=", "x"}, "", true}, /* as bash splits it */
                {{"top", "--filename=x"}, "", true},
                {{"explain", "node", "wo"}, "node/wo by nothing\n"},
                {{"explain", "--sort=cpu", "pod", "a"}, "pod/a by cpu\n"},
                {{"explain", "--nothing", "pod", "a"}, ""}, /* as it will be refused */
                {{"explain", "--help", "pod", "a"}, ""},
                {{"nothing", "-"}, ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(freep) char *text = NULL;
                char *words[5];
                size_t len = 0;
                int count = 0;
                FILE *out = open_memstream(&text, &len);

                assert_non_null(out);
                for (; cases[i].words[count]; count++)
                        words[count] = (char *)(uintptr_t)cases[i].words[count];
                sort = NULL;
                completion_offer(verbs, ARRAY_LEN(verbs), count, words, out);
                assert_int_equal(fclose(out), 0);
                _cleanup_(freep) char *expected = xasprintf("%s:%d\n", cases[i].offered,
                                                            cases[i].are_files ? 0 : 4);
                assert_string_equal(text, expected);
        }
}

TEST(scripts) {
        static const struct {
                int count;
                const char *words[2];
        } refused[] = {{0, {NULL}}, {1, {"ksh"}}, {2, {"bash", "zsh"}}};

        for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
                char *words[] = {(char *)(uintptr_t)refused[i].words[0],
                                 (char *)(uintptr_t)refused[i].words[1]};
                struct error err = ERROR_NULL;
                assert_int_equal(verb_run(&completion_verb, refused[i].count, words, &err),
                                 -EX_USAGE);
                assert_string_equal(err.msg, "expected one of bash, zsh, fish");
        }
}
