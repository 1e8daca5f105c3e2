#include "controller/controller_loop.h"
#include "controller/source/metrics_api/metrics_server.h"
#include "controller/source/metrics_api/pod_metrics.h"
#include "controller/source/scrape/scrape_kinds.h"

enum {
        MAX_READ_MS = 60000,
        READS_PER_SCRAPE = 4, /* a pod is read less often than its node */
        FAILING_ONE_IN = 10,  /* if more kubelets fail, metrics-server is asked */
};

/* The source `pods` */

static void on_pods_read(const struct source_sink *sink, struct node *node,
                         const struct source_reading *reading) {
        struct controller *c = sink->userdata;
        struct controller_node *n = node->userdata;

        (void)reading;
        outage_log_recovered(&c->pods.outages, &n->is_pods_failing, controller_now_mono(c),
                             node->name);
}

static void on_pods_failure(const struct source_sink *sink, struct node *node,
                            const struct source_failure *failure) {
        struct controller *c = sink->userdata;
        struct controller_node *n = node->userdata;

        outage_log_failed(&c->pods.outages, &n->is_pods_failing, controller_now_mono(c), node->name,
                          failure->url, failure->reason, failure->detail);
}

static bool is_pods_read_needed(const struct source_sink *sink, const struct node *node) {
        const struct controller *c = sink->userdata;
        const struct pod_set *set = c->pods.set;
        const struct pod_node *pods = pod_set_node(set, node->name);

        return writer_is_active(c->writer) && pods &&
               pod_set_is_worth_a_page(set, pods, controller_now_mono(c));
}

/* A kubelet in the list of sources has the credentials for all of them. */
static struct source_spec pods_spec(const struct controller *c) {
        struct source_spec spec = *c->options.kubelet;

        for (size_t i = 0; i < c->options.sources->count; i++)
                if (c->options.sources->specs[i].kind == &kubelet_kind)
                        spec = c->options.sources->specs[i];
        spec.kind = &pods_kind;
        spec.name = pods_kind.name;
        spec.traits = pods_kind.traits;
        spec.traits.interval_ms = c->pods.set->read_ms;
        return spec;
}

/* A list has all pods: too much for a few nodes that are down. */
static bool are_pod_metrics_needed(void *userdata) {
        const struct controller *c = userdata;

        return writer_is_active(c->writer) && c->pods.set->is_metering &&
               c->pods.outages.failing * FAILING_ONE_IN > c->pods.set->nodes.len;
}

static bool has_metrics_server(const struct source_list *sources) {
        for (size_t i = 0; i < sources->count; i++)
                if (sources->specs[i].kind == &metrics_server_kind)
                        return true;
        return false;
}

void controller_pods_sources(struct controller *c, const struct source *parts) {
        int64_t read_ms = c->interval_ms * READS_PER_SCRAPE;
        struct source head = *parts;

        c->pods.set->read_ms = read_ms < MAX_READ_MS ? read_ms : MAX_READ_MS;
        if (!c->options.kubelet || !c->parts.daemon->api || c->options.writing.is_dry_run)
                return;
        c->pods.spec = pods_spec(c);
        head.spec = &c->pods.spec;
        head.is_at_once = false;
        /* So a kubelet that is a source has been read, or its connection is free again. */
        head.delay_ms = c->pods.set->read_ms / 8;
        head.sink = (struct source_sink){.on_reading = on_pods_read,
                                         .on_failure = on_pods_failure,
                                         .is_needed = is_pods_read_needed,
                                         .userdata = c};
        c->sources[c->source_count++] = pods_kind.new(&head);
        if (has_metrics_server(c->options.sources))
                c->pods.metrics = pod_metrics_new(head.loop, head.api, c->pods.set,
                                                  are_pod_metrics_needed, c);
}

void controller_pods_stop(struct controller *c) {
        pod_metrics_free(TAKE_PTR(c->pods.metrics));
}

/* What is measured */

void controller_pods_init(struct controller *c) {
        struct metrics *metrics = c->parts.daemon->metrics;

        c->pods = (struct controller_pods){
                .set = pod_set_new(),
                .outages = {.what = "reading of pods"},
                .bound = metrics_gauge(metrics, "plimsoll_pods",
                                       "Bound pods, while it is measured what they use.", NULL),
                .measured = metrics_gauge(
                        metrics, "plimsoll_pods_measured",
                        "Bound pods of which the usage was measured in the last three minutes.",
                        NULL),
                .mixed = metrics_gauge(
                        metrics, "plimsoll_idle_mixed_pods",
                        "Bound pods that request both CPU and idle CPU. They count twice.", NULL),
                .failing = metrics_gauge(metrics, "plimsoll_kubelets_failing",
                                         "Kubelets that do not say what their pods use.", NULL),
        };
        c->options.nodes.pods = c->pods.set;
}

void controller_pods_follow(struct controller *c, const struct policy *policy) {
        const struct daemon *daemon = c->parts.daemon;

        pod_set_follow(c->pods.set, policy, daemon->loop, daemon->api, daemon->metrics);
        if (daemon->api && !c->options.writing.is_dry_run && !c->pods.store)
                c->pods.store = usage_store_new(&(struct usage_store_options){
                        .daemon = daemon,
                        .namespace = c->options.writing.lease.namespace,
                        .meter = &c->pods.set->meter,
                        .interval_ms = c->pods.set->read_ms});
}

void controller_pods_tick(struct controller *c) {
        struct pod_set *set = c->pods.set;
        int64_t now_mono_ms = controller_now_mono(c);
        const struct kube_fence fence = writer_fence(c->writer);
        bool is_leading = set->is_metering && writer_is_active(c->writer);

        outage_log_tick(&c->pods.outages, now_mono_ms);
        if (c->pods.store) {
                usage_store_set_writer(c->pods.store, is_leading ? &fence : NULL);
                usage_store_tick(c->pods.store);
        }
        if (now_mono_ms < c->pods.next_tick_mono_ms)
                return;
        c->pods.next_tick_mono_ms = now_mono_ms + set->read_ms;
        if (set->is_metering)
                pod_set_tick(set, controller_now_unix(c));
        struct pod_count count = pod_view_count_all(set, now_mono_ms);
        metrics_set(c->pods.bound, (double)count.bound);
        metrics_set(c->pods.measured, (double)count.measured);
        metrics_set(c->pods.mixed, (double)count.mixed);
        metrics_set(c->pods.failing, (double)c->pods.outages.failing);
}

bool controller_pods_usage(const struct controller_node *n, char text[static POD_USAGE_TEXT_MAX]) {
        const struct controller *c = n->controller;
        const struct pod_node *pods = pod_set_node(c->pods.set, n->node->name);
        struct pod_usage_list list = {0};

        if (c->pods.set->is_metering && pods &&
            !pod_view_list(pods, &n->node->kubelet.capacity, controller_now_mono(c), &list))
                return false;
        pod_usage_list_format(&list, text);
        return true;
}

void controller_write_pods(void *controller, const char *node, struct buf *out) {
        const struct controller *c = controller;

        pod_view_page(c->pods.set, node, controller_now_mono(c), out);
}

void controller_pods_free(struct controller *c) {
        usage_store_free(c->pods.store);
        pod_set_free(c->pods.set);
}
