/* "Did you mean ...?" */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "base/nearest.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        static const char too_long[] =
                "sixty-four characters, which is the first length that is completely out";
        static const char *const fields[] = {"name",     "period",          "maxLimitPecent",
                                             "priority", "maxLimitPecents", too_long};
        struct nearest nearest = NEAREST_TO(text);

        for (size_t f = 0; f < ARRAY_LEN(fields); f++)
                nearest_offer(&nearest, fields[f]);
        buf_puts(out, nearest.candidate ? nearest.candidate : "-");
}

TEST(nearest) {
        rows_check("misspellings.tsv", show);
}
