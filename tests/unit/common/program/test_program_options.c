/* The prefix of annotations, as it is given and as it stands before a key. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "program/program_options.h"

TEST(prefix) {
        static const struct {
                const char *text;
                const char *prefix; /* NULL: refused */
        } rows[] = {
                {"", ""},
                {"load.example.com", "load.example.com/"},
                {"load.example.com/", "load.example.com/"},
                {"a", "a/"},
                {"0-a", "0-a/"},
                {"/", NULL},
                {"//", NULL},
                {"a/b", NULL},
                {"a//", NULL},
                {"A.example", NULL},
                {"a_b", NULL},
                {"-a", NULL},
                {".a", NULL},
                {"a-", NULL},
                {"a.", NULL},
                {"a-/", NULL},
                {" a", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct program_options options = {.annotation_prefix = rows[i].text,
                                                        .annotation_timezone = "UTC"};
                struct program_annotations annotations = {0};
                struct error err = ERROR_NULL;
                int r = program_annotations_init(&annotations, &options, &err);
                if (r != (rows[i].prefix ? 0 : -EINVAL))
                        fail_msg("'%s' gave %d", rows[i].text, r);
                if (rows[i].prefix)
                        assert_string_equal(annotations.prefix, rows[i].prefix);
                else
                        assert_non_null(strstr(err.msg, "expected a DNS name in lower case"));
                assert_null(annotations.zone);
                program_annotations_done(&annotations);
        }
}

/* Of a DNS subdomain, RFC 1123 */
TEST(longest_prefix) {
        char text[256];

        for (size_t len = 253; len <= 254; len++) {
                memset(text, 'a', len);
                text[len] = '\0';
                const struct program_options options = {.annotation_prefix = text,
                                                        .annotation_timezone = "UTC"};
                struct program_annotations annotations = {0};
                assert_int_equal(program_annotations_init(&annotations, &options, NULL),
                                 len == 253 ? 0 : -EINVAL);
                program_annotations_done(&annotations);
        }
}
