#include "kube/binding_watch.h"

#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "kube/kube_proto.h"

enum {
        PAGE_LIMIT = 200,
        /* The API server's clock and ours may differ by this. */
        CLOCK_SKEW_MS = 300000,
        SEEN_MAX = 200000, /* uids; at 100 bindings a second, half an hour of them */
        UID_MAX_BYTES = 128,
};

/* A pod that has been counted; in the order of counting. */
struct seen {
        STAILQ_ENTRY(seen) entry;
        int64_t at_unix_ms;
        char uid[];
};

struct binding_watch {
        struct loop *loop;
        struct kube_api *api;
        struct metrics *metrics;
        struct reflector *reflector; /* NULL while paused */
        struct metric *bindings;
        int64_t recent_ms;
        binding_fn *fn;
        void *userdata;
        struct strmap by_uid;
        STAILQ_HEAD(, seen) seen; /* the oldest first */
};

static void forget_oldest(struct binding_watch *watch) {
        struct seen *seen = STAILQ_FIRST(&watch->seen);

        STAILQ_REMOVE_HEAD(&watch->seen, entry);
        (void)strmap_remove(&watch->by_uid, seen->uid, strlen(seen->uid));
        free(seen);
}

/*
 * A pod counts for a time that is never later than the time it was counted. When it is forgotten it
 * is therefore too old to be counted again.
 */
static void forget_old(struct binding_watch *watch, int64_t now_unix_ms) {
        int64_t limit_unix_ms = now_unix_ms - watch->recent_ms - CLOCK_SKEW_MS;

        /* The newest, which has just been counted, stays. */
        while (STAILQ_FIRST(&watch->seen)->at_unix_ms < limit_unix_ms ||
               watch->by_uid.len > SEEN_MAX)
                forget_oldest(watch);
}

static void remember(struct binding_watch *watch, const char *uid, int64_t now_unix_ms) {
        size_t uid_bytes = strlen(uid) + 1;
        struct seen *seen = xmalloc(sizeof(*seen) + uid_bytes);

        seen->at_unix_ms = now_unix_ms;
        memcpy(seen->uid, uid, uid_bytes);
        STAILQ_INSERT_TAIL(&watch->seen, seen, entry);
        (void)strmap_put(&watch->by_uid, uid, uid_bytes - 1, seen);
}

static bool parse_time(const char *text, int64_t *ret_unix_ms) {
        return text && timestamp_parse(text, strlen(text), ret_unix_ms);
}

/*
 * The API server sets PodScheduled together with spec.nodeName. A pod without the condition was
 * created with its node already chosen: its creation was its binding.
 */
static int64_t bound_at_unix_ms(const json_t *pod, int64_t now_unix_ms) {
        const json_t *conditions = json_at(pod, "status", "conditions", NULL);
        const char *created = json_string_at(pod, "metadata", "creationTimestamp", NULL);
        int64_t at_unix_ms = now_unix_ms;
        bool is_found = false;

        for (size_t i = 0; !is_found && i < json_array_size(conditions); i++) {
                const json_t *condition = json_array_get(conditions, i);
                const char *type = json_string_at(condition, "type", NULL);
                const char *status = json_string_at(condition, "status", NULL);
                if (type && status && strcmp(type, "PodScheduled") == 0 &&
                    strcmp(status, "True") == 0)
                        is_found = parse_time(json_string_at(condition, "lastTransitionTime", NULL),
                                              &at_unix_ms);
        }
        if (!is_found)
                (void)parse_time(created, &at_unix_ms);
        return at_unix_ms < now_unix_ms ? at_unix_ms : now_unix_ms;
}

/* Mirror pods and pods of DaemonSets: no scheduler chose the node by its load, and a new node would
 * be hot from the start. */
static bool is_node_bound_by_design(const json_t *pod) {
        const json_t *owners = json_at(pod, "metadata", "ownerReferences", NULL);

        if (json_at(pod, "metadata", "annotations", "kubernetes.io/config.mirror", NULL))
                return true;
        for (size_t i = 0; i < json_array_size(owners); i++) {
                const char *kind = json_string_at(json_array_get(owners, i), "kind", NULL);
                if (kind && strcmp(kind, "DaemonSet") == 0)
                        return true;
        }
        return false;
}

static void on_pod(void *userdata, enum reflector_event event, const json_t *pod) {
        struct binding_watch *watch = userdata;
        const char *node = json_string_at(pod, "spec", "nodeName", NULL);
        const char *uid = json_string_at(pod, "metadata", "uid", NULL);
        int64_t now_unix_ms = loop_now_unix_ms(watch->loop);

        /* Mostly a pod that is running by now. */
        if (event == REFLECTOR_DELETED)
                return;
        if (!node || !*node || !uid || !*uid || strnlen(uid, UID_MAX_BYTES) == UID_MAX_BYTES)
                return;
        if (is_node_bound_by_design(pod))
                return;
        int64_t at_unix_ms = bound_at_unix_ms(pod, now_unix_ms);
        if (event == REFLECTOR_APPEARED && now_unix_ms - at_unix_ms <= CLOCK_SKEW_MS)
                at_unix_ms = now_unix_ms;
        if (now_unix_ms - at_unix_ms > watch->recent_ms)
                return;
        if (strmap_get(&watch->by_uid, uid, strlen(uid)))
                return;
        remember(watch, uid, now_unix_ms);
        forget_old(watch, now_unix_ms);
        metrics_inc(watch->bindings);
        watch->fn(watch->userdata, node, at_unix_ms);
}

void binding_watch_pause(struct binding_watch *watch) {
        reflector_free(TAKE_PTR(watch->reflector));
}

void binding_watch_resume(struct binding_watch *watch) {
        if (watch->reflector)
                return;
        watch->reflector = reflector_new(
                watch->loop, watch->api, watch->metrics,
                &(struct reflector_spec){
                        .name = "pods",
                        .path = "/api/v1/pods",
                        /* Each binding begins to match once; running pods stay out of the watch. */
                        .field_selector = "spec.nodeName!=,status.phase=Pending",
                        .initial_field_selector =
                                "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
                        .proto = &kube_proto_pod,
                        .page_limit = PAGE_LIMIT,
                        .on_event = on_pod,
                        .userdata = watch,
                });
}

struct binding_watch *binding_watch_new(struct loop *loop, struct kube_api *api,
                                        struct metrics *metrics, int64_t recent_ms, binding_fn *fn,
                                        void *userdata) {
        struct binding_watch *watch = xcalloc(1, sizeof(*watch));

        STAILQ_INIT(&watch->seen);
        watch->loop = loop;
        watch->api = api;
        watch->metrics = metrics;
        watch->recent_ms = recent_ms;
        watch->fn = fn;
        watch->userdata = userdata;
        watch->bindings = metrics_counter(metrics, "plimsoll_bindings_total",
                                          "Pod bindings observed.", NULL);
        binding_watch_resume(watch);
        return watch;
}

void binding_watch_free(struct binding_watch *watch) {
        if (!watch)
                return;
        reflector_free(watch->reflector);
        while (!STAILQ_EMPTY(&watch->seen))
                forget_oldest(watch);
        strmap_done(&watch->by_uid);
        free(watch);
}

bool binding_watch_is_live(const struct binding_watch *watch) {
        return watch->reflector && reflector_is_synced(watch->reflector) &&
               reflector_trouble(watch->reflector)[0] == '\0';
}

const struct reflector *binding_watch_reflector(const struct binding_watch *watch) {
        return watch->reflector;
}
