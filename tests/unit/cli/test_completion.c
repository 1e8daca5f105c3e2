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

static const char *const kinds[] = {"node", "nobody", NULL};
static const struct verb explain = {
        .name = "explain", .words = kinds, .rows = rows, .row_count = ARRAY_LEN(rows)};
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
                {{"top", "-oj"}, "-ojson\n"},
                {{"explain", "node", "wo"}, ""}, /* kubectl knows */
                {{"top", "--output="}, "--output=table\n--output=json\n"},
                {{"top", "--output", ""}, "table\njson\n"},
                {{"top", "-o", "t"}, "table\n"},
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
                {{"explain", "no"}, "node\nnobody\n"},
                {{"top", "-f", ""}, "", true},
                {{"top", "--filename=x"}, "", true},
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
                completion_offer(verbs, ARRAY_LEN(verbs), count, words, out);
                assert_int_equal(fclose(out), 0);
                _cleanup_(freep) char *expected = xasprintf("%s:%d\n", cases[i].offered,
                                                            cases[i].are_files ? 0 : 4);
                assert_string_equal(text, expected);
        }
}
