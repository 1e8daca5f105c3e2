/*
 * Keeps what pods of workloads use in ConfigMaps (policy/usage/workload_usage.h), where extenders
 * and people read it, and the next leader.
 *
 *     leading begins --> read all ConfigMaps --> every `interval_ms`: write those that have moved
 *
 * A ConfigMap has *moved* if a workload is new or gone in it, or if its mean differs by 10% from
 * what was written; or after STORE_KEPT_MS. Each has a share of the workloads, by a hash of their
 * names, so a workload that moves costs one write of at most 512 KiB. Workloads that use most come
 * first; those that do not fit are left out.
 *
 * All requests have the leader's fence. If ConfigMaps cannot be read, nothing is written, so that
 * nothing that was learned is lost, and reading is tried again. RBAC: configmaps in the namespace:
 * create; get and patch for the names.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "controller/pods/workload_meter.h"
#include "daemon/daemon.h"
#include "kube/kube_api.h"

enum { STORE_KEPT_MS = 600000 };

struct usage_store;

struct usage_store_options {
        const struct daemon *daemon; /* has an API client */
        const char *namespace;       /* borrowed */
        struct workload_meter *meter;
        int64_t interval_ms;
};

struct usage_store *usage_store_new(const struct usage_store_options *options);
void usage_store_free(struct usage_store *store);

/** usage_store_set_writer() - the leader's fence; NULL: this replica does not lead */
void usage_store_set_writer(struct usage_store *store, const struct kube_fence *fence);
/** usage_store_tick() - call it every second or so, while workloads are measured */
void usage_store_tick(struct usage_store *store);
/** usage_store_trouble() - why ConfigMaps cannot be read or written; "": they can */
const char *usage_store_trouble(const struct usage_store *store);
