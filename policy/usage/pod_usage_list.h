/*
 * The annotation `pod_usage` of a node: pods that use something else than their workload's pods
 * usually do, with what each uses on average over the last minutes.
 *
 *     pod_usage: 1f0c9ab2=1.20/512,7d11e0c4=0.003/48
 *
 * An entry is the beginning of the pod's uid, CPU in cores and memory in MiB. Pods that are not in
 * the list use what their workload's pods do (workload_usage.h). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "policy/estimate/pod_load.h"

#define ANNOTATION_POD_USAGE "pod_usage"

enum {
        POD_USAGE_MAX = 16,       /* entries; more are malformed */
        POD_USAGE_UID_DIGITS = 8, /* of 32: two of a node's 500 pods are hardly ever the same */
        POD_USAGE_TEXT_MAX = 512, /* with the NUL; a longer text is malformed */
};

struct pod_usage {
        uint32_t uid; /* pod_usage_uid() */
        struct pod_load load;
};

struct pod_usage_list {
        size_t count;
        struct pod_usage pods[POD_USAGE_MAX];
};

/** pod_usage_uid() - the beginning of a pod's uid; false: it has none, and the pod no entry */
_must_check_ bool pod_usage_uid(const char *uid, size_t len, uint32_t *ret);

/** pod_usage_list_parse() - -EINVAL: malformed; -ERANGE: a value is negative or absurd */
_must_check_ int pod_usage_list_parse(const char *text, size_t len, struct pod_usage_list *ret,
                                      struct error *err);
/** pod_usage_list_format() - "" for an empty list; loads are finite and within USAGE_CORES_MAX and
 * USAGE_BYTES_MAX */
void pod_usage_list_format(const struct pod_usage_list *list, char text[static POD_USAGE_TEXT_MAX]);
