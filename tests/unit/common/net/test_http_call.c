/* What curl is given of one call: which calls share TLS settings, and the name that is verified. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "net/http_call.h"

/* Equal settings are copied once; a call never gets those of another. */
TEST(shared_tls) {
        static const struct http_tls first = {"ca", "cert", "key", "name", false};
        static const struct {
                struct http_tls tls;
                bool is_shared;
        } rows[] = {
                {{"ca", "cert", "key", "name", false}, true},
                {{"CA", "cert", "key", "name", false}, false},
                {{NULL, "cert", "key", "name", false}, false},
                {{"ca", "CERT", "key", "name", false}, false},
                {{"ca", "cert", "KEY", "name", false}, false},
                {{"ca", "cert", "key", "NAME", false}, false},
                {{"ca", "cert", "key", NULL, false}, false},
                {{"ca", "cert", "key", "name", true}, false},
        };
        struct http_tls_copy *last = http_tls_copy_get(NULL, &first);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                /* Of other memory, as after a certificate was read again. */
                struct http_tls tls = rows[i].tls;
                _cleanup_(freep) char *ca_pem = xstrdup_or_null(tls.ca_pem);
                tls.ca_pem = ca_pem;
                struct http_tls_copy *copy = http_tls_copy_get(last, &tls);
                if ((copy == last) != rows[i].is_shared)
                        fail_msg("row %zu: shared is %d", i, copy == last);
                assert_int_equal(last->refs, rows[i].is_shared ? 2 : 1);
                http_tls_copy_unref(copy);
        }
        http_tls_copy_unref(last);
}

static void never(void *userdata, const struct http_response *response) {
        fail_msg("the call was never started");
}

/* Another name is verified, and yet it is the URL's host that is connected to and named. */
TEST(server_name) {
        static const struct {
                const char *url, *server_name;
                const char *connect_to, *host; /* NULL: refused */
        } rows[] = {
                {"https://10.0.0.1:6443/api", "a.test", "::10.0.0.1:6443", "Host: 10.0.0.1:6443"},
                {"https://10.0.0.1/api", "a.test", "::10.0.0.1:443", "Host: 10.0.0.1"},
                {"https://[fd00::1]:6443", "a.test", "::[fd00::1]:6443", "Host: [fd00::1]:6443"},
                {"https://a b/", "a.test", NULL, NULL},
                {"file:///api", "a.test", NULL, NULL},
                {"https://10.0.0.1/api", "not a name", NULL, NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct http_tls tls = {.server_name = rows[i].server_name};
                struct http_call *call = http_call_new(&(struct http_request){.method = "GET",
                                                                              .url = rows[i].url,
                                                                              .timeout_ms = 1,
                                                                              .max_body_bytes = 1,
                                                                              .tls = &tls,
                                                                              .on_done = never},
                                                       NULL);
                call->easy = curl_easy_init();
                CURLcode code = http_call_configure(call, NULL, NULL);
                if (code != (rows[i].host ? CURLE_OK : CURLE_URL_MALFORMAT))
                        fail_msg("%s gave %d", rows[i].url, code);
                if (rows[i].host) {
                        assert_string_equal(call->connect_to->data, rows[i].connect_to);
                        assert_string_equal(call->headers->data, rows[i].host);
                } else {
                        assert_null(call->connect_to);
                        assert_null(call->headers);
                }
                curl_easy_cleanup(call->easy);
                http_call_free(call);
        }
}
