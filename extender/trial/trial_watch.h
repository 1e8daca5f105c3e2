/*
 * Runs a trial (trial.h) in the extender: takes its steps, keeps its metrics, and writes the page
 * /trial. On the loop's thread.
 *
 * Nothing is kept beyond the program's end, since the extender may not write anything in the
 * cluster: a new one begins a new trial, with all pods where they really are.
 */
#pragma once

#include "daemon/daemon.h"
#include "extender/table/node_table.h"
#include "extender/trial/trial.h"
#include "net/shared_page.h"

/* The version of the page; another one has other keys. */
enum { TRIAL_PAGE_VERSION = 1, TRIAL_PAGE_MAX_BYTES = 1 << 16 };

struct trial_watch;

/** trial_watch_new() - begins at once; all are borrowed */
struct trial_watch *trial_watch_new(const struct daemon *daemon, struct node_table *table,
                                    struct trial *trial);
void trial_watch_free(struct trial_watch *watch);
/** trial_watch_page() - JSON. extender/README.md has an example; borrowed */
struct shared_page *trial_watch_page(const struct trial_watch *watch);
