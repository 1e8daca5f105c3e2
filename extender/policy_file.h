/*
 * The policy's file, read again when it changes. A stat a second sees edits, renames and the
 * symlink swaps of a mounted ConfigMap alike. A file that cannot be loaded leaves the old policy
 * in force, is logged once, and shows in the metrics and on /readyz?verbose.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/metrics.h"
#include "net/daemon.h"
#include "net/loop.h"
#include "policy/policy.h"

/** policy_file_fn - another policy has been loaded; it is owned by the callee */
typedef void policy_file_fn(void *userdata, struct policy *policy);

struct policy_file_options {
        const char *path; /* borrowed; NULL: the built-in policy, which never changes */
        bool is_strict;
        struct metrics *metrics;
        struct health_check *check;
        policy_file_fn *on_change;
        void *userdata;
};

struct policy_file;

/**
 * policy_file_open() - the first reading, and from then on a watch once a second
 * @ret_policy: owned by the caller
 * Return: 0; negative errno as policy_load_file()
 */
_must_check_ int policy_file_open(struct loop *loop, const struct policy_file_options *options,
                                  struct policy_file **ret, struct policy **ret_policy,
                                  struct error *err);
void policy_file_close(struct policy_file *file);
DEFINE_FREEP(struct policy_file, policy_file_close);

/** policy_file_reload() - read it now, changed or not (SIGHUP) */
void policy_file_reload(struct policy_file *file);

/** policy_log_warnings() - what was odd about a policy, one line each */
void policy_log_warnings(const struct policy *policy);
