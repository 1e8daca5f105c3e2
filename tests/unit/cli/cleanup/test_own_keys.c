/* Which annotations `cleanup` takes off, and which it must not touch. */
#include "tests/unit/fixture/rows.h"

#include "base/mem.h"
#include "cli/cleanup/own_keys.h"
#include "codec/json.h"

TEST(find) {
        for (struct rows rows = rows_open("own-keys.tsv"); rows_next(&rows);) {
                _cleanup_(freep) char *text = xasprintf("{\"metadata\": %s}", rows.cells[0]);
                json_auto_t *node = NULL;
                assert_int_equal(json_parse(text, strlen(text), &node, NULL), 0);
                json_auto_t *nulls = own_keys_find(node);
                _cleanup_(freep) char *found = json_dumps(nulls, JSON_COMPACT);
                if (strcmp(found, rows.cells[1]) != 0)
                        fail_msg("%s: %s", rows.place, found);
        }
}
