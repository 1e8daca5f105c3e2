/* Which annotations --cleanup takes off, and which it must not touch. */
#include "tests/unit/fixture/rows.h"

#include <stdlib.h>

#include "base/mem.h"
#include "codec/json.h"
#include "controller/cleanup/own_keys.h"

TEST(find) {
        _cleanup_(policy_freep) struct policy *policy = policy_default();

        for (struct rows rows = rows_open("own-keys.tsv"); rows_next(&rows);) {
                const char *prefix = strcmp(rows.cells[0], "-") == 0 ? "" : rows.cells[0];
                _cleanup_(freep) char *text = xasprintf("{\"metadata\": %s}", rows.cells[1]);
                json_auto_t *node = NULL;
                assert_int_equal(json_parse(text, strlen(text), &node, NULL), 0);
                json_auto_t *nulls = own_keys_find(node, policy, prefix);
                _cleanup_(freep) char *found = json_dumps(nulls, JSON_COMPACT);
                if (strcmp(found, rows.cells[2]) != 0)
                        fail_msg("%s: %s", rows.place, found);
        }
}
