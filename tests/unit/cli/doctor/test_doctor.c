/* Flags of `doctor` that are refused before anything is asked. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/attributes.h"
#include "cli/doctor/doctor.h"

TEST(refused) {
        static const struct {
                const char *argument, *why;
        } rows[] = {
                {"word", "'word': expected nothing but flags"},
                {"--scheduler-config=/none", "/none: "},
                {"--plimsoll-namespace=", "'' is not a valid namespace"},
                {"--plimsoll-namespace=a/../b", "'a/../b' is not a valid namespace"},
                {"--plimsoll-namespace=\xff", "is not a valid namespace"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char name[] = "doctor", *argv[] = {name, (char *)(uintptr_t)rows[i].argument, NULL};
                enum options_outcome outcome;
                struct error err = ERROR_NULL;
                int first;
                assert_int_equal(options_parse(doctor_verb.rows, doctor_verb.row_count, 2, argv,
                                               &outcome, &first, &err),
                                 0);
                assert_true(verb_run(&doctor_verb, 2 - first, argv + first, &err) < 0);
                if (!strstr(err.msg, rows[i].why))
                        fail_msg("%s is not in: %s", rows[i].why, err.msg);
                options_done(doctor_verb.rows, doctor_verb.row_count);
        }
}
