/*
 * Runs a trial (trial.h) in the extender: takes its steps, keeps its metrics, and serves the page
 * /trial. On the loop's thread, except for trial_watch_asked() and the page.
 *
 * Nothing is kept beyond the program's end, since the extender may not write anything in the
 * cluster: a new one begins a new trial, with all pods where they really are.
 */
#pragma once

#include "daemon/daemon.h"
#include "extender/table/node_table.h"
#include "policy/pods/pod_facts.h"

struct trial_watch;

/** trial_watch_new() - begins at once; both are borrowed */
struct trial_watch *trial_watch_new(const struct daemon *daemon, struct node_table *table);
void trial_watch_free(struct trial_watch *watch);

/** trial_watch_bound() - a pod was bound just now, and no snapshot shows it yet */
void trial_watch_bound(struct trial_watch *watch, const struct pod_facts *pod);
/** trial_watch_gone() - a pod has ended */
void trial_watch_gone(struct trial_watch *watch, const struct pod_facts *pod);
/** trial_watch_asked() - a scheduler asks about a pod; any thread */
void trial_watch_asked(struct trial_watch *watch, int64_t now_unix_ms);
/** trial_watch_stop() - shared_page_stop() for the page */
void trial_watch_stop(struct trial_watch *watch);
/** trial_watch_page() - answer GET and HEAD of /trial; other methods get 405; any thread
 * @watch: NULL: there is no such page
 * Return: false: another path; @exchange is unchanged */
bool trial_watch_page(struct trial_watch *watch, struct http_exchange *exchange);
