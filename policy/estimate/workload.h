/*
 * What one pod of each workload was measured to use. A controller measures pods (policy/usage/); a
 * pod of a workload that is not measured is expected to use its request times the cluster's factor.
 *
 * A workload is named by a namespace and an owner of pods (policy/pods/pod_workload.h has the
 * names, which outlast a revision or a run). Pods refer to it by a seeded hash of its name, so they
 * need no entry in the set. Names come from the API server, so their number is bounded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/pod_load.h"

enum { WORKLOADS_MAX = 50000 };

/* What was measured of a workload. */
struct workload_measure {
        struct pod_load mean;    /* what one pod uses */
        struct pod_load spread;  /* the standard deviation of one pod */
        struct pod_load request; /* of one pod, as pod_load_counted() */
        size_t pods;             /* live ones */
};

struct workload_set;

struct workload_set *workload_set_new(void);
void workload_set_free(struct workload_set *set);
DEFINE_FREEP(struct workload_set, workload_set_free);

/** workload_key() - of a workload; 0: of a pod without an owner, whose @name_len is 0 */
uint64_t workload_key(const char *name, size_t name_len);
/** workload_set_find() - NULL: it is not measured. Borrowed until the next change of the set */
const struct workload_measure *workload_set_find(const struct workload_set *set, uint64_t key);
size_t workload_set_count(const struct workload_set *set);

/** workload_set_part_begins() - workload_set_measure() follows for every workload of one part of
 * the measured ones */
void workload_set_part_begins(struct workload_set *set);
/** workload_set_measure() - ignored if there are WORKLOADS_MAX others
 * @part: a number of the caller's */
void workload_set_measure(struct workload_set *set, uint32_t part, const char *name,
                          size_t name_len, const struct workload_measure *measure);
/** workload_set_part_ended() - forget the workloads of the part that were not in it */
void workload_set_part_ended(struct workload_set *set, uint32_t part);

/** workload_set_each() - call @fn for every workload, in any order
 * @name: borrowed; it ends in NUL, but may contain NULs */
void workload_set_each(const struct workload_set *set,
                       void (*fn)(void *userdata, const char *name, size_t name_len,
                                  const struct workload_measure *measure),
                       void *userdata);

/**
 * workload_expect() - the expected load of one pod
 * @measure: of its workload; NULL: not measured
 * @request: as pod_load_counted()
 * @ret_spread: its standard deviation; may be NULL
 */
struct pod_load workload_expect(const struct workload_measure *measure,
                                const struct pod_load *request, const struct load_factor *factor,
                                struct pod_load *ret_spread);
