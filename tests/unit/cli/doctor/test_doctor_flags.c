/* What a program's page /flagz says. */
#include "tests/unit/fixture/test.h"

#include "cli/doctor/doctor_flags.h"

TEST(values) {
        static const char page[] = "\nplimsoll-controller flagz\n\n"
                                   "bind=true\n"
                                   "empty=\n"
                                   "events=false\n"
                                   "exporter=a=http://a,b=http://b\n"
                                   "metrics-source=node-exporter,kubelet\n"
                                   "number=7\n"
                                   "bytes=\xff\n"
                                   "last=1";
        static const struct {
                const char *name, *value; /* NULL: not set */
        } rows[] = {
                {"bind", "true"},
                {"empty", NULL},
                {"none", NULL},
                {"plimsoll-controller flagz", NULL},
                {"exporter", "a=http://a,b=http://b"},
                {"number", "7"},
                {"bytes", NULL},
                {"last", "1"},
        };
        _cleanup_(doctor_flags_done) struct doctor_flags flags = {0};

        doctor_flags_parse(page, &flags);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *value = doctor_flag(&flags, rows[i].name);
                if (!value != !rows[i].value || (value && strcmp(value, rows[i].value) != 0))
                        fail_msg("%s: %s", rows[i].name, value ? value : "not set");
        }
        assert_true(doctor_flag_is_on(&flags, "bind"));
        assert_false(doctor_flag_is_on(&flags, "events"));
        assert_false(doctor_flag_is_on(&flags, "none"));
}

TEST(unread) {
        _cleanup_(doctor_flags_done) struct doctor_flags flags = {0};

        assert_null(doctor_flag(&flags, "bind"));
        assert_false(doctor_flag_is_on(&flags, "bind"));
        doctor_flags_parse("", &flags);
        assert_non_null(flags.values);
        assert_null(doctor_flag(&flags, "bind"));
}
