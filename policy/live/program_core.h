/*
 * What both programs are built on: the loop, metrics, health, signals, the policy in force, and the
 * client of the API server.
 */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kube_access.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/daemon.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "policy/live/policy_source.h"
#include "program/program_options.h"

/* Zero-initialised; all members are owned. */
struct program_core {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        struct shared_page *metrics_page;
        struct daemon_signals *signals;      /* set by the program, when it is ready for them */
        struct policy_source *policy_source; /* NULL until program_core_follow_policy() */
        struct kube_access *kube_access;     /* NULL until program_core_connect(), like the next */
        struct http_client *kube_client;
        struct kube_api *api;
};

/** program_core_init() - the loop, metrics with their page, and health, with a heartbeat;
 * @program: its name */
void program_core_init(struct program_core *core, const char *program);

/**
 * program_core_follow_policy() - load the policy that @options name, and follow its source
 * @ret: the first policy, owned by the caller; later ones are passed to @on_policy
 * Return: 0; negative errno when there is a policy file and it cannot be loaded
 */
_must_check_ int program_core_follow_policy(struct program_core *core,
                                            const struct program_options *options,
                                            policy_source_fn *on_policy, void *userdata,
                                            struct policy **ret, struct error *err);

/**
 * program_core_connect() - read the configuration of the API server and create its client
 * Return: 0; negative errno, see kube_access_load(). Nothing is sent.
 */
_must_check_ int program_core_connect(struct program_core *core, const char *program,
                                      const struct kube_access_options *options, struct error *err);

/** program_core_done() - after everything that uses it has been freed */
void program_core_done(struct program_core *core);
