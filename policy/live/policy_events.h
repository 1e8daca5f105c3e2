/*
 * Writes Events about the policy object to the API server while this replica is the writer.
 *
 * - Events are of core/v1, so that `kubectl describe` and `kubectl get events` show their count,
 *   and their message may change. (Those of events.k8s.io/v1 are stored in the same way, but
 *   their message may not change.) The policy has no namespace, so they are in "default".
 * - There is one Event for each reason. Server-side apply creates or updates it in one request,
 *   which may be repeated. The count grows if the Event is written again within an hour, the
 *   default lifetime of Events.
 * - One request is in flight at a time. The latest Event waits for its answer; earlier ones are
 *   dropped, so a policy that changes all the time costs no more than the API server can take.
 */
#pragma once

#include "base/attributes.h"
#include "daemon/daemon.h"
#include "kube/kube_api.h"

enum policy_event {
        POLICY_EVENT_INVALID,
        POLICY_EVENT_IN_FORCE,
        POLICY_EVENT_WARNING,
        POLICY_EVENT_COUNT,
};

struct policy_events;

/** policy_events_new() - writes nothing until policy_events_set_writer(); @daemon is borrowed */
struct policy_events *policy_events_new(const struct daemon *daemon);
/** policy_events_free() - drops Events that have not been sent; @events may be NULL */
void policy_events_free(struct policy_events *events);

/** policy_events_set_writer() - begin or stop to write
 * @fence: for the requests; copied. NULL: stop, and drop what waits or is in flight */
void policy_events_set_writer(struct policy_events *events, const struct kube_fence *fence);

/** policy_events_write() - write an Event; does nothing unless this replica writes
 * @uid:     of the policy object
 * @message: up to 1,024 bytes */
void policy_events_write(struct policy_events *events, enum policy_event event, const char *uid,
                         const char *message);
