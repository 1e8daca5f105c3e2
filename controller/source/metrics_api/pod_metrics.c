#include "controller/source/metrics_api/pod_metrics.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "controller/source/metrics_api/metrics_api_list.h"
#include "kube/kube_path.h"

enum { MAX_BODY_BYTES = 128 << 20 };

#define LIST_PATH KUBE_METRICS "/pods"
#define RESOURCE "pods.metrics.k8s.io"

struct pod_metrics {
        struct loop *loop;
        struct kube_api *api;
        struct pod_set *set;
        pod_metrics_is_needed_fn *is_needed;
        void *userdata;
        struct loop_timer timer;
        struct kube_call *call;
        struct strmap unread; /* while a list is read */
        bool has_failed;
};

static void on_pod_metrics(void *userdata, const char *name, const struct metrics_api_item *item) {
        struct pod_metrics *metrics = userdata;
        struct measured_pod *pod = strmap_get(&metrics->unread, name, strlen(name));

        if (!pod || !item || !item->has_cpu || !item->has_memory)
                return;
        const struct pod_sample sample = {
                .load = {{fmin(item->cpu_cores, USAGE_CORES_MAX),
                          fmin(item->memory_bytes, USAGE_BYTES_MAX)}},
                .window_s = (double)item->window_ms / 1000,
                .at_unix_ms = item->at_unix_ms,
        };
        pod_set_take(metrics->set, pod, &sample,
                     &(struct kubelet_clocks){.now_mono_ms = loop_now_mono_ms(metrics->loop),
                                              .now_unix_ms = loop_now_unix_ms(metrics->loop)});
}

static void pod_metrics_failed(struct pod_metrics *metrics, enum kube_outcome outcome,
                               const struct error *err) {
        if (!metrics->has_failed)
                log_warn(MSG("cannot list pod metrics"), STR("path", LIST_PATH),
                         STR("reason", kube_outcome_name(outcome)), STR("error", err->msg),
                         STR("see", outcome == KUBE_FORBIDDEN
                                            ? "the ClusterRole needs apiGroups [metrics.k8s.io], "
                                              "resources [pods], verbs [list]"
                                            : "kubectl get apiservice v1beta1.metrics.k8s.io"));
        metrics->has_failed = true;
}

static void begin_pod_list(void *userdata);

static void arm_next_list(struct pod_metrics *metrics) {
        loop_timer_arm(metrics->loop, &metrics->timer,
                       loop_now_mono_ms(metrics->loop) + metrics->set->read_ms, begin_pod_list,
                       metrics);
}

static void on_pod_list(void *userdata, const struct kube_answer *answer) {
        struct pod_metrics *metrics = userdata;
        struct error err = ERROR_NULL;

        metrics->call = NULL;
        arm_next_list(metrics);
        if (answer->outcome != KUBE_OK) {
                pod_metrics_failed(metrics, answer->outcome, &answer->err);
                return;
        }
        pod_set_unread(metrics->set, loop_now_mono_ms(metrics->loop), &metrics->unread);
        int r = metrics_api_list_parse(answer->body, answer->body_bytes, on_pod_metrics, metrics,
                                       &err);
        strmap_done(&metrics->unread);
        if (r < 0)
                pod_metrics_failed(metrics, KUBE_BAD_ANSWER, &err);
        else if (metrics->has_failed)
                log_info(MSG("listing pod metrics succeeds again"), STR("path", LIST_PATH));
        metrics->has_failed &= r < 0;
}

static void begin_pod_list(void *userdata) {
        struct pod_metrics *metrics = userdata;

        if (!metrics->is_needed(metrics->userdata)) {
                arm_next_list(metrics);
                return;
        }
        metrics->call = kube_start(metrics->api, &(struct kube_request){
                                                         .method = "GET",
                                                         .path = LIST_PATH,
                                                         .resource = RESOURCE,
                                                         .timeout_ms = metrics->set->read_ms,
                                                         .max_body_bytes = MAX_BODY_BYTES,
                                                         .wants_gzip = true,
                                                         .on_done = on_pod_list,
                                                         .userdata = metrics,
                                                 });
}

struct pod_metrics *pod_metrics_new(struct loop *loop, struct kube_api *api, struct pod_set *set,
                                    pod_metrics_is_needed_fn *is_needed, void *userdata) {
        struct pod_metrics *metrics = xcalloc(1, sizeof(*metrics));

        *metrics = (struct pod_metrics){
                .loop = loop, .api = api, .set = set, .is_needed = is_needed, .userdata = userdata};
        arm_next_list(metrics);
        return metrics;
}

void pod_metrics_free(struct pod_metrics *metrics) {
        if (!metrics)
                return;
        kube_cancel(metrics->call);
        loop_timer_disarm(metrics->loop, &metrics->timer);
        free(metrics);
}
