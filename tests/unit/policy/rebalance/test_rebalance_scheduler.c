/* Whether a scheduler asks, by what it has bound. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "policy/rebalance/rebalance_scheduler.h"

TEST(bindings) {
        static const struct {
                const char *pods; /* bound in this order: asked about, not, and at the same time */
                bool asks;
        } rows[] = {
                {"", false},      {"n", false},      {"a", true},
                {"na", true},     {"aan", false},    {"aaannnnnnnnnnnn", false},
                {"aana", true},   {"aana=n", false}, /* one of these is the last */
                {"aan=a", false}, {"aan=aa", true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                for (int from_the_end = 0; from_the_end < 2; from_the_end++) {
                        struct rebalance_scheduler scheduler = {0};
                        size_t len = strlen(rows[i].pods);
                        for (size_t j = 0; j < len; j++) {
                                size_t at = from_the_end ? len - 1 - j : j;
                                char what = rows[i].pods[at];
                                bool is_same = at > 0 && rows[i].pods[at - 1] == '=';
                                int64_t second = 1000 + (int64_t)at - (is_same ? 2 : 0);
                                if (what != '=')
                                        rebalance_scheduler_add(&scheduler, 1000 * second,
                                                                what == 'a');
                        }
                        if (rebalance_scheduler_asks(&scheduler) != rows[i].asks)
                                fail_msg("%s", rows[i].pods);
                }
}
