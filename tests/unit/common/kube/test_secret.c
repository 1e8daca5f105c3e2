/* Secrets as they come: in base64, and as a file with a token. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "credential_files.h"
#include "kube/secret.h"
#include "tests/unit/fixture/rows.h"

static void show_pem(const char *text, size_t len, struct buf *out) {
        char *pem = NULL;

        int r = secret_from_base64(text, len, &pem, NULL);
        assert_int_equal(r == 0, pem != NULL);
        buf_puts(out, pem ? pem : "-");
        secret_free(pem);
}

TEST(base64) {
        /* Longer than any PEM. */
        _cleanup_(freep) char *longest = xmalloc(2 * SECRET_PEM_MAX_BYTES);
        char *none = NULL;

        memset(longest, 'A', 2 * SECRET_PEM_MAX_BYTES);
        assert_int_equal(secret_from_base64(longest, 2 * SECRET_PEM_MAX_BYTES, &none, NULL),
                         -EINVAL);
        assert_null(none);
        rows_check("secrets.tsv", show_pem);
}

static void show_token(const char *text, size_t len, struct buf *out) {
        _cleanup_(freep) char *token = xstrdup(text);
        struct error err = ERROR_NULL;
        int r = secret_check(SECRET_TOKEN, token, len, &err);

        assert_null(strstr(err.msg, "abc")); /* what it holds is not for the log */
        buf_puts(out, r == 0 ? token : "-");
}

TEST(token_check) {
        rows_check("tokens.tsv", show_token);
        _cleanup_(freep) char *text = xcalloc(1, SECRET_TOKEN_MAX_BYTES + 2);
        memset(text, 'x', SECRET_TOKEN_MAX_BYTES);
        assert_int_equal(secret_check(SECRET_TOKEN, text, SECRET_TOKEN_MAX_BYTES, NULL), 0);
        text[SECRET_TOKEN_MAX_BYTES] = 'x';
        assert_int_equal(secret_check(SECRET_TOKEN, text, SECRET_TOKEN_MAX_BYTES + 1, NULL),
                         -EINVAL);
}
