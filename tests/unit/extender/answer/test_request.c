/* Requests of kube-scheduler. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/buf.h"
#include "request_property.h"
#include "tests/unit/fixture/rows.h"

static enum request_property way_of(const char *word) {
        static const char *const words[] = {"refused", "read", "lenient", "odd"};
        size_t way = 0;

        while (way < ARRAY_LEN(words) && strcmp(words[way], word) != 0)
                way++;
        return way < ARRAY_LEN(words) ? (enum request_property)way : REQUEST_READ;
}

TEST(documents) {
        for (struct rows rows = rows_open("requests.tsv"); rows_next(&rows);) {
                enum request_property way = way_of(rows.cells[0]);
                const char *expected = rows_unescape(rows.cells[1]),
                           *text = rows_unescape(rows.cells[2]);
                struct request request = REQUEST_NULL;
                struct buf names = BUF_INIT(1000);
                struct error err = ERROR_NULL;
                if (request_property_check(text, strlen(text)) != way)
                        fail_msg("%s went another way", rows.place);
                int r = request_parse(&request, text, strlen(text), REQUEST_MAX_NODES, &err);
                assert_int_equal(r, way == REQUEST_REFUSED ? -EINVAL : 0);
                assert_int_equal(err.code, r);
                (void)buf_puts(&names, "");
                for (size_t n = 0; n < request.count; n++) {
                        (void)buf_puts(&names, n > 0 ? "|" : "");
                        (void)buf_append(&names, request.nodes[n].name,
                                         request.nodes[n].name_bytes);
                }
                assert_string_equal(names.data, expected);
                assert_int_equal(request.pod.is_daemonset, strcmp(rows.cells[0], "daemonset") == 0);
                buf_done(&names);
                request_done(&request);
        }
}

/* A reply with a malformed value in it would be no JSON: the request is refused. */
TEST(values) {
        /* Where a value is stepped over: ignored in the first, echoed in the others. */
        static const char *const places[][2] = {
                {"{\"Pod\":{\"x\":", "},\"NodeNames\":[\"a\"]}"},
                {"{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"},\"x\":", "}]}}"},
                {"{\"Nodes\":{\"items\":[{\"metadata\":{\"labels\":", ",\"name\":\"a\"}}]}}"},
                {"{\"Nodes\":{\"items\":[{\"x\":[0,{\"y\":",
                 "}],\"metadata\":{\"name\":\"a\"}}]}}"},
        };

        for (struct rows rows = rows_open("json-values.tsv"); rows_next(&rows);) {
                const char *value = rows_unescape(rows.cells[1]);
                for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                        _cleanup_(freep) char *text = xasprintf("%s%s%s", places[i][0], value,
                                                                places[i][1]);
                        if (request_property_check(text, strlen(text)) != way_of(rows.cells[0]))
                                fail_msg("%s went another way: %s", rows.place, text);
                }
        }
}

TEST(slices) {
        static const char text[] = "{\"Nodes\":{\"items\":[ {\"metadata\":{\"name\":\"a\"},"
                                   "\"x\":\"]}\"} ,{\"metadata\":{\"name\":\"b\"}}]}}";
        static const char *const nodes[] = {
                "{\"metadata\":{\"name\":\"a\"},\"x\":\"]}\"}",
                "{\"metadata\":{\"name\":\"b\"}}",
        };
        struct request request = REQUEST_NULL;

        assert_int_equal(request_parse(&request, text, strlen(text), REQUEST_MAX_NODES, NULL), 0);
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
        static const struct {
                int (*parse)(struct request *request, const char *text, size_t len,
                             size_t max_nodes, struct error *err);
                const char *before, *item, *after;
        } rows[] = {
                {request_parse, "{\"NodeNames\":[", "\"\"", "]}"},
                {request_parse, "{\"Nodes\":{\"items\":[", "{}", "]}}"},
                {request_parse_preemption, "{\"NodeNameToMetaVictims\":{", "\"\":{}", "}}"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(buf_done) struct buf text = BUF_INIT(REQUEST_MAX_NODES * 10);
                struct request request = REQUEST_NULL;
                struct error err = ERROR_NULL;
                (void)buf_puts(&text, rows[i].before);
                for (size_t n = 0; n < REQUEST_MAX_NODES; n++)
                        (void)buf_printf(&text, "%s%s", n > 0 ? "," : "", rows[i].item);
                size_t len = text.len;
                (void)buf_puts(&text, rows[i].after);
                assert_int_equal(
                        rows[i].parse(&request, text.data, text.len, REQUEST_MAX_NODES, &err), 0);
                assert_int_equal(request.count, REQUEST_MAX_NODES);
                text.len = len;
                (void)buf_printf(&text, ",%s%s", rows[i].item, rows[i].after);
                assert_int_equal(
                        rows[i].parse(&request, text.data, text.len, REQUEST_MAX_NODES, &err),
                        -E2BIG);
                assert_int_equal(request.count, 0);
                request_done(&request);
        }
}

/* The place is told, and nothing of the text, which holds secrets. */
TEST(refusal) {
        static const char text[] = "{\"NodeNames\":[\"a\",secret]}";
        struct request request = REQUEST_NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(request_parse(&request, text, strlen(text), REQUEST_MAX_NODES, &err),
                         -EINVAL);
        assert_string_equal(err.msg, "byte 18 of 26: expected the JSON of an ExtenderArgs object");
        request_done(&request);
}
