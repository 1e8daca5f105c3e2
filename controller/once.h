/*
 * --once as a state machine: every node is scraped until it has two readings, the results are
 * written (or printed), and the program exits. At the deadline, what there is is written; writing
 * itself has none. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ONCE_OUTCOMES = 2 }; /* per node: an interval takes two scrapes */

/* Zero-initialised: off, the program runs until it is stopped. */
struct once {
        enum { ONCE_NOT, ONCE_SCRAPING, ONCE_WRITING, ONCE_DONE } state;
        bool is_late; /* set by the owner: the deadline of scraping has passed */
};

/* The input of once_next(). */
struct once_facts {
        size_t nodes;
        bool is_each_seen;   /* every node has been read, or fails: once_nodes_unseen() is 0 */
        bool is_synced;      /* the lists of nodes and bindings are complete */
        bool is_writer_idle; /* all patches have been answered */
};

enum once_next {
        ONCE_WAIT,
        ONCE_NO_NODES, /* nothing to do: exit */
        ONCE_NO_LISTS, /* it is late, and a list is not complete: exit */
        ONCE_WRITE,    /* write, or print and exit */
        ONCE_END,
};

void once_begin(struct once *once);
/** once_is_on() - from once_begin() on */
bool once_is_on(const struct once *once);

/** once_next() - what to do now; each result but ONCE_WAIT is returned once */
enum once_next once_next(struct once *once, const struct once_facts *facts);
