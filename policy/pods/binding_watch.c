#include "policy/pods/binding_watch.h"

#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "policy/pods/pod_watch.h"

enum { SEEN_MAX = 200000 }; /* pods; at 100 bindings a second, half an hour of them */

/* A pod that was counted. */
struct seen {
        STAILQ_ENTRY(seen) entry;
        int64_t at_unix_ms;
        uint64_t id;
};

struct binding_watch {
        struct loop *loop;
        struct pod_watch *pods;
        struct metrics_series *bindings;
        int64_t recent_ms;
        binding_fn *fn;
        void *userdata;
        struct strmap by_id;
        STAILQ_HEAD(, seen) seen; /* the oldest first */
};

static void forget_oldest(struct binding_watch *watch) {
        struct seen *seen = STAILQ_FIRST(&watch->seen);

        STAILQ_REMOVE_HEAD(&watch->seen, entry);
        (void)strmap_remove(&watch->by_id, (const char *)&seen->id, sizeof(seen->id));
        free(seen);
}

/*
 * A pod is never bound later than it is counted. So when it is forgotten, its binding is too old to
 * be counted again.
 */
static void forget_old(struct binding_watch *watch, int64_t now_unix_ms) {
        int64_t limit_unix_ms = now_unix_ms - watch->recent_ms - POD_WATCH_CLOCK_SKEW_MS;

        /* The newest one, which was just counted, always stays. */
        while (STAILQ_FIRST(&watch->seen)->at_unix_ms < limit_unix_ms ||
               watch->by_id.len > SEEN_MAX)
                forget_oldest(watch);
}

static void remember_binding(struct binding_watch *watch, uint64_t id, int64_t now_unix_ms) {
        struct seen *seen = xmalloc(sizeof(*seen));

        seen->at_unix_ms = now_unix_ms;
        seen->id = id;
        STAILQ_INSERT_TAIL(&watch->seen, seen, entry);
        (void)strmap_put(&watch->by_id, (const char *)&seen->id, sizeof(seen->id), seen);
}

static void on_pending_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct binding_watch *watch = userdata;
        int64_t now_unix_ms = loop_now_unix_ms(watch->loop);
        char node[POD_FACTS_NAME_MAX + 1] = "";

        (void)is_appeared;
        /* No scheduler chose their nodes by load, and they would make each new node hot. */
        if (facts->is_daemonset || facts->is_mirror || facts->node.len > POD_FACTS_NAME_MAX)
                return;
        if (now_unix_ms - facts->bound_unix_ms > watch->recent_ms ||
            strmap_get(&watch->by_id, (const char *)&facts->id, sizeof(facts->id)))
                return;
        memcpy(node, facts->node.text, facts->node.len);
        remember_binding(watch, facts->id, now_unix_ms);
        forget_old(watch, now_unix_ms);
        metrics_inc(watch->bindings);
        watch->fn(watch->userdata, node, facts->bound_unix_ms);
}

struct binding_watch *binding_watch_new(struct loop *loop, struct kube_api *api,
                                        struct metrics *metrics, int64_t recent_ms, binding_fn *fn,
                                        void *userdata) {
        /* A pod that leaves this watch has usually started, so `gone` is ignored. */
        static const struct pod_watch_events events = {.pod = on_pending_pod};
        struct binding_watch *watch = xcalloc(1, sizeof(*watch));

        STAILQ_INIT(&watch->seen);
        watch->loop = loop;
        watch->recent_ms = recent_ms;
        watch->fn = fn;
        watch->userdata = userdata;
        watch->bindings = metrics_counter(metrics, "plimsoll_bindings_total",
                                          "Pod bindings observed.", NULL);
        watch->pods = pod_watch_new(loop, api, metrics, POD_WATCH_PENDING, &events, watch);
        return watch;
}

void binding_watch_free(struct binding_watch *watch) {
        if (!watch)
                return;
        pod_watch_free(watch->pods);
        while (!STAILQ_EMPTY(&watch->seen))
                forget_oldest(watch);
        strmap_done(&watch->by_id);
        free(watch);
}

bool binding_watch_is_live(const struct binding_watch *watch) {
        return pod_watch_is_live(watch->pods);
}

const struct reflector *binding_watch_reflector(const struct binding_watch *watch) {
        return pod_watch_reflector(watch->pods);
}
