/*
 * The findings. A check is one call of doctor_check(), made only if the facts that it needs could
 * be read. A fact that could not be read is a finding of its own, which is unknown.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/attributes.h"
#include "cli/doctor/doctor_facts.h"

/* From the least severe. UNKNOWN: a fact could not be read, which is not a fault. WAIT: usual while
 * a program starts. */
enum doctor_state { DOCTOR_OK, DOCTOR_UNKNOWN, DOCTOR_WARNING, DOCTOR_FAULT, DOCTOR_WAIT };

enum { DOCTOR_TEXT_MAX = 512, DOCTOR_CHECKS_MAX = 128 };

/* Texts are printable ASCII; "" if all is well. */
struct doctor_finding {
        const char *id;
        const char *why; /* it matters */
        enum doctor_state state;
        char what[DOCTOR_TEXT_MAX];
        char fix[DOCTOR_TEXT_MAX]; /* a command, or what to change */
};

struct doctor_report {
        const struct doctor_facts *facts; /* borrowed */
        bool is_starting, is_ready;       /* the program of the next checks: see doctor_about() */
        size_t count, counts[DOCTOR_WAIT + 1];
        struct doctor_finding findings[DOCTOR_CHECKS_MAX];
};

/** doctor_report_new() - make all checks; owned by the caller, free() releases it */
struct doctor_report *doctor_report_new(const struct doctor_facts *facts);

/** doctor_report_print() - for people; @is_wide: also the checks that pass */
void doctor_report_print(const struct doctor_report *report, bool is_wide, FILE *out);
/** doctor_report_print_counts() - its last line */
void doctor_report_print_counts(const struct doctor_report *report, FILE *out);
/** doctor_report_json() - for programs; owned by the caller */
json_t *doctor_report_json(const struct doctor_report *report);

/* ---- For checks. */

/* The checks, which are pure. */
void doctor_check_programs(struct doctor_report *report);
void doctor_check_policy(struct doctor_report *report);
void doctor_check_reports(struct doctor_report *report);
void doctor_check_admission(struct doctor_report *report);
void doctor_check_scheduler(struct doctor_report *report);

/** doctor_about() - while this program starts, faults that the next checks find are DOCTOR_WAIT
 * @deployment: DOCTOR_CONTROLLER or DOCTOR_EXTENDER; 0: they are faults anyway */
void doctor_about(struct doctor_report *report, enum doctor_object deployment);

/** doctor_check() - add a finding; @state DOCTOR_OK: all is well, and the text does not matter */
void doctor_check(struct doctor_report *report, const char *id, enum doctor_state state,
                  const char *why, const char *what, ...) _printf_(5, 6);

/** doctor_fix() - say how to fix what the last check has found, unless all is well */
void doctor_fix(struct doctor_report *report, const char *fmt, ...) _printf_(2, 3);

/** doctor_if() - for a check with one kind of fault */
static inline enum doctor_state doctor_if(bool is_wrong, enum doctor_state state) {
        return is_wrong ? state : DOCTOR_OK;
}

/** doctor_fix_by() - doctor_fix(): apply the manifests with `kubectl @kubectl`, or the chart, if
 * that installed Plimsoll: an object that kubectl has changed makes the next upgrade of Helm fail
 * @values: those of --set; "": none */
void doctor_fix_by(struct doctor_report *report, const char *kubectl, const char *values);

/** doctor_name() - the name of a node, pod or namespace, for a fix that people copy into a shell.
 * Return: @name, or "NAME" if it is NULL or no valid name */
const char *doctor_name(const char *name);
