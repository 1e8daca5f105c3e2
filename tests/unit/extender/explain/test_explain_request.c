/* The body of POST /explain: what is read, and what is refused and where. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <string.h>

#include "base/timestamp.h"
#include "extender/explain/explain_request.h"
#include "tests/unit/fixture/rows.h"

TEST(whole) {
        static const char body[] =
                " {\"pod\": {\"metadata\": {\"namespace\": \"shop\", \"name\": \"web-0\"}},\n"
                "  \"policy\": \"a: \\\"b\\\"\\n\", \"nodes\": [{}, {}], \"select\": [\"a\"],\n"
                "  \"terms\": false, \"at\": \"2026-07-23T11:25:54Z\"} ";
        struct explain_request request;
        int64_t at_unix_ms;

        assert_int_equal(explain_request_parse(body, strlen(body), &request, NULL), 0);
        assert_true(request.has_pod && request.has_no_terms);
        assert_memory_equal(request.pod.name.text, "web-0", 5);
        assert_string_equal(request.policy, "a: \"b\"\n");
        assert_memory_equal(request.nodes.text, "[{}, {}]", request.nodes.len);
        assert_memory_equal(request.select.text, "[\"a\"]", request.select.len);
        assert_true(timestamp_parse("2026-07-23T11:25:54Z", 20, &at_unix_ms));
        assert_int_equal(request.at_unix_ms, at_unix_ms);
        explain_request_done(&request);
}

TEST(nothing) {
        struct explain_request request;

        assert_int_equal(explain_request_parse("{}", 2, &request, NULL), 0);
        assert_false(request.has_pod || request.has_no_terms);
        assert_null(request.policy);
        assert_null(request.nodes.text);
        assert_null(request.select.text);
        assert_int_equal(request.at_unix_ms, 0);
        explain_request_done(&request);
}

static void show(const char *text, size_t len, struct buf *out) {
        struct explain_request request;
        struct error err = ERROR_NULL;

        assert_int_equal(explain_request_parse(text, len, &request, &err), -EINVAL);
        buf_puts(out, err.msg);
}

TEST(refused) {
        rows_check("explain-requests.tsv", show);
}
