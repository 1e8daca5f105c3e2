/*
 * The policy in force. It comes from a file, which is read again when it changes. Without a file,
 * it comes from the cluster's DynamicSchedulerPolicy object named `default`, which is watched;
 * until there is one, the built-in policy is in force.
 *
 * Guarantee: a policy that cannot be loaded never replaces the policy in force. The error is logged
 * once and shown in the metrics, on /readyz?verbose and, by the writer
 * (policy_source_set_writer()), in the status of the object. If the object is deleted, its policy
 * stays in force.
 *
 * After the start, the program is not ready while it waits for the object:
 * policy_source_is_awaited().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/loop.h"
#include "policy/policy.h"

/* The object that is watched, and its path in the API. */
#define POLICY_OBJECT_NAME "default"
#define POLICY_OBJECT_PATH "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"

/** on_policy: a new policy is in force; @policy is owned by the callee */
typedef void policy_source_fn(void *userdata, struct policy *policy);

/** on_known: policy_source_is_awaited() has become false. It may be called several times */
typedef void policy_source_known_fn(void *userdata);

struct policy_source_options {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        const char *path; /* NULL: no file */
        bool is_strict;
        policy_source_fn *on_policy;
        policy_source_known_fn *on_known; /* may be NULL */
        void *userdata;
};

struct policy_source;

/**
 * policy_source_new() - load the first policy, then follow its source
 * @options:    strings are copied
 * @ret_policy: the policy of the file, or the built-in one; owned by the caller. on_policy gets
 *              later policies, after this function has returned
 * Return: 0; negative errno if there is a file that cannot be loaded
 */
_must_check_ int policy_source_new(const struct policy_source_options *options,
                                   struct policy_source **ret, struct policy **ret_policy,
                                   struct error *err);
void policy_source_free(struct policy_source *source);
DEFINE_FREEP(struct policy_source, policy_source_free);

/** policy_source_watch_object() - watch the object through @api; no-op with a file. Once */
void policy_source_watch_object(struct policy_source *source, struct kube_api *api);

/** policy_source_is_awaited() - it is unknown yet whether there is an object. False after 20 s, and
 * if the API server refuses the list (403, 404) */
bool policy_source_is_awaited(const struct policy_source *source);

/** policy_source_is_settled() - false while the built-in policy is in force only because the policy
 * of the cluster is unknown or cannot be loaded */
bool policy_source_is_settled(const struct policy_source *source);

/** policy_source_reload() - read the file now, even if unchanged (SIGHUP); no-op without a file */
void policy_source_reload(struct policy_source *source);

/**
 * policy_source_set_writer() - start or stop to write the status of the object
 * @fence: for the writes; copied. NULL: stop, and cancel a write in progress
 *
 * Only the leading controller writes it.
 */
void policy_source_set_writer(struct policy_source *source, const struct kube_fence *fence);
