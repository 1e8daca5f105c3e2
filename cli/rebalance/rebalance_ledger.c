#include "cli/rebalance/rebalance_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "kube/lease.h"
#include "policy/annotation.h"

#define NAME "plimsoll-rebalance"
#define EVICTIONS "plimsoll.io/evictions"

static bool read_time(const json_t *time, int64_t *ret_unix_ms) {
        const char *text = json_string_value(time);

        return text && timestamp_parse(text, strlen(text), ret_unix_ms);
}

/* A malformed time does not count, nor one ahead of the clock, which a wrong clock wrote. */
static json_t *last_hour(const json_t *times) {
        int64_t now_unix_ms = clock_wall_unix_ms(), at_unix_ms = 0;
        json_t *found = json_array(), *time;
        size_t i;

        json_array_foreach (json_iterable(times), i, time)
                if (read_time(time, &at_unix_ms) && at_unix_ms > now_unix_ms - MS_PER_HOUR &&
                    at_unix_ms <= now_unix_ms + ANNOTATION_SKEW_MS)
                        json_array_append(found, time);
        return found;
}

/* A write must name the version. */
static enum kube_outcome check_version(const json_t *lease, struct error *err) {
        if (json_string_at(lease, "metadata", "resourceVersion", NULL))
                return KUBE_OK;
        (void)error_set(err, EBADMSG, "Lease %s: expected metadata.resourceVersion", NAME);
        return KUBE_BAD_ANSWER;
}

void rebalance_ledger_done(struct rebalance_ledger *ledger) {
        json_decref(TAKE_PTR(ledger->lease));
        json_decref(TAKE_PTR(ledger->times));
}

int rebalance_ledger_read(struct rebalance_ledger *ledger, struct error *err) {
        _cleanup_(freep) char *path = kube_path(KUBE_COORDINATION, ledger->namespace, "leases",
                                                NAME, "");
        json_auto_t *times = NULL;

        rebalance_ledger_done(ledger);
        enum kube_outcome outcome = cluster_get(ledger->cluster, path, &ledger->lease, err);
        if (outcome == KUBE_OK)
                outcome = check_version(ledger->lease, err);
        if (outcome != KUBE_OK && outcome != KUBE_NOT_FOUND)
                return err->code;
        const char *text = json_string_at(ledger->lease, "metadata", "annotations", EVICTIONS,
                                          NULL);
        if (text)
                (void)!json_parse(text, strlen(text), &times, NULL);
        ledger->times = last_hour(times);
        return 0;
}

int64_t rebalance_ledger_last_unix_ms(const struct rebalance_ledger *ledger) {
        size_t count = json_array_size(ledger->times);
        int64_t at_unix_ms = 0;

        if (count > 0)
                (void)!read_time(json_array_get(ledger->times, count - 1), &at_unix_ms);
        return at_unix_ms;
}

/* The Lease as it was read, with the evictions, and who evicts now. To be freed. */
static char *render(const struct rebalance_ledger *ledger) {
        _cleanup_(freep) char *times = json_dumps(ledger->times, JSON_COMPACT);
        _cleanup_(freep) char *identity = lease_identity_new();
        json_auto_t *changes = json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s}}", "apiVersion",
                                         "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                                         "name", NAME, "namespace", ledger->namespace,
                                         "annotations", EVICTIONS, times, "spec", "holderIdentity",
                                         identity);
        json_auto_t *lease = ledger->lease ? json_deep_copy(ledger->lease) : json_object();

        json_object_update_recursive(lease, changes);
        return json_dumps(lease, JSON_COMPACT);
}

int rebalance_ledger_add(struct rebalance_ledger *ledger, struct error *err) {
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};
        _cleanup_(freep) char *path = kube_path(KUBE_COORDINATION, ledger->namespace, "leases",
                                                ledger->lease ? NAME : NULL, "");
        char now[TIMESTAMP_MAX];

        timestamp_format_ms(clock_wall_unix_ms(), now, sizeof(now));
        json_array_append_new(ledger->times, json_string(now));
        _cleanup_(freep) char *body = render(ledger);
        cluster_call(ledger->cluster,
                     &(struct kube_request){.method = ledger->lease ? "PUT" : "POST",
                                            .path = path,
                                            .body = body,
                                            .body_bytes = strlen(body)},
                     &answer);
        json_decref(TAKE_PTR(ledger->lease));
        if (answer.outcome == KUBE_OK) {
                (void)!json_parse(answer.body, answer.body_bytes, &ledger->lease, NULL);
                answer.outcome = check_version(ledger->lease, &answer.err);
        }
        if (answer.outcome == KUBE_CONFLICT)
                return error_set(err, EBUSY, "another process evicts pods");
        return answer.outcome == KUBE_OK ? 0 : error_set(err, EIO, "%s: %s", path, answer.err.msg);
}
