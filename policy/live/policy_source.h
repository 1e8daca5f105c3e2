/*
 * The policy in force: from a file that is read again when it changes, or else from the cluster's
 * DynamicSchedulerPolicy object named `default`, which is watched; until there is one, the built-in
 * policy. Whatever is not usable leaves the policy before in force, is logged once, and shows in
 * the metrics, on /readyz?verbose, and, by the program that says so (policy_source_set_writer()),
 * in the object's status. Deleting the object keeps the last policy too.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/loop.h"
#include "policy/policy.h"

/* The one object that is looked at, and its place in the API. */
#define POLICY_OBJECT_NAME "default"
#define POLICY_OBJECT_PATH "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"

/** on_policy: another policy is in force from now on; @policy is owned by the callee */
typedef void policy_source_fn(void *userdata, struct policy *policy);

struct policy_source_options {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        const char *path; /* NULL: no file */
        bool is_strict;
        policy_source_fn *on_policy;
        void *userdata;
};

struct policy_source;

/**
 * policy_source_new() - take the first policy, and follow its source from then on
 * @options:    strings are copied
 * @ret_policy: the file's or the built-in one, owned by the caller; on_policy tells of later ones,
 *              not before this has returned
 * Return: 0; negative errno when there is a file and it cannot be loaded
 */
_must_check_ int policy_source_new(const struct policy_source_options *options,
                                   struct policy_source **ret, struct policy **ret_policy,
                                   struct error *err);
void policy_source_free(struct policy_source *source);
DEFINE_FREEP(struct policy_source, policy_source_free);

/** policy_source_watch_object() - from now on, by @api; nothing is done where there is a file */
void policy_source_watch_object(struct policy_source *source, struct kube_api *api);

/** policy_source_reload() - read the file now, changed or not (SIGHUP); nothing without one */
void policy_source_reload(struct policy_source *source);

/**
 * policy_source_set_writer() - whether to keep the object's status true from now on
 * @fence: of what is written; copied. NULL: nothing is written, and what was under way is cancelled
 *
 * One program at a time should: the controller that leads.
 */
void policy_source_set_writer(struct policy_source *source, const struct kube_fence *fence);
