/* Requests of kube-scheduler. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/buf.h"
#include "request_property.h"

TEST(documents) {
        static const struct {
                const char *text;
                enum request_property way;
                const char *names; /* joined by '|' */
                bool is_daemonset;
        } rows[] = {
                /* what kube-scheduler sends */
                {"{\"Pod\":{\"metadata\":{\"name\":\"web-0\",\"namespace\":\"default\"}},"
                 "\"Nodes\":null,\"NodeNames\":[\"node-a\",\"node-b\"]}",
                 REQUEST_READ, "node-a|node-b", false},
                {"{\"Pod\":{\"metadata\":{\"ownerReferences\":[{\"kind\":\"ReplicaSet\"},"
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\"}]}},\"NodeNames\":[\"a\"]}",
                 REQUEST_READ, "a", true},
                {"{\"Pod\":{},\"Nodes\":{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"a\"},"
                 "\"spec\":{}},{\"metadata\":{\"name\":\"b\"}}]},\"NodeNames\":null}",
                 REQUEST_READ, "a|b", false},
                /* nothing there */
                {"{}", REQUEST_READ, "", false},
                {"{\"Nodes\":null,\"NodeNames\":null}", REQUEST_READ, "", false},
                {"{\"NodeNames\":[]}", REQUEST_READ, "", false},
                {"{\"Nodes\":{}}", REQUEST_READ, "", false},
                {"{\"Nodes\":{\"items\":null}}", REQUEST_READ, "", false},
                {"{\"Pod\":null,\"NodeNames\":[\"a\"]}", REQUEST_READ, "a", false},
                {" \r\n\t{ \"NodeNames\" : [ \"a\" , \"b\" ] } \n", REQUEST_READ, "a|b", false},
                /* Nodes without a name, or with an odd one, are candidates too */
                {"{\"Nodes\":{\"items\":[{},{\"metadata\":5},{\"metadata\":{\"name\":null}}]}}",
                 REQUEST_READ, "||", false},
                /* escapes in keys are decoded; names are as they stand */
                {"{\"NodeNames\":[\"\\u006eode-a\",\"a\\\"b\",\"x\\u003c\"]}", REQUEST_READ,
                 "\\u006eode-a|a\\\"b|x\\u003c", false},
                {"{\"Pod\":{\"metadata\":{\"ownerReferences\":[{\"kind\":\"Daemon\\u0053et\"}]}},"
                 "\"NodeNames\":[\"a\"]}",
                 REQUEST_READ, "a", false},
                {"{\"Pod\":{\"metadata\":{\"owner\\u0052eferences\":[{\"kind\":\"DaemonSet\"}]}},"
                 "\"NodeNames\":[\"a\"]}",
                 REQUEST_READ, "a", true},
                {"{\"Pod\":{\"spec\":{\"topologySpreadConstraints\":[{\"whenUnsatisfiable\":"
                 "\"Schedule\\u0041nyway\"}]}},\"NodeNames\":[\"a\"]}",
                 REQUEST_READ, "a", false},
                {"{\"NodeNames\":[\"\\u00e9\"]}", REQUEST_READ, "\\u00e9", false},
                {"{\"NodeNames\":[\"\xc3\xa9\"]}", REQUEST_READ, "\xc3\xa9", false},
                {"{\"NodeNames\":[\"\xc3\"]}", REQUEST_REFUSED, NULL, false}, /* no UTF-8 */
                {"{\"Node\\u004eames\":[\"a\"]}", REQUEST_READ, "a", false},
                {"{\"NodeNames\":[\"\\q\"]}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\nb\"]}", REQUEST_REFUSED, NULL, false},
                /* strings that look like structure */
                {"{\"Pod\":{\"x\":\"}]{[\\\\\\\"}\",\"y\":[\"\\\\\"]},\"NodeNames\":[\"a\"]}",
                 REQUEST_READ, "a", false},
                /* the last one counts, as in Go, unless it is null */
                {"{\"NodeNames\":[\"a\"],\"NodeNames\":[\"b\"]}", REQUEST_ODD, "b", false},
                {"{\"NodeNames\":[\"a\"],\"NodeNames\":null}", REQUEST_ODD, "a", false},
                {"{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}]}}",
                 REQUEST_ODD, "b", false},
                {"{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"},\"metadata\":{}}]}}",
                 REQUEST_ODD, "", false},
                {"{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"items\":[]}}",
                 REQUEST_ODD, "", false},
                {"{\"Pod\":{\"metadata\":{\"ownerReferences\":[{\"kind\":\"DaemonSet\"}],"
                 "\"ownerReferences\":null}},\"NodeNames\":[\"a\"]}",
                 REQUEST_ODD, "a", false},
                /* names win over objects */
                {"{\"Nodes\":{\"items\":[{}]},\"NodeNames\":[\"a\"]}", REQUEST_READ, "a", false},
                {"{\"NodeNames\":[\"a\"],\"Nodes\":{\"items\":[{}]}}", REQUEST_READ, "a", false},
                /* spellings that Go would take */
                {"{\"nodenames\":[\"a\"]}", REQUEST_READ, "a", false},
                {"{\"NODENAMES\":[\"a\"],\"NodeNames\":[\"b\"]}", REQUEST_ODD, "b", false},
                {"{\"nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}}]}}", REQUEST_READ, "a",
                 false},
                {"{\"pod\":{\"metadata\":{\"ownerReferences\":[{\"kind\":\"DaemonSet\"}]}}}",
                 REQUEST_READ, "", true},
                /* of the wrong type */
                {"{\"NodeNames\":5}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":nul}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":\"a\"}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\",[\"b\"]]}", REQUEST_REFUSED, NULL, false},
                {"{\"Nodes\":\"a\"}", REQUEST_REFUSED, NULL, false},
                {"{\"Nodes\":{\"items\":[\"a\"]}}", REQUEST_REFUSED, NULL, false},
                {"\"NodeNames\"", REQUEST_REFUSED, NULL, false},
                {"NodeNames=a", REQUEST_REFUSED, NULL, false},
                {"\xef\xbb\xbf{\"NodeNames\":[\"a\"]}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":{\"a\":1}}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[null]}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[1]}", REQUEST_REFUSED, NULL, false},
                {"{\"Nodes\":[]}", REQUEST_REFUSED, NULL, false},
                {"{\"Nodes\":{\"items\":{}}}", REQUEST_REFUSED, NULL, false},
                {"{\"Nodes\":{\"items\":[null]}}", REQUEST_REFUSED, NULL, false},
                {"{\"Pod\":5,\"NodeNames\":[\"a\"]}", REQUEST_READ, "a", false},
                {"[]", REQUEST_REFUSED, NULL, false},
                {"null", REQUEST_REFUSED, NULL, false},
                {"", REQUEST_REFUSED, NULL, false},
                {"  ", REQUEST_REFUSED, NULL, false},
                /* broken syntax where it is looked at */
                {"{", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\",]}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\" \"b\"]}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\"],}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\"]", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\\", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\"]}x", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\":[\"a\"]}{}", REQUEST_REFUSED, NULL, false},
                {"{NodeNames:[\"a\"]}", REQUEST_REFUSED, NULL, false},
                {"{\"NodeNames\" [\"a\"]}", REQUEST_REFUSED, NULL, false},
                {"{\"Pod\":{\"x\":[}]},\"NodeNames\":[\"a\"]}", REQUEST_REFUSED, NULL, false},
                {"{\"Pod\":tru,\"NodeNames\":[\"a\"]}", REQUEST_REFUSED, NULL, false},
                /* what jansson cannot hold is JSON all the same */
                {"{\"NodeNames\":[\"\\ud800\"]}", REQUEST_LENIENT, "\\ud800", false},
                {"{\"Pod\":{\"x\":[1e999,99999999999999999999,\"\\ud800\",{\"\\u0000\":1}]},"
                 "\"NodeNames\":[\"a\"]}",
                 REQUEST_LENIENT, "a", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct request request = REQUEST_NULL;
                struct buf names = BUF_INIT(1000);
                size_t len = strlen(rows[i].text);
                if (request_property_check(rows[i].text, len) != rows[i].way)
                        fail_msg("row %zu went another way: %s", i, rows[i].text);
                struct error err = ERROR_NULL;
                int r = request_parse(&request, rows[i].text, len, &err);
                assert_int_equal(r, rows[i].way == REQUEST_REFUSED ? -EINVAL : 0);
                assert_int_equal(err.code, r);
                for (size_t n = 0; n < request.count; n++) {
                        (void)buf_puts(&names, n > 0 ? "|" : "");
                        (void)buf_append(&names, request.nodes[n].name,
                                         request.nodes[n].name_bytes);
                }
                _cleanup_(freep) char *joined = buf_take(&names);
                if (r == 0) {
                        assert_string_equal(joined, rows[i].names);
                        assert_int_equal(request.pod.is_daemonset, rows[i].is_daemonset);
                }
                request_done(&request);
        }
}

/* Where a value is stepped over: ignored in the first, echoed in the others. */
static const char *const places[] = {
        "{\"Pod\":{\"x\":%s},\"NodeNames\":[\"a\"]}",
        "{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"},\"x\":%s}]}}",
        "{\"Nodes\":{\"items\":[{\"metadata\":{\"labels\":%s,\"name\":\"a\"}}]}}",
        "{\"Nodes\":{\"items\":[{\"x\":[0,{\"y\":%s}],\"metadata\":{\"name\":\"a\"}}]}}",
};

static void check_everywhere(const char *value, enum request_property way) {
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                const char *gap = strstr(places[i], "%s");
                struct buf text = BUF_INIT(10000);
                (void)buf_append(&text, places[i], (size_t)(gap - places[i]));
                (void)buf_puts(&text, value);
                (void)buf_puts(&text, gap + 2);
                if (request_property_check(text.data, text.len) != way)
                        fail_msg("went another way: %s", text.data);
                buf_done(&text);
        }
}

/* A reply with one of these in it would be no JSON: the request is refused. */
TEST(malformed_values) {
        static const char *const arrays[] = {
                "[1,]",      "[,1]", "[1,,2]",   "[,]", "[1 2]", "[\"a\" \"b\"]", "[1:2]",
                "[\"a\":1]", "[",    "[1",       "[1,", "]",     "[1}",           "[[]",
                "[]]",       "[1]]", "[[1],[2]", "[*]", "[\f]",  "[1;2]",
        };
        static const char *const objects[] = {
                "{\"a\" 1}",   "{\"a\":}",      "{\"a\"}",     "{:1}",       "{1:1}",
                "{a:1}",       "{'a':1}",       "{\"a\":1,}",  "{,\"a\":1}", "{\"a\"::1}",
                "{\"a\":1:2}", "{\"a\",1}",     "{\"a\":1]",   "{",          "{\"a\"",
                "{\"a\":",     "{\"a\":1",      "{\"a\":1}}",  "{null:1}",   "{[]:1}",
                "{\"a\":1,1}", "{\"a\":/**/1}", "{\"a\":1}//",
        };
        static const char *const two_members[] = {
                "{\"a\":1,,\"b\":2}",
                "{\"a\":1 \"b\":2}",
                "{\"a\":1,\"b\"}",
        };
        static const char *const numbers[] = {
                "01",           "-01", "+1",    "-",     "1.",       ".5",        "-.5", "1.e5",
                "1e",           "1e+", "1e1.5", "1E-",   "0x1",      "1_000",     "--1", "1-",
                "1+1",          "00",  "1e5e5", "1.2.3", "Infinity", "-Infinity", "NaN", "1 000",
                "\xef\xbc\x91",
        };
        static const char *const words[] = {
                "nul",  "nulll",     "NULL", "True", "tru", "truefalse",
                "fals", "undefined", "n",    "t",    "yes", "null null",
        };
        static const char *const strings[] = {
                "\"",          "\"a",       "a\"",      "'a'",       "\"\\",        "\"\\\"",
                "\"\\q\"",     "\"\\x41\"", "\"\\u\"",  "\"\\u12\"", "\"\\u123g\"", "\"\\u12 4\"",
                "\"\\U0041\"", "\"\\'\"",   "\"\\0\"",  "\"\\\n\"",  "\"a\"b",      "\"a\" \"b\"",
                "\"a\nb\"",    "\"a\tb\"",  "\"\x01\"", "\"\x1f\"",  "\"a\rb\"",    "\"\\ud8\"",
        };
        static const char *const not_utf8[] = {
                "\"\x80\"",         "\"\xff\"",         "\"\xc3\"",         "\"\xc3 \"",
                "\"\xc0\xaf\"",     "\"\xe0\x80\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                "\"\xf0\x9f\x98\"",
        };
        static const char *const blanks[] = {
                "",  " ", "\v1", "\xc2\xa0[]", "\xef\xbb\xbf[]", "#1", "/*c*/1", "1;", "1/",
                ",", ":", "(1)", "@",          "\x7f",
        };
        static const struct {
                const char *const *values;
                size_t count;
        } kinds[] = {
                {arrays, ARRAY_LEN(arrays)},
                {objects, ARRAY_LEN(objects)},
                {two_members, ARRAY_LEN(two_members)},
                {numbers, ARRAY_LEN(numbers)},
                {words, ARRAY_LEN(words)},
                {strings, ARRAY_LEN(strings)},
                {not_utf8, ARRAY_LEN(not_utf8)},
                {blanks, ARRAY_LEN(blanks)},
        };

        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                for (size_t i = 0; i < kinds[k].count; i++)
                        check_everywhere(kinds[k].values[i], REQUEST_REFUSED);
        /* Deep inside, and behind much that is well. */
        check_everywhere("[[[[{\"a\":[{\"b\":[1,2,{\"c\":[,]}]}]}]]]]", REQUEST_REFUSED);
        check_everywhere("{\"a\":{\"b\":[1,2,3],\"c\":\"d\"},\"e\":nul}", REQUEST_REFUSED);
}

TEST(well_formed_values) {
        static const char *const rows[] = {
                "0",
                "-0",
                "10",
                "-1.5",
                "0.0",
                "1e5",
                "1E+5",
                "1.25e-3",
                "true",
                "false",
                "null",
                "\"\"",
                "[]",
                "{}",
                "[ ]",
                "{ }",
                "[[]]",
                "[{}]",
                "{\"\":{}}",
                "[[],[],{}]",
                "{\"a\":[],\"b\":{}}",
                " [ 1 , 2 ] ",
                "\t{\r\n\"a\" : 1 , \"b\"\n:\t[ ] }\n",
                "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
                "\"\x7f\"",
                "\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\"",
                "{\"\xc3\xa9\":1,\"\\u00ea\":2}",
                "\"a string of more than eight bytes, with \\\\ in it\"",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                check_everywhere(rows[i], REQUEST_READ);
        check_everywhere("{\"a\":1,\"a\":2}", REQUEST_ODD);
}

TEST(slices) {
        static const char text[] = "{\"Nodes\":{\"items\":[ {\"metadata\":{\"name\":\"a\"},"
                                   "\"x\":\"]}\"} ,{\"metadata\":{\"name\":\"b\"}}]}}";
        static const char *const nodes[] = {
                "{\"metadata\":{\"name\":\"a\"},\"x\":\"]}\"}",
                "{\"metadata\":{\"name\":\"b\"}}",
        };
        struct request request = REQUEST_NULL;

        assert_int_equal(request_parse(&request, text, strlen(text), NULL), 0);
        assert_false(request.has_names);
        assert_int_equal(request.count, 2);
        for (size_t i = 0; i < request.count; i++) {
                assert_int_equal(request.nodes[i].json_bytes, strlen(nodes[i]));
                assert_memory_equal(request.nodes[i].json, nodes[i], strlen(nodes[i]));
        }
        request_done(&request);
}

/* Every prefix of a request, and every request with one byte changed, keeps the property. */
TEST(cut_and_changed) {
        static const char text[] =
                "{\"Pod\":{\"metadata\":{\"name\":\"w\",\"ownerReferences\":[{\"kind\":"
                "\"DaemonSet\"}]},\"spec\":{\"n\":[1.5e3,true,null,{\"s\":\"\\\\\"}]}},\"Nodes\":"
                "{\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"status\":{},\"metadata\":"
                "{\"name\":\"\\u0062\",\"labels\":{\"name\":\"c\"}}}]},\"NodeNames\":null}";
        static const char bytes[] = "\"\\{}[],: \n0n\x80\x01";
        char changed[sizeof(text)];

        assert_int_equal(request_property_check(text, strlen(text)), REQUEST_READ);
        for (size_t len = 0; len < strlen(text); len++)
                assert_int_equal(request_property_check(text, len), REQUEST_REFUSED);
        for (size_t at = 0; at < strlen(text); at++)
                for (size_t b = 0; b < sizeof(bytes); b++) {
                        memcpy(changed, text, sizeof(text));
                        changed[at] = bytes[b];
                        (void)request_property_check(changed, strlen(text));
                }
}

TEST(depth) {
        /* The Pod's own brackets and the top level are steps, not jumps. */
        for (int depth = 60; depth < 70; depth++) {
                struct buf text = BUF_INIT(10000);
                (void)buf_puts(&text, "{\"NodeNames\":[\"a\"],\"Pod\":{\"x\":");
                for (int i = 0; i < depth; i++)
                        (void)buf_puts(&text, i % 3 ? "[" : "{\"k\":");
                (void)buf_puts(&text, "1");
                for (int i = depth; i-- > 0;)
                        (void)buf_puts(&text, i % 3 ? "]" : "}");
                (void)buf_puts(&text, "}}");
                assert_int_equal(request_property_check(text.data, text.len),
                                 depth <= 64 ? (depth <= 62 ? REQUEST_READ : REQUEST_ODD)
                                             : REQUEST_REFUSED);
                buf_done(&text);
        }
}

/* Nothing recurses, however deep it goes. */
TEST(bottomless) {
        static const struct {
                const char *before, *opening, *closing, *after;
        } rows[] = {
                {"", "[", "", ""},
                {"", "{\"a\":", "", ""},
                {"{\"NodeNames\":", "[", "]", "}"},
                {"{\"Pod\":", "[", "]", ",\"NodeNames\":[\"a\"]}"},
        };
        enum { DEEP = 100000 };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf text = BUF_INIT(1 << 20);
                (void)buf_puts(&text, rows[i].before);
                for (int n = 0; n < DEEP; n++)
                        (void)buf_puts(&text, rows[i].opening);
                for (int n = 0; n < DEEP; n++)
                        (void)buf_puts(&text, rows[i].closing);
                (void)buf_puts(&text, rows[i].after);
                assert_int_equal(request_property_check(text.data, text.len), REQUEST_REFUSED);
                buf_done(&text);
        }
}

TEST(ceilings) {
        struct buf text = BUF_INIT(REQUEST_MAX_NODES * 10);
        struct request request = REQUEST_NULL;
        struct error err = ERROR_NULL;

        (void)buf_puts(&text, "{\"NodeNames\":[\"\"");
        for (size_t i = 1; i < REQUEST_MAX_NODES; i++)
                (void)buf_puts(&text, ",\"\"");
        size_t len = text.len;
        (void)buf_puts(&text, "]}");
        assert_int_equal(request_parse(&request, text.data, text.len, &err), 0);
        assert_int_equal(request.count, REQUEST_MAX_NODES);
        text.len = len;
        (void)buf_puts(&text, ",\"\"]}");
        assert_int_equal(request_parse(&request, text.data, text.len, &err), -E2BIG);
        assert_int_equal(request.count, 0);
        request_done(&request);
        buf_done(&text);
}

/* The place is told, and nothing of the text, which holds secrets. */
TEST(refusal) {
        static const char text[] = "{\"NodeNames\":[\"a\",secret]}";
        struct request request = REQUEST_NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(request_parse(&request, text, strlen(text), &err), -EINVAL);
        assert_string_equal(err.msg, "byte 18 of 26: expected the JSON of an ExtenderArgs object");
        request_done(&request);
}
