/* ExtenderBindingArgs: what may become a path and a Binding, and what may not. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "extender/bind/bind_request.h"

#define UID "6f0c4d52-1111-4222-8333-0123456789ab"
#define ARGS(namespace, name, uid, node)                                                           \
        "{\"PodName\":\"" name "\",\"PodNamespace\":\"" namespace "\",\"PodUID\":\"" uid           \
                                                                  "\",\"Node\":\"" node "\"}"

TEST(read) {
        static const char *const rows[] = {
                ARGS("default", "web-0", UID, "node-a.example.com"),
                "{\"podname\":\"web-0\",\"PODNAMESPACE\":\"default\",\"podUID\":\"" UID
                "\",\"node\":\"node-a.example.com\"}",
                /* The last one counts, unknown members do not matter. */
                "{\"node\":\"x\",\"Node\":\"node-a.example.com\",\"x\":[{}],\"PodName\":\"web-0\","
                "\"PodNamespace\":\"default\",\"PodUID\":\"" UID "\"}",
                "{\"PodName\":\"web\\u002d0\",\"PodNamespace\":\"default\",\"PodUID\":\"" UID
                "\",\"Node\":\"node-a.example.com\"}",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct bind_request request;
                struct error err = ERROR_NULL;
                if (bind_request_parse(&request, rows[i], strlen(rows[i]), &err) < 0)
                        fail_msg("%s: %s", rows[i], err.msg);
                assert_string_equal(request.pod_namespace, "default");
                assert_string_equal(request.pod_name, "web-0");
                assert_string_equal(request.pod_uid, UID);
                assert_string_equal(request.node, "node-a.example.com");
        }
}

TEST(refused) {
        static const struct {
                const char *args;
                int code;
                const char *why;
        } rows[] = {
                {"", -EBADMSG, "byte 0 of 0: expected the JSON of an ExtenderBindingArgs object"},
                {"{", -EBADMSG, "byte 1 of 1"},
                {"\xff\xff", -EBADMSG, "byte 0 of 2"},
                {"null", -EBADMSG, "expected the JSON of an ExtenderBindingArgs object"},
                {"[]", -EBADMSG, "expected the JSON of an ExtenderBindingArgs object"},
                {"{} {}", -EBADMSG, "byte 3 of 5"},
                {"{\"PodNamespace\":7}", -EINVAL, "PodNamespace '' is not a valid namespace"},
                {"{}", -EINVAL, "PodNamespace '' is not a valid namespace"},
                {"{\"PodNamespace\":null}", -EINVAL, "PodNamespace '' is not a valid namespace"},
                {ARGS("a.b", "p", "u", "n"), -EINVAL,
                 "PodNamespace 'a.b' is not a valid namespace"},
                {ARGS("default/pods/x", "p", "u", "n"), -EINVAL, "is not a valid namespace"},
                {ARGS("..", "p", "u", "n"), -EINVAL, "PodNamespace '..' is not a valid namespace"},
                {ARGS("d", "", "u", "n"), -EINVAL, "PodName '' is not a valid pod name"},
                {ARGS("d", "..", "u", "n"), -EINVAL, "PodName '..' is not a valid pod name"},
                {ARGS("d", "../secrets/x", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p?dryRun=All", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p%2f..", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p\\u0000x", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p\\r\\nX: y", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p\\n", "u", "n"), -EINVAL, "PodName 'p?' is not a valid pod name"},
                {ARGS("d", "P", "u", "n"), -EINVAL, "PodName 'P' is not a valid pod name"},
                {ARGS("d", "p~q", "u", "n"), -EINVAL, "PodName 'p~q' is not a valid pod name"},
                {ARGS("d", "-p", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p-", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p.", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", ".p", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p..q", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "\u00e9", "u", "n"), -EINVAL, "is not a valid pod name"},
                {ARGS("d", "p", "", "n"), -EINVAL, "PodUID '' is not a valid UID"},
                {ARGS("d", "p", "a b", "n"), -EINVAL, "PodUID 'a b' is not a valid UID"},
                {ARGS("d", "p", "\\\"", "n"), -EINVAL, "is not a valid UID"},
                {ARGS("d", "p", "u", ""), -EINVAL, "Node '' is not a valid node name"},
                {ARGS("d", "p", "u", "n/../m"), -EINVAL, "is not a valid node name"},
                {"{\"PodName\":\"p\",\"PodNamespace\":\"d\",\"PodUID\":\"u\"}", -EINVAL,
                 "Node '' is not a valid node name"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct bind_request request = {.node = "untouched"};
                struct error err = ERROR_NULL;
                int r = bind_request_parse(&request, rows[i].args, strlen(rows[i].args), &err);
                if (r != rows[i].code || !strstr(err.msg, rows[i].why))
                        fail_msg("%s gave %d, %s", rows[i].args, r, err.msg);
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
