/* The findings of all checks, and their two output formats. */
#pragma once

#include <stdio.h>

#include "cli/doctor/doctor_check.h"

enum { DOCTOR_CHECKS_MAX = 96 };

struct doctor_report {
        const struct doctor_facts *facts; /* borrowed */
        size_t count, counts[DOCTOR_WAIT + 1];
        struct doctor_finding findings[DOCTOR_CHECKS_MAX];
};

/** doctor_report_new() - run all checks; owned by the caller, free() releases it */
struct doctor_report *doctor_report_new(const struct doctor_facts *facts);

/** doctor_report_print() - for people; @is_wide: also the checks that pass */
void doctor_report_print(const struct doctor_report *report, bool is_wide, FILE *out);
/** doctor_report_json() - for programs; owned by the caller */
json_t *doctor_report_json(const struct doctor_report *report);
/** doctor_report_ids() - the ids of findings with @state or a more severe one, such as "leader,
 * samples"; owned by the caller */
char *doctor_report_ids(const struct doctor_report *report, enum doctor_state state);
