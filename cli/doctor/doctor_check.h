/*
 * The checks: rows of tables, each with what it is about, why that matters, what mends it, and a
 * function that looks at the facts. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "cli/doctor/doctor_facts.h"

/* In the order of gravity. UNKNOWN: the facts that it needs could not be had; that is no fault. */
enum doctor_state { DOCTOR_OK, DOCTOR_UNKNOWN, DOCTOR_WARNING, DOCTOR_FAULT };

enum { DOCTOR_WHAT_MAX = 512 };

/* Zero-initialised: all is well. */
struct doctor_finding {
        enum doctor_state state;
        char what[DOCTOR_WHAT_MAX]; /* printable ASCII */
};

typedef void doctor_check_fn(const struct doctor_facts *facts, struct doctor_finding *finding);

struct doctor_check {
        const char *id;
        const char *why;  /* it matters */
        const char *mend; /* a command, or what to change; @NS stands for the namespace */
        doctor_check_fn *fn;
};

struct doctor_checks {
        const struct doctor_check *rows;
        size_t count;
};

extern const struct doctor_checks doctor_policy_checks, doctor_program_checks, doctor_node_checks,
        doctor_scheduler_checks, doctor_metric_checks;

/** doctor_find() - set the finding; the last call of a check counts. What is no printable ASCII
 * becomes '?': objects hold texts of others, and one that is cut may be no UTF-8 */
void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *fmt, ...)
        _printf_(3, 4);

/**
 * doctor_needs() - whether an object is there
 *
 * If there is none, its absence is the affair of another check, and this one is fine; if it could
 * not be asked for, this one is not known.
 */
bool doctor_needs(const struct doctor_facts *facts, enum doctor_object object,
                  struct doctor_finding *finding);

/** doctor_told() - whether it can be read what the controller is told by @flag; if not, the check
 * is not known */
bool doctor_told(const struct doctor_facts *facts, enum program_flag flag,
                 struct doctor_finding *finding);

/** doctor_minor() - x of the API server's version 1.x; 0: not known */
unsigned doctor_minor(const struct doctor_facts *facts);

/** doctor_find_nodes() - the finding "3 of 200 nodes <what>: a, b, c"; nothing for an empty set */
void doctor_find_nodes(struct doctor_finding *finding, enum doctor_state state,
                       const struct doctor_facts *facts, const struct doctor_set *set,
                       const char *what);
