#include "extender/table/pod_sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "kube/list_page.h"
#include "kube/list_proto.h"
#include "policy/pods/pod_facts.h"

enum { LIST_MAX_BYTES = 16 << 20 };

struct pod_sample {
        struct loop *loop;
        struct kube_api *api;
        struct estimator *estimator;
        void (*on_change)(void *userdata);
        void *userdata;

        struct loop_timer timer;
        struct kube_call *call; /* of the list under way */
        char *node;             /* whose pods it is of */
        int64_t wait_ms;        /* from that list to the next */
        struct estimator_sample sum;
        bool is_failing;
};

static void sample_begin(void *userdata);

static void wait_ms(struct pod_sample *samples, int64_t ms) {
        loop_timer_arm(samples->loop, &samples->timer, loop_now_mono_ms(samples->loop) + ms,
                       sample_begin, samples);
}

static void sample_fail(struct pod_sample *samples, const struct error *err) {
        if (!samples->is_failing)
                log_warn(MSG("listing the pods of single nodes failed, retrying"),
                         STR("node", samples->node), ERR(err));
        samples->is_failing = true;
        wait_ms(samples, ESTIMATOR_SAMPLE_MS);
}

static void sample_on_pod(void *userdata, const char *text, size_t len) {
        struct pod_sample *samples = userdata;
        struct pod_facts facts;

        /* The selector lets no others through; a proxy may. */
        if (pod_facts_skim(&facts, text, len) && !facts.is_finished &&
            facts.node.len == strlen(samples->node) &&
            memcmp(facts.node.text, samples->node, facts.node.len) == 0)
                estimator_sample_pod(&samples->sum, &facts.request);
}

static int sample_parse(struct pod_sample *samples, const struct kube_answer *answer,
                        struct error *err) {
        _cleanup_(list_page_done) struct list_page page = {0};

        samples->sum = (struct estimator_sample){0};
        return list_parse(answer->body, answer->body_bytes, &kube_proto_pod, sample_on_pod, samples,
                          &page, err);
}

static void on_listed(void *userdata, const struct kube_answer *answer) {
        struct pod_sample *samples = userdata;
        struct error err = answer->err;

        samples->call = NULL;
        if (answer->outcome != KUBE_OK || sample_parse(samples, answer, &err) < 0) {
                sample_fail(samples, &err);
                return;
        }
        if (samples->is_failing)
                log_info(MSG("listing the pods of single nodes recovered"));
        samples->is_failing = false;
        estimator_sample_end(samples->estimator, samples->node, strlen(samples->node),
                             &samples->sum, loop_now_unix_ms(samples->loop));
        samples->on_change(samples->userdata);
        wait_ms(samples, samples->wait_ms);
}

static void sample_list(struct pod_sample *samples) {
        _cleanup_(freep) char *fields = xasprintf(
                "spec.nodeName=%s,status.phase!=Succeeded,status.phase!=Failed", samples->node);
        _cleanup_(freep) char *escaped = kube_escape(fields);
        _cleanup_(freep) char *path = xasprintf(KUBE_PODS "?fieldSelector=%s&resourceVersion=0",
                                                escaped);

        samples->call = kube_start(samples->api, &(struct kube_request){
                                                         .method = "GET",
                                                         .path = path,
                                                         .resource = "pods",
                                                         .accept = KUBE_ACCEPT_PROTO,
                                                         .max_body_bytes = LIST_MAX_BYTES,
                                                         .wants_gzip = true,
                                                         .on_done = on_listed,
                                                         .userdata = samples,
                                                 });
}

static void sample_begin(void *userdata) {
        struct pod_sample *samples = userdata;
        const struct estimator_node *node = estimator_sample_next(
                samples->estimator, loop_now_unix_ms(samples->loop), &samples->wait_ms);

        free(samples->node);
        samples->node = node ? xstrdup(estimator_node_name(node)) : NULL;
        /* What was not listed for long is another node's turn: its usage may be another now. */
        samples->on_change(samples->userdata);
        if (node)
                sample_list(samples);
        else
                wait_ms(samples, ESTIMATOR_SAMPLE_MS);
}

struct pod_sample *pod_sample_new(struct loop *loop, struct kube_api *api,
                                  struct estimator *estimator, void (*on_change)(void *userdata),
                                  void *userdata) {
        struct pod_sample *samples = xcalloc(1, sizeof(*samples));

        samples->loop = loop;
        samples->api = api;
        samples->estimator = estimator;
        samples->on_change = on_change;
        samples->userdata = userdata;
        wait_ms(samples, 0);
        return samples;
}

void pod_sample_free(struct pod_sample *samples) {
        if (!samples)
                return;
        loop_timer_disarm(samples->loop, &samples->timer);
        kube_cancel(samples->call);
        free(samples->node);
        free(samples);
}
