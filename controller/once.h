/*
 * --once as a state machine: every node is looked at twice, what is known then is written (or
 * printed), and the program ends. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ONCE_OUTCOMES = 2 }; /* per node: an interval takes two scrapes */

/* Zero-initialised is off: a program that runs on. */
struct once {
        enum { ONCE_NOT, ONCE_SCRAPING, ONCE_WRITING, ONCE_DONE } state;
};

/* What once_next() goes by. */
struct once_facts {
        size_t nodes;
        bool is_each_seen;   /* every node has had ONCE_OUTCOMES, by all sources that count now */
        bool is_synced;      /* no further nodes are expected, bindings are counted */
        bool is_writer_idle; /* all that was to be written has been answered */
};

enum once_next {
        ONCE_WAIT,
        ONCE_NO_NODES, /* there is nothing to do; the end */
        ONCE_WRITE,    /* every node has been looked at: write, or print and end */
        ONCE_END,
};

void once_begin(struct once *once);
/** once_is_on() - from once_begin() on */
bool once_is_on(const struct once *once);

/** once_next() - what is to be done now; anything but ONCE_WAIT is said once */
enum once_next once_next(struct once *once, const struct once_facts *facts);
