/* JSON values as YAML documents. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "codec/json.h"
#include "codec/yaml_write.h"

TEST(yaml) {
        static const struct {
                const char *json, *yaml;
        } rows[] = {
                {"{}", "{}\n"},
                {"[]", "[]\n"},
                {"[1, -2.5, true, null]", "- 1\n- -2.5\n- true\n- null\n"},
                {"{\"name\": \"a: b\\n\", \"y\": \"no\"}", "name: \"a: b\\n\"\n\"y\": \"no\"\n"},
                {"{\"list\": [], \"map\": {\"null\": {}}}", "list: []\n\"map\":\n  \"null\": {}\n"},
                {"[{\"name\": 1, \"items\": [[1], {\"left\": 2}]}]",
                 "- name: 1\n  items:\n  - - 1\n  - left: 2\n"},
                {"{\"a/b\": \"\\u001b[2J\\u0085\\u0000é\"}", "\"a/b\": \"\\e[2J\\N\\0é\"\n"},
                {"{\"true\": false, \"false\": 0}", "\"true\": false\n\"false\": 0\n"},
                {"{\"Null\": 1, \"TRUE\": 2, \"False\": 3}",
                 "\"Null\": 1\n\"TRUE\": 2\n\"False\": 3\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = NULL;
                json_auto_t *root = NULL;
                size_t len;
                FILE *out = open_memstream(&text, &len);
                assert_int_equal(json_parse(rows[i].json, strlen(rows[i].json), &root, NULL), 0);
                yaml_write(root, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, rows[i].yaml);
        }
}
