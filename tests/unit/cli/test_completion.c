/* What a shell is offered. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/completion.h"
#include "tests/unit/fixture/rows.h"

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

static void show(const char *text, size_t len, struct buf *out) {
        _cleanup_(freep) char *copy = xstrdup(text), *printed = NULL;
        char *words[5], *rest = copy;
        size_t printed_bytes = 0;
        int count = 0;
        FILE *file = open_memstream(&printed, &printed_bytes);

        assert_non_null(file);
        while (rest)
                words[count++] = strsep(&rest, " ");
        completion_offer(verbs, ARRAY_LEN(verbs), count, words, file);
        assert_int_equal(fclose(file), 0);
        buf_puts(out, printed);
}

TEST(offers) {
        rows_check("completions.tsv", show);
}
