/*
 * The checks: rows of tables. Each has an id, why it matters, how to fix it, and a function that
 * looks at the facts. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "cli/doctor/doctor_facts.h"

/* From the least severe. UNKNOWN: the facts could not be read, which is not a fault. WAIT: usual
 * while a program starts. */
enum doctor_state { DOCTOR_OK, DOCTOR_UNKNOWN, DOCTOR_WARNING, DOCTOR_FAULT, DOCTOR_WAIT };

enum { DOCTOR_WHAT_MAX = 512, DOCTOR_SUBJECT_MAX = 254 /* the name of a node or a pod */ };

struct doctor_finding {
        const struct doctor_check *check;
        enum doctor_state state;
        char what[DOCTOR_WHAT_MAX];       /* printable ASCII; "": all is well */
        char subject[DOCTOR_SUBJECT_MAX]; /* the name for @IT in the fix; "": none */
        const char *fix;                  /* replaces the check's; NULL: the check's */
        bool is_unread;                   /* an object could not be read */
};

typedef void doctor_check_fn(const struct doctor_facts *facts, struct doctor_finding *finding);

struct doctor_check {
        const char *id;
        const char *why; /* it matters */
        const char *fix; /* a command, or what to change; see doctor_text() */
        doctor_check_fn *fn;
        /* The function is called only with these. */
        enum doctor_object needs;      /* see doctor_needs() */
        enum doctor_object needs_page; /* DOCTOR_CONTROLLER or DOCTOR_EXTENDER; 0: none */
        bool needs_entry;              /* the extender's, in the scheduler's configuration */
        /* DOCTOR_CONTROLLER or DOCTOR_EXTENDER: its faults are usual while that program starts */
        enum doctor_object settles;
        /* For @UP in the fix. */
        const char *kubectl; /* its arguments */
        const char *values;  /* with Helm: those of --set; NULL: none */
        /* For functions that several rows share: what to look at, and the finding. */
        enum doctor_object object;
        enum doctor_account account;
        enum doctor_set_kind set;
        const char *key;
        enum doctor_state state;
        const char *what; /* @NS as in @fix */
};

struct doctor_checks {
        const struct doctor_check *rows;
        size_t count;
};

extern const struct doctor_checks doctor_policy_checks, doctor_program_checks, doctor_node_checks,
        doctor_scheduler_checks, doctor_metric_checks;

/** doctor_check_run() - run one check */
void doctor_check_run(const struct doctor_check *check, const struct doctor_facts *facts,
                      struct doctor_finding *ret);

/** doctor_find() - set the finding; the last call of a check counts. Bytes that are not printable
 * ASCII become '?': objects hold untrusted text, and cutting text can break its UTF-8 */
void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *fmt, ...)
        _printf_(3, 4);

/** doctor_name() - set the node, pod or namespace that the fix is for. Anything but a valid name is
 * ignored, because people copy the fix into a shell */
void doctor_name(struct doctor_finding *finding, const char *subject);

/**
 * doctor_needs() - does the object exist?
 *
 * If it does not, another check reports that, and this one is OK. If it could not be read, this one
 * is UNKNOWN. This also applies to the functions below.
 */
bool doctor_needs(const struct doctor_facts *facts, enum doctor_object object,
                  struct doctor_finding *finding);

/** doctor_needs_count() - could the nodes be counted? */
bool doctor_needs_count(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_needs_places() - could the objects be read that say where extenders are? */
bool doctor_needs_places(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_needs_entry() - does a scheduler's configuration name the extender? */
bool doctor_needs_entry(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_is_there() - does the object exist? If not, the finding is @state and @what */
bool doctor_is_there(const struct doctor_facts *facts, enum doctor_object object,
                     enum doctor_state state, const char *what, struct doctor_finding *finding);

/** doctor_check_there() - a doctor_check_fn: doctor_is_there() for the row's object */
void doctor_check_there(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_needs_flags() - could a program's flags be read? */
bool doctor_needs_flags(const struct doctor_flags *flags, struct doctor_finding *finding);

/** doctor_minor() - x in the API server's version 1.x; 0: unknown */
unsigned doctor_minor(const struct doctor_facts *facts);

/** doctor_text() - replace @NS by the namespace, @IT by the finding's subject, and @UP by the
 * row's command for kubectl, or for Helm if that installed Plimsoll; owned by the caller */
char *doctor_text(const struct doctor_facts *facts, const struct doctor_finding *finding,
                  const char *text);
