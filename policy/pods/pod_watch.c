#include "policy/pods/pod_watch.h"

#include "base/mem.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "net/loop.h"

enum {
        PAGE_LIMIT = 250, /* whole pods are 5 to 20 kB */
};

struct pod_watch {
        struct loop *loop;
        struct reflector *reflector;
        const struct pod_watch_events *events;
        void *userdata;
        struct metrics_series *unreadable;
};

static int64_t bound_at_unix_ms(int64_t condition_unix_ms, bool is_appeared, int64_t now_unix_ms) {
        bool is_unknown = condition_unix_ms == 0;

        if (is_unknown || condition_unix_ms > now_unix_ms ||
            (is_appeared && now_unix_ms - condition_unix_ms <= POD_WATCH_CLOCK_SKEW_MS))
                return now_unix_ms;
        return condition_unix_ms;
}

static void on_pod_text(void *userdata, enum reflector_event event, const char *text, size_t len) {
        struct pod_watch *watch = userdata;
        bool is_appeared = event == REFLECTOR_APPEARED;
        struct pod_facts facts;

        if (!pod_facts_skim(&facts, text, len) || facts.id == 0) {
                metrics_inc(watch->unreadable);
                return;
        }
        /* Unbound and finished pods are not selected, but a proxy may ignore the selector. */
        if (event == REFLECTOR_DELETED || facts.node.len == 0 || facts.is_finished) {
                if (watch->events->gone)
                        watch->events->gone(watch->userdata, &facts);
                return;
        }
        facts.bound_unix_ms = bound_at_unix_ms(facts.bound_unix_ms, is_appeared,
                                               loop_now_unix_ms(watch->loop));
        watch->events->pod(watch->userdata, &facts, is_appeared);
}

static void on_list_begin(void *userdata) {
        struct pod_watch *watch = userdata;

        if (watch->events->list_begins)
                watch->events->list_begins(watch->userdata);
}

static void on_pods_synced(void *userdata, size_t count) {
        struct pod_watch *watch = userdata;

        (void)count;
        if (watch->events->list_ended)
                watch->events->list_ended(watch->userdata);
}

struct pod_watch *pod_watch_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                enum pod_watch_scope scope, const struct pod_watch_events *events,
                                void *userdata) {
        static const char unfinished[] =
                "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
        static const char *const selectors[] = {
                [POD_WATCH_ALL] = unfinished,
                [POD_WATCH_PENDING] = "spec.nodeName!=,status.phase=Pending",
        };
        struct pod_watch *watch = xcalloc(1, sizeof(*watch));

        watch->loop = loop;
        watch->events = events;
        watch->userdata = userdata;
        watch->unreadable = metrics_counter(
                metrics, "plimsoll_pods_unreadable_total",
                "Pods from list and watch that were ignored, since they cannot be read.", NULL);
        watch->reflector = reflector_new(
                loop, api, metrics,
                &(struct reflector_spec){
                        .name = "pods",
                        .path = KUBE_PODS,
                        .field_selector = selectors[scope],
                        .list_field_selector = scope == POD_WATCH_PENDING ? unfinished : NULL,
                        .proto = &kube_proto_pod,
                        .page_limit = PAGE_LIMIT,
                        .on_text = on_pod_text,
                        .on_list_begin = on_list_begin,
                        .on_synced = on_pods_synced,
                        .userdata = watch,
                });
        return watch;
}

void pod_watch_free(struct pod_watch *watch) {
        if (!watch)
                return;
        reflector_free(watch->reflector);
        free(watch);
}

bool pod_watch_is_live(const struct pod_watch *watch) {
        return reflector_is_synced(watch->reflector) &&
               reflector_trouble(watch->reflector)[0] == '\0';
}

const struct reflector *pod_watch_reflector(const struct pod_watch *watch) {
        return watch->reflector;
}
