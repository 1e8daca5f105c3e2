/* Errors that gather context on their way up. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/error.h"

TEST(set) {
        struct error err = ERROR_NULL;

        assert_int_equal(error_set(&err, EINVAL, "field %d: '%s'", 3, "x"), -EINVAL);
        assert_int_equal(err.code, -EINVAL);
        assert_string_equal(err.msg, "field 3: 'x'");
        assert_int_equal(error_set(&err, -ERANGE, "other"), -ERANGE); /* either sign */
        assert_int_equal(err.code, -ERANGE);
        assert_string_equal(err.msg, "other");
        assert_int_equal(error_set(NULL, ENOENT, "for nobody"), -ENOENT);
}

TEST(wrap) {
        struct error err = ERROR_NULL;

        (void)error_set(&err, E2BIG, "too large");
        assert_int_equal(error_wrap(&err, -E2BIG, "line %d", 12), -E2BIG);
        assert_int_equal(error_wrap(&err, E2BIG, "policy %s", "a.yaml"), -E2BIG);
        assert_string_equal(err.msg, "policy a.yaml: line 12: too large");
        assert_int_equal(err.code, -E2BIG);
        assert_int_equal(error_wrap(NULL, -EIO, "context"), -EIO);
        assert_int_equal(error_wrap(&err, -EIO, "context"),
                         -EIO); /* of another kind from here on */
        assert_int_equal(err.code, -EIO);
}

TEST(long) {
        char text[2 * ERROR_MSG_MAX];
        struct error err = ERROR_NULL;

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        assert_int_equal(error_set(&err, EINVAL, "%s", text), -EINVAL);
        assert_int_equal(strlen(err.msg), ERROR_MSG_MAX - 1);
        assert_int_equal(error_wrap(&err, -EINVAL, "context"), -EINVAL);
        assert_int_equal(strlen(err.msg), ERROR_MSG_MAX - 1);
        assert_int_equal(strncmp(err.msg, "context: xxx", 12), 0);
        assert_int_equal(error_wrap(&err, -EINVAL, "%s", text), -EINVAL);
        assert_int_equal(strlen(err.msg), ERROR_MSG_MAX - 1);
}

/* What a peer sent must not reach a terminal or begin a line of its own. */
TEST(control_characters) {
        struct error err = ERROR_NULL;

        (void)error_set(&err, EINVAL, "'%s'", "a\nb\x1b[1m\x7f\t\xc3\xa9");
        assert_string_equal(err.msg, "'a?b?[1m??\xc3\xa9'");
        (void)error_wrap(&err, -EINVAL, "%s", "c\rd");
        assert_string_equal(err.msg, "c?d: 'a?b?[1m??\xc3\xa9'");
        (void)error_set(&err, EINVAL,
                        "\xc2\x80\xc2\x9b"
                        "2J\xc2\x9f\xc2\xa0");
        assert_string_equal(err.msg, "????2J??\xc2\xa0");
        (void)error_set(&err, EINVAL, "%s",
                        "a\xe2\x80\xae"
                        "b\xe2\x81\xa6\xf3\xa0\x80\x81\xe2\x82\xac");
        assert_string_equal(err.msg, "a???b???????\xe2\x82\xac");
}

/* jansson makes no string of what is not UTF-8. */
TEST(utf8) {
        char text[2 * ERROR_MSG_MAX] = "";
        struct error err = ERROR_NULL;

        (void)error_set(&err, EINVAL, "'%.4s...' \xff\xc0", "abc\xc3\xa9");
        assert_string_equal(err.msg, "'abc?...' ??");
        for (size_t i = 1; i < sizeof(text) - 1; i++)
                text[i] = i % 2 ? '\xc3' : '\xa9';
        text[0] = 'x';
        (void)error_set(&err, EINVAL, "%s", text);
        assert_int_equal(strlen(err.msg), ERROR_MSG_MAX - 1);
        assert_int_equal(err.msg[ERROR_MSG_MAX - 2], '\xa9');
        (void)error_set(&err, EINVAL, "%s", text + 1);
        assert_int_equal(err.msg[ERROR_MSG_MAX - 2], '?');
}
