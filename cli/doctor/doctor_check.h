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

enum { DOCTOR_WHAT_MAX = 512, DOCTOR_SUBJECT_MAX = 254 /* the name of a node or a pod */ };

struct doctor_finding {
        const struct doctor_check *check;
        enum doctor_state state;
        char what[DOCTOR_WHAT_MAX];       /* printable ASCII; "": all is well */
        char subject[DOCTOR_SUBJECT_MAX]; /* a name for @IT in the remedy; "": none */
        const char *mend;                 /* in place of the check's; NULL: that one */
};

typedef void doctor_check_fn(const struct doctor_facts *facts, struct doctor_finding *finding);

struct doctor_check {
        const char *id;
        const char *why;  /* it matters */
        const char *mend; /* a command, or what to change; see doctor_text() */
        doctor_check_fn *fn;
        /* Without these the function is not called. */
        enum doctor_object needs;      /* see doctor_needs() */
        enum doctor_object needs_page; /* of DOCTOR_CONTROLLER or DOCTOR_EXTENDER; 0: none */
        bool needs_entry;              /* the extender's in the scheduler's configuration */
        /* For functions that several rows share: what they look at, and what they find. */
        enum doctor_object object;
        enum doctor_set_kind set;
        const char *key;
        enum doctor_state state;
        const char *what; /* @NS as in @mend */
};

struct doctor_checks {
        const struct doctor_check *rows;
        size_t count;
};

extern const struct doctor_checks doctor_policy_checks, doctor_program_checks, doctor_node_checks,
        doctor_scheduler_checks, doctor_metric_checks;

/** doctor_check_run() - what one check finds */
void doctor_check_run(const struct doctor_check *check, const struct doctor_facts *facts,
                      struct doctor_finding *ret);

/** doctor_find() - set the finding; the last call of a check counts. Bytes that are not printable
 * ASCII become '?', since objects hold untrusted texts, and cutting one may break its UTF-8 */
void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *fmt, ...)
        _printf_(3, 4);

/** doctor_name() - which node, pod or namespace the remedy is for. What is no such name is left
 * out, since people copy the remedy into a shell */
void doctor_name(struct doctor_finding *finding, const char *subject);

/**
 * doctor_needs() - whether an object is there
 *
 * If there is none, another check reports that, and this one is fine; if it could not be asked for,
 * this one is not known.
 */
bool doctor_needs(const struct doctor_facts *facts, enum doctor_object object,
                  struct doctor_finding *finding);

/** doctor_needs_count() - whether the nodes could be counted, whatever is known of them */
bool doctor_needs_count(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_needs_places() - whether all is known of where extenders are */
bool doctor_needs_places(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_needs_entry() - whether a scheduler's configuration names the extender. If it does not,
 * another check reports that; if there is no configuration, this one is not known */
bool doctor_needs_entry(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_is_there() - whether an object is there; if there is none, that is found, with @state */
bool doctor_is_there(const struct doctor_facts *facts, enum doctor_object object,
                     enum doctor_state state, const char *what, struct doctor_finding *finding);

/** doctor_check_there() - a doctor_check_fn: the row's object is there, or the row's state and text
 * are found */
void doctor_check_there(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_needs_flags() - whether a program's flags are known */
bool doctor_needs_flags(const struct doctor_flags *flags, struct doctor_finding *finding);

/** doctor_minor() - x of the API server's version 1.x; 0: not known */
unsigned doctor_minor(const struct doctor_facts *facts);

/** doctor_text() - @text with the namespace in place of @NS, and the finding's subject in place of
 * @IT; owned by the caller */
char *doctor_text(const struct doctor_facts *facts, const struct doctor_finding *finding,
                  const char *text);
