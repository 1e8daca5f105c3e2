/* ExtenderBindingArgs: what may become a path and a Binding, and what may not. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "extender/bind/bind_request.h"
#include "tests/unit/fixture/rows.h"

#define UID "6f0c4d52-1111-4222-8333-0123456789ab"
static void check_read(const struct bind_request *request) {
        assert_string_equal(request->pod_namespace, "default");
        assert_string_equal(request->pod_name, "web-0");
        assert_string_equal(request->pod_uid, UID);
        assert_string_equal(request->node, "node-a.example.com");
}

TEST(requests) {
        for (struct rows rows = rows_open("bind-requests.tsv"); rows_next(&rows);) {
                bool is_read = strcmp(rows.cells[0], "read") == 0;
                int code = strcmp(rows.cells[0], "malformed") == 0 ? -EBADMSG : -EINVAL;
                struct bind_request request = {.node = "untouched"};
                struct error err = ERROR_NULL;
                size_t len = rows_bytes(rows.cells[1]);
                int r = bind_request_parse(&request, rows.cells[1], len, &err);
                if (r != (is_read ? 0 : code) || !strstr(err.msg, rows.cells[2]))
                        fail_msg("%s gave %d, %s", rows.place, r, err.msg);
                if (is_read)
                        check_read(&request);
                else
                        assert_string_equal(request.node, "untouched");
        }
}

/* At their longest, and one longer. */
TEST(lengths) {
        static const struct {
                size_t namespace_len, name_len, uid_len, node_len;
                bool is_valid;
        } rows[] = {
                {BIND_NAMESPACE_MAX, BIND_NAME_MAX, BIND_UID_MAX, BIND_NAME_MAX, true},
                {BIND_NAMESPACE_MAX + 1, 1, 1, 1, false},
                {1, BIND_NAME_MAX + 1, 1, 1, false},
                {1, 1, BIND_UID_MAX + 1, 1, false},
                {1, 1, 1, BIND_NAME_MAX + 1, false},
                {1, 1, 1, 30000, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct bind_request request;
                struct buf text = BUF_INIT(BIND_REQUEST_MAX_BYTES);
                const struct {
                        const char *member;
                        size_t len;
                } members[] = {
                        {"PodNamespace", rows[i].namespace_len},
                        {"PodName", rows[i].name_len},
                        {"PodUID", rows[i].uid_len},
                        {"Node", rows[i].node_len},
                };
                for (size_t m = 0; m < ARRAY_LEN(members); m++) {
                        (void)buf_printf(&text, "%s\"%s\":\"", m ? "," : "{", members[m].member);
                        for (size_t k = 0; k < members[m].len; k++)
                                (void)buf_putc(&text, 'x');
                        (void)buf_puts(&text, "\"");
                }
                (void)buf_puts(&text, "}");
                assert_int_equal(bind_request_parse(&request, text.data, text.len, NULL),
                                 rows[i].is_valid ? 0 : -EINVAL);
                buf_done(&text);
        }
        _cleanup_(freep) char *large = xcalloc(1, BIND_REQUEST_MAX_BYTES + 1);
        struct bind_request request;
        assert_int_equal(bind_request_parse(&request, large, BIND_REQUEST_MAX_BYTES + 1, NULL),
                         -E2BIG);
}
