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

enum { OLDER_MAX = 500 }; /* evictions that are older than an hour */

/* Return: false: malformed, or ahead of the clock, written by a wrong one */
static bool read_entry(const json_t *entry, struct rebalance_ledger_entry *ret) {
        const char *text = json_string_value(entry);
        size_t len = text ? strcspn(text, " ") : 0;

        if (!text || !timestamp_parse(text, len, &ret->at_unix_ms))
                return false;
        ret->workload = text + len + (text[len] == ' ');
        ret->workload_len = strcspn(ret->workload, " ");
        ret->node = ret->workload + ret->workload_len;
        ret->node += *ret->node == ' ';
        return ret->at_unix_ms <= clock_wall_unix_ms() + ANNOTATION_SKEW_MS;
}

static json_t *last_day(const json_t *evictions) {
        int64_t now_unix_ms = clock_wall_unix_ms();
        struct rebalance_ledger_entry entry;
        json_t *found = json_array(), *text;
        size_t i, count = json_array_size(evictions);

        json_array_foreach (json_iterable(evictions), i, text)
                if (read_entry(text, &entry) &&
                    (entry.at_unix_ms > now_unix_ms - MS_PER_HOUR ||
                     (entry.at_unix_ms > now_unix_ms - MS_PER_DAY && i + OLDER_MAX >= count)))
                        json_array_append(found, text);
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
        json_decref(TAKE_PTR(ledger->evictions));
}

int rebalance_ledger_read(struct rebalance_ledger *ledger, struct error *err) {
        _cleanup_(freep) char *path = kube_path(
                KUBE_COORDINATION, cluster_plimsoll_namespace(ledger->cluster), "leases", NAME, "");
        json_auto_t *evictions = NULL;

        rebalance_ledger_done(ledger);
        enum kube_outcome outcome = cluster_get(ledger->cluster, path, &ledger->lease, err);
        if (outcome == KUBE_OK)
                outcome = check_version(ledger->lease, err);
        if (outcome != KUBE_OK && outcome != KUBE_NOT_FOUND)
                return err->code;
        const char *text = json_string_at(ledger->lease, "metadata", "annotations", EVICTIONS,
                                          NULL);
        if (text)
                (void)!json_parse(text, strlen(text), &evictions, NULL);
        ledger->evictions = last_day(evictions);
        return 0;
}

struct rebalance_ledger_entry rebalance_ledger_at(const struct rebalance_ledger *ledger, size_t i) {
        struct rebalance_ledger_entry entry = {0};

        (void)!read_entry(json_array_get(ledger->evictions, i), &entry);
        return entry;
}

size_t rebalance_ledger_last(const struct rebalance_ledger *ledger, int64_t period_ms) {
        int64_t since_unix_ms = clock_wall_unix_ms() - period_ms;
        size_t found = 0;

        for (size_t i = 0; i < json_array_size(ledger->evictions); i++)
                found += rebalance_ledger_at(ledger, i).at_unix_ms > since_unix_ms;
        return found;
}

/* The Lease as it was read, with the evictions, and who evicts now. Owned by the caller. */
static json_t *render(const struct rebalance_ledger *ledger) {
        _cleanup_(freep) char *evictions = json_dumps(ledger->evictions, JSON_COMPACT);
        _cleanup_(freep) char *identity = lease_identity_new();
        json_auto_t *changes = json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s}}", "apiVersion",
                                         "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                                         "name", NAME, "namespace",
                                         cluster_plimsoll_namespace(ledger->cluster), "annotations",
                                         EVICTIONS, evictions, "spec", "holderIdentity", identity);
        json_t *lease = ledger->lease ? json_deep_copy(ledger->lease) : json_object();

        json_object_update_recursive(lease, changes);
        return lease;
}

int rebalance_ledger_add(struct rebalance_ledger *ledger, const char *workload, const char *node,
                         struct error *err) {
        _cleanup_(freep) char *path = kube_path(KUBE_COORDINATION,
                                                cluster_plimsoll_namespace(ledger->cluster),
                                                "leases", ledger->lease ? NAME : NULL, "");
        const struct kube_request request = {.method = ledger->lease ? "PUT" : "POST",
                                             .path = path};
        char now[TIMESTAMP_MAX];

        timestamp_format_ms(clock_wall_unix_ms(), now, sizeof(now));
        json_array_append_new(ledger->evictions, json_sprintf("%s %s %s", now, workload, node));
        json_auto_t *body = render(ledger);
        json_decref(TAKE_PTR(ledger->lease));
        enum kube_outcome outcome = cluster_send(ledger->cluster, &request, body, &ledger->lease,
                                                 err);
        if (outcome == KUBE_OK)
                outcome = check_version(ledger->lease, err);
        if (outcome == KUBE_CONFLICT)
                return error_set(err, EBUSY, "another process evicts pods");
        return outcome == KUBE_OK ? 0 : err->code;
}
