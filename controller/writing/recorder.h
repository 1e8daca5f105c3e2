/*
 * Writes Events to the API server, while this replica is the writer.
 *
 * - They are of core/v1, which `kubectl describe` and `kubectl get events` show with their count,
 *   and whose message may change. Those of events.k8s.io/v1 are stored in the same way, but their
 *   message may not change. An Event about an object without a namespace is in the namespace
 * "default".
 * - An object has one Event of each reason, with a name made of both. It is written by server-side
 *   apply, which creates and updates by one request that may be repeated. If it is written again
 *   within an hour, the lifetime of Events by default, its count grows.
 * - Ten Events a minute are written. Of further ones, the last of each reason is written when
 *   the minute is over, with the number of those before it in its message.
 * - One request is under way at a time. What does not fit into the queue behind it is dropped.
 */
#pragma once

#include "base/attributes.h"
#include "daemon/daemon.h"
#include "kube/kube_api.h"

enum event_reason {
        EVENT_NODE_OVERLOADED,
        EVENT_NODE_LOAD_NORMAL,
        EVENT_NODE_LOAD_STALE,
        EVENT_POLICY_INVALID,
        EVENT_POLICY_IN_FORCE,
        EVENT_POLICY_WARNING,
        EVENT_REASON_COUNT,
};

struct event {
        enum event_reason reason;
        const char *name, *uid; /* of the node, or of the policy object */
        const char *message;    /* up to 1,024 bytes */
};

struct recorder;

/** recorder_new() - does nothing until recorder_set_writer(); @daemon is borrowed */
struct recorder *recorder_new(const struct daemon *daemon);
/** recorder_free() - what has not been sent is lost; @recorder may be NULL */
void recorder_free(struct recorder *recorder);

/** recorder_set_writer() - whether this replica writes
 * @fence: for the requests; copied. NULL: stop, and drop what is queued or under way */
void recorder_set_writer(struct recorder *recorder, const struct kube_fence *fence);

/** recorder_write() - write an Event, soon; nothing happens in a replica that does not write
 * @event: copied */
void recorder_write(struct recorder *recorder, const struct event *event);
