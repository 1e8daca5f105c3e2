/* "Did you mean ...?" */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "base/nearest.h"

TEST(nearest) {
        static const char too_long[] =
                "sixty-four characters, which is the first length that is completely out";
        static const char *const fields[] = {"name",     "period",          "maxLimitPecent",
                                             "priority", "maxLimitPecents", too_long};
        static const struct {
                const char *word;
                const char *candidate; /* NULL: none is near */
        } rows[] = {
                {"nam", "name"},
                {"anme", "name"}, /* neighbours swapped */
                {"NAME", "name"},
                {"names", "name"},
                {"game", "name"},
                {"gamy", NULL}, /* half of it is different */
                {"periode", "period"},
                {"Periods", "period"},
                {"prioritys", "priority"},
                {"maxLimitPercent", "maxLimitPecent"}, /* the nearer of two */
                {"limit", "maxLimitPecent"},           /* contained; the first of equals */
                {"x", NULL},
                {"", NULL},
                {"completely", NULL},
                {"maxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmaxmax", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct nearest nearest = NEAREST_TO(rows[i].word);
                for (size_t f = 0; f < ARRAY_LEN(fields); f++)
                        nearest_offer(&nearest, fields[f]);
                const char *got = nearest.candidate ? nearest.candidate : "none";
                const char *expected = rows[i].candidate ? rows[i].candidate : "none";
                if (strcmp(got, expected) != 0)
                        fail_msg("'%s' gave %s, not %s", rows[i].word, got, expected);
        }
}
