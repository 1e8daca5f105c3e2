/*
 * Writes Events to the API server while this replica is the writer.
 *
 * - Events are of core/v1, so that `kubectl describe` and `kubectl get events` show their count,
 *   and their message may change. (Those of events.k8s.io/v1 are stored in the same way, but
 *   their message may not change.) An Event about an object without a namespace is in "default".
 * - An object has one Event for each reason, with a name made of both. Server-side apply creates
 *   or updates it in one request, which may be repeated. The count grows if the Event is written
 *   again within an hour, the default lifetime of Events.
 * - Ten Events are written per minute. Of those beyond, the last one of each reason is written
 *   when the minute is over, with the number of the others in its message.
 * - One request is in flight at a time. Events that do not fit into the queue are dropped.
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
        const char *name, *uid; /* the node, or the policy object */
        const char *message;    /* up to 1,024 bytes */
};

struct recorder;

/** recorder_new() - writes nothing until recorder_set_writer(); @daemon is borrowed */
struct recorder *recorder_new(const struct daemon *daemon);
/** recorder_free() - drops Events that have not been sent; @recorder may be NULL */
void recorder_free(struct recorder *recorder);

/** recorder_set_writer() - begin or stop to write
 * @fence: for the requests; copied. NULL: stop, and drop what is queued or in flight */
void recorder_set_writer(struct recorder *recorder, const struct kube_fence *fence);

/** recorder_write() - queue an Event; does nothing unless this replica writes
 * @event: copied */
void recorder_write(struct recorder *recorder, const struct event *event);
