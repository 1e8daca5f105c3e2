/*
 * The policy in force: from a file, which is read again when it changes; without a file from the
 * cluster's DynamicSchedulerPolicy object named `default`, which is watched, and the built-in
 * policy until there is one. A policy that cannot be loaded leaves the previous one in force; it is
 * logged once and shown in the metrics, on /readyz?verbose and, by the writer
 * (policy_source_set_writer()), in the object's status. The policy of an object that is deleted
 * stays in force.
 *
 * At the start the program is not ready while the object is awaited: policy_source_is_awaited().
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

/** on_policy: another policy is in force from now on; @policy is owned by the callee */
typedef void policy_source_fn(void *userdata, struct policy *policy);

/** on_status: @object's status has changed, and was written by us; @problem, @warning: as of struct
 * policy_status */
typedef void policy_source_status_fn(void *userdata, const json_t *object, const char *problem,
                                     const char *warning);

/** on_known: the object is not awaited any more: policy_source_is_awaited(). More than once */
typedef void policy_source_known_fn(void *userdata);

struct policy_source_options {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        const char *path; /* NULL: no file */
        bool is_strict;
        policy_source_fn *on_policy;
        policy_source_known_fn *on_known; /* NULL: nobody waits for it */
        void *userdata;
};

struct policy_source;

/**
 * policy_source_new() - load the first policy, then follow its source
 * @options:    strings are copied
 * @ret_policy: the file's or the built-in one, owned by the caller; on_policy gets later ones,
 *              not before this has returned
 * Return: 0; negative errno when there is a file and it cannot be loaded
 */
_must_check_ int policy_source_new(const struct policy_source_options *options,
                                   struct policy_source **ret, struct policy **ret_policy,
                                   struct error *err);
void policy_source_free(struct policy_source *source);
DEFINE_FREEP(struct policy_source, policy_source_free);

/** policy_source_watch_object() - watch the object through @api; no-op with a file. Once */
void policy_source_watch_object(struct policy_source *source, struct kube_api *api);

/** policy_source_is_awaited() - it is not known yet whether there is an object; no longer than for
 * 20 s, and not if the API server refuses the list (403, 404) */
bool policy_source_is_awaited(const struct policy_source *source);

/** policy_source_is_settled() - false while the built-in policy only stands in for that of the
 * cluster, which is not known yet, or cannot be loaded */
bool policy_source_is_settled(const struct policy_source *source);

/** policy_source_reload() - read the file now, changed or not (SIGHUP); no-op without a file */
void policy_source_reload(struct policy_source *source);

/**
 * policy_source_set_writer() - whether to keep the object's status up to date
 * @fence: for the writes; copied. NULL: stop writing, and cancel a write under way
 *
 * Only the leading controller should.
 */
void policy_source_set_writer(struct policy_source *source, const struct kube_fence *fence);

/** policy_source_on_status() - call @fn whenever the writer has changed the object's status */
void policy_source_on_status(struct policy_source *source, policy_source_status_fn *fn,
                             void *userdata);
