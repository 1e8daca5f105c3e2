/* What a program's page /flagz says. */
#include "tests/unit/fixture/test.h"

#include "cli/doctor/doctor_facts.h"

TEST(values) {
        static const char page[] = "\nplimsoll-controller flagz\n\n"
                                   "bind=true\n"
                                   "empty=\n"
                                   "exporter=a=http://a,b=http://b\n"
                                   "last=1";
        static const struct {
                const char *name, *value; /* NULL: not set */
        } rows[] = {
                {"bind", "true"},
                {"empty", NULL},
                {"none", NULL},
                {"plimsoll-controller flagz", NULL},
                {"exporter", "a=http://a,b=http://b"},
                {"last", "1"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *value = doctor_flag(page, rows[i].name);
                size_t len = value ? strcspn(value, "\n") : 0;
                if (!value != !rows[i].value || (value && (strlen(rows[i].value) != len ||
                                                           memcmp(value, rows[i].value, len) != 0)))
                        fail_msg("%s: %s", rows[i].name, value ? value : "not set");
                assert_null(doctor_flag(NULL, rows[i].name));
        }
}
