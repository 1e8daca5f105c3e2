/* Secrets as they come: in base64, and as a file with a token. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "credential_files.h"
#include "kube/secret.h"

TEST(base64) {
        static const struct {
                const char *text;
                bool ok;
        } rows[] = {
                {PEM_BASE64, true},
                {" LS0tLS1CRUdJTiBY\n LS0tLS0KQUE9PQotLS0t\r\nLUVORCBYLS0tLS0K\n", true},
                {"LS0tLS1CRUdJTiBY", true}, /* no whole PEM, but the TLS library will say so */
                {"LS0tLS1CRUdJTiBYLQ==", true},
                {"LS0tLS1CRUdJTiBYLQ=", false},
                {"LS0tLS1CRUdJTiBYLQ", false},
                {"LS0tLS1CRUdJTiBYLQ===", false},
                {"LS0tLS1CRUdJTiBYL", false},
                {"LS0tLS1CRUdJTiBYLQ==LS0t", false},
                {"LS0tLS1CRUdJTiBY-_", false}, /* the URL alphabet is another one */
                {"LS0t*LS1CRUdJTiBY", false},
                {"aGVsbG8=", false},             /* "hello" */
                {"LS0tLS1CRUdJTiBYAAAA", false}, /* NULs */
                {"", false},
                {"====", false},
        };

        /* Longer than any PEM. */
        _cleanup_(freep) char *longest = xmalloc(2 * SECRET_PEM_MAX_BYTES);
        memset(longest, 'A', 2 * SECRET_PEM_MAX_BYTES);
        char *none = NULL;
        assert_int_equal(secret_from_base64(longest, 2 * SECRET_PEM_MAX_BYTES, &none, NULL),
                         -EINVAL);
        assert_null(none);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *pem = NULL;
                struct error err = ERROR_NULL;
                int r = secret_from_base64(rows[i].text, strlen(rows[i].text), &pem, &err);
                if ((r == 0) != rows[i].ok || (pem != NULL) != rows[i].ok)
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
                if (pem && i < 2)
                        assert_string_equal(pem, PEM);
                secret_free(pem);
        }
        static const char plain[] = "-----BEGIN X-----abc";
        static const char *const encoded[] = {
                /* every kind of padding */
                "LS0tLS1CRUdJTiBYLS0tLS0=",
                "LS0tLS1CRUdJTiBYLS0tLS1h",
                "LS0tLS1CRUdJTiBYLS0tLS1hYg==",
                "LS0tLS1CRUdJTiBYLS0tLS1hYmM=",
        };
        for (size_t i = 0; i < ARRAY_LEN(encoded); i++) {
                char *decoded = NULL;
                assert_int_equal(secret_from_base64(encoded[i], strlen(encoded[i]), &decoded, NULL),
                                 0);
                assert_int_equal(strlen(decoded), 17 + i);
                assert_memory_equal(decoded, plain, 17 + i);
                secret_free(decoded);
        }
}

TEST(token_check) {
        static const struct {
                const char *text, *token; /* NULL: refused */
        } rows[] = {
                {"abc.DEF-_~+/=", "abc.DEF-_~+/="},
                {" \r\n\tabc\n", "abc"},
                {"", NULL},
                {" \n", NULL},
                {"abc\r\nX-Evil: 1", NULL}, /* a header of its own */
                {"abc\ndef", NULL},
                {"abc def", NULL},
                {"abc\x7f", NULL},
                {"abc\x01", NULL},
                {"\xc3\xa9", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *text = xstrdup(rows[i].text);
                struct error err = ERROR_NULL;
                int r = secret_check(SECRET_TOKEN, text, strlen(text), &err);
                if ((r == 0) != (rows[i].token != NULL))
                        fail_msg("row %zu gave %d", i, r);
                if (r == 0)
                        assert_string_equal(text, rows[i].token);
                else /* what it holds is not for the log */
                        assert_null(strstr(err.msg, "abc"));
                free(text);
        }
        _cleanup_(freep) char *text = xcalloc(1, SECRET_TOKEN_MAX_BYTES + 2);
        memset(text, 'x', SECRET_TOKEN_MAX_BYTES);
        assert_int_equal(secret_check(SECRET_TOKEN, text, SECRET_TOKEN_MAX_BYTES, NULL), 0);
        text[SECRET_TOKEN_MAX_BYTES] = 'x';
        assert_int_equal(secret_check(SECRET_TOKEN, text, SECRET_TOKEN_MAX_BYTES + 1, NULL),
                         -EINVAL);
}
