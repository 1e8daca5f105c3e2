/*
 * Keeps the PreferredNodes object `default` up to date (admission_list.h): while pods are bound,
 * once a second; otherwise every 10 s, so that its age tells whether somebody writes it, and it
 * comes back if it is deleted. Of several extenders, the holder of a Lease writes.
 *
 * A failed write is tried again after 10 s, for example until the kind has been installed.
 *
 * Guarantee: a write that fails, or is late, does no harm: pods merely prefer the listed nodes, and
 * deploy/admission/policy.yaml ignores a list that was not written for a minute. So the Lease need
 * not wait for a write. On the loop's thread.
 */
#pragma once

#include "base/attributes.h"
#include "daemon/daemon.h"
#include "extender/table/node_table.h"
#include "kube/lease.h"

struct admission_writer;

/** admission_writer_new() - starts at once; both are borrowed
 * @namespace: of the Lease */
struct admission_writer *admission_writer_new(const struct daemon *daemon, struct node_table *table,
                                              const char *namespace);
void admission_writer_free(struct admission_writer *writer);
DEFINE_FREEP(struct admission_writer, admission_writer_free);

/** admission_writer_release() - stop, and let another extender write; lease_release() */
void admission_writer_release(struct admission_writer *writer, lease_released_fn *on_done,
                              void *userdata);

/** admission_writer_bound() - a pod was bound to a node just now */
void admission_writer_bound(struct admission_writer *writer);
