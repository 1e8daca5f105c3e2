#include "controller/source/scrape/scrape_reader.h"

#include <stdio.h>
#include <string.h>

#include "controller/pods/pod_set.h"

static const double PERCENT = 0.01;

enum { STALE_MS = 60 * 1000 }; /* as for a kubelet's sample */

const char scrape_reader_other_node[] = "other_node";

void scrape_reader_init(struct scrape_reader *reader, const struct source_kind *kind,
                        scrape_state_fn *state_of, void *userdata) {
        *reader = (struct scrape_reader){.kind = kind,
                                         .profile = kind->own,
                                         .state_of = state_of,
                                         .userdata = userdata,
                                         .reading = node_reading_new()};
}

void scrape_reader_done(struct scrape_reader *reader) {
        node_reading_free(reader->reading);
}

void scrape_reader_set_policy(struct scrape_reader *reader, const struct policy *policy,
                              const struct source_scope *scope,
                              const struct node_network_options *network) {
        const char *ready[POLICY_MAX_METRICS] = {NULL};
        uint32_t resources = 0;

        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                if (!source_scope_has(scope, policy, metric))
                        continue;
                if (metric->is_query && !reader->kind->traits.is_ready_made)
                        resources |= NODE_RESOURCE_BIT(metric->query.resource);
                else
                        ready[i] = metric->name;
        }
        kubelet_wants_init(&reader->kubelet, resources);
        node_wants_init(&reader->wants, &(struct node_wants_options){
                                                .resources = resources,
                                                .ready = ready,
                                                .ready_count = policy->metric_count,
                                                .own = policy->resources,
                                                .own_count = policy->resource_count,
                                                .wants_host_name = reader->profile->has_collectors,
                                                .network = network,
                                        });
        reader->collector_count = reader->profile->has_collectors
                                          ? node_wants_collectors(&reader->wants,
                                                                  reader->collectors)
                                          : 0;
}

void scrape_state_done(struct scrape_state *state) {
        node_state_done(&state->node);
        *state = (struct scrape_state){0};
}

static void fail_reading(struct scrape_result *ret, const char *failure, const char *detail) {
        ret->failure = failure;
        ret->detail = detail;
}

/* Why the first of the wanted resources could not be read. */
static const char *first_reason(const char *const why[static WINDOW_MAX_CHANNELS]) {
        for (size_t i = 0; i < WINDOW_MAX_CHANNELS; i++)
                if (why[i])
                        return why[i];
        return "the page has no series that the policy needs";
}

/* Without a detail, the first reason is used. */
static const struct {
        const char *failure, *detail;
} kubelet_failures[] = {
        [KUBELET_STALE] = {"stale", "the kubelet repeats a sample that is more than a minute old"},
        [KUBELET_SCRAPE_ERROR] = {"scrape_error", "the kubelet could not read its own statistics"},
        [KUBELET_NO_METRICS] = {"no_metrics", NULL},
        [KUBELET_NO_CAPACITY] = {"no_capacity", "the Node's status has no capacity"},
};

/* Without Content-Length, a truncated body looks complete. A complete one ends with a newline. */
static bool is_whole_page(const struct buf *body) {
        return body->len > 0 && body->data[body->len - 1] == '\n';
}

static void read_pods(const struct node *node, struct pod_node *pods, const struct buf *body,
                      const struct kubelet_clocks *clocks, struct scrape_result *ret) {
        ret->malformed += pod_set_read(node->set->options.pods, pods,
                                       &(struct pod_page){.text = body->data,
                                                          .text_bytes = body->len,
                                                          .is_complete = is_whole_page(body),
                                                          .clocks = clocks,
                                                          .capacity = &node->kubelet.capacity});
}

/* The first step gets no CPU usage while a pod's sample is repeated, because the usage of the pod
 * is still unknown. */
static void leave_out_idle_pods(const struct node *node, struct pod_node *pods,
                                struct scrape_state *state, const struct kubelet_clocks *clocks,
                                struct scrape_result *ret) {
        bool has_cpu = ret->reading.step && (ret->step.counters & NODE_RESOURCE_BIT(METRIC_CPU));
        bool is_first = !state->has_cpu_step, is_awaited = false;
        struct measured_pod *pod;
        double cores = 0;

        state->has_cpu_step |= has_cpu;
        if (!pods || pods->taken_milli == 0 || !has_cpu)
                return;
        LIST_FOREACH (pod, &pods->pods, entry) {
                if (pod->idle_milli == 0)
                        continue;
                cores += kubelet_pods_rate(&pod->page, clocks);
                is_awaited |= pod->page.is_known && !pod->page.is_rated;
        }
        if (is_first && is_awaited) {
                ret->step.counters &= ~NODE_RESOURCE_BIT(METRIC_CPU);
                return;
        }
        pods->used_cores = kubelet_pods_leave_out(cores, node->kubelet.capacity.cpu_cores,
                                                  &ret->step);
        pods->used_mono_ms = clocks->now_mono_ms;
}

static void take_kubelet(struct scrape_reader *reader, struct scrape_state *state,
                         const struct node *node, const struct buf *body,
                         const struct kubelet_clocks *clocks, struct scrape_result *ret) {
        struct kubelet_reading reading;

        enum kubelet_outcome outcome = kubelet_reading_take(
                &state->kubelet, &reader->kubelet, &node->kubelet.capacity, body->data, body->len,
                is_whole_page(body), clocks, &reading);
        ret->malformed = reading.malformed;
        memcpy(ret->why, reading.why, sizeof(ret->why));
        if (outcome == KUBELET_NEW) {
                ret->step = reading.step;
                ret->reading.step = &ret->step;
        } else if (outcome != KUBELET_REPEATED) {
                const char *detail = kubelet_failures[outcome].detail;
                fail_reading(ret, kubelet_failures[outcome].failure,
                             detail ? detail : first_reason(ret->why));
                return;
        }
        if (reader->kubelet.is_cadvisor)
                return;
        struct pod_set *set = node->set->options.pods;
        struct pod_node *pods = pod_set_node(set, node->name);
        if (pods)
                pods->passed_mono_ms = clocks->now_mono_ms;
        /* Pods on idle CPU are read from every page. */
        if (pods && (pods->taken_milli > 0 || pod_set_is_due(set, pods, clocks->now_mono_ms)))
                read_pods(node, pods, body, clocks, ret);
        leave_out_idle_pods(node, pods, state, clocks, ret);
}

static void take_pods(struct scrape_reader *reader, struct scrape_state *state,
                      const struct node *node, const struct buf *body,
                      const struct kubelet_clocks *clocks, struct scrape_result *ret) {
        struct pod_node *pods = pod_set_node(node->set->options.pods, node->name);

        (void)reader;
        (void)state;
        if (!pods)
                return;
        read_pods(node, pods, body, clocks, ret);
        if (pods->read_mono_ms != clocks->now_mono_ms)
                fail_reading(ret, "no_metrics", "the page has no series of the node's pods");
}

/*
 * Is it the page of another node? A host name can differ from the name of its Node, so the page
 * must name another Node. Hosts can also share a name that only one of their Nodes has: then the
 * counters on the page do not continue those of the named Node. The decision waits for the named
 * Node's page, unless that page is not expected.
 */
static bool is_of_another(const struct scrape_reader *reader, const struct node *node,
                          int64_t now_mono_ms) {
        const char *name = reader->reading->host_name;
        const struct node *other = strcmp(name, node->name) == 0 ? NULL
                                                                 : node_set_get(node->set, name);
        const struct scrape_state *state = other ? reader->state_of(reader->userdata, other) : NULL;

        return state && (state->node.cpu_count == 0 ||
                         node_state_is_continued(&state->node, reader->reading, now_mono_ms));
}

/* Whether a line begins as the series of windows_exporter do. */
static bool is_of_windows(const struct buf *body) {
        static const char prefix[] = "\nwindows_";

        return body->len > 0 && memmem(body->data, body->len, prefix, sizeof(prefix) - 1);
}

static void fail_without_series(const struct scrape_reader *reader, const struct buf *body,
                                struct scrape_result *ret) {
        if (reader->profile->has_collectors && is_of_windows(body))
                fail_reading(ret, "windows_exporter",
                             "the page of windows_exporter has no node_cpu_seconds_total: use the "
                             "kubelet as source for Windows nodes");
        else
                fail_reading(ret, "no_metrics", first_reason(ret->why));
}

/* False: the page has no usable series, and @ret has the reason. */
static bool parse_exporter(struct scrape_reader *reader, const struct buf *body,
                           struct scrape_result *ret) {
        struct node_reading *reading = reader->reading;

        node_reading_parse(reading, &reader->wants, body->data, body->len, is_whole_page(body));
        ret->malformed = reading->malformed + reading->unusable;
        memcpy(ret->why, reading->why, sizeof(ret->why));
        if (reading->usable == 0 && reading->ready_usable == 0)
                fail_without_series(reader, body, ret);
        return !ret->failure;
}

static void take_ready_metrics(const struct scrape_reader *reader, struct scrape_result *ret) {
        const struct node_reading *reading = reader->reading;
        double unit = reader->kind->traits.is_ready_made ? PERCENT : 1;

        ret->reading.ready = reading->ready_usable;
        for (uint64_t rest = reading->ready_usable; rest != 0; rest &= rest - 1) {
                int metric = __builtin_ctzll(rest);
                ret->values_ratio[metric] = reading->ready[metric] * unit;
        }
}

static void take_exporter(struct scrape_reader *reader, struct scrape_state *state,
                          const struct node *node, const struct buf *body,
                          const struct kubelet_clocks *clocks, struct scrape_result *ret) {
        struct node_reading *reading = reader->reading;
        int64_t now_mono_ms = clocks->now_mono_ms;

        if (!parse_exporter(reader, body, ret))
                return;
        if (is_of_another(reader, node, now_mono_ms)) {
                (void)snprintf(ret->text, sizeof(ret->text),
                               "the page belongs to another node: its nodename is \"%s\"",
                               reading->host_name);
                fail_reading(ret, scrape_reader_other_node, ret->text);
                return;
        }
        if (node_state_is_repeated(&state->node, reading)) {
                if (now_mono_ms - state->node.at_mono_ms > STALE_MS)
                        fail_reading(
                                ret, "stale",
                                "the exporter, or a cache in front of it, repeats a page that is "
                                "more than a minute old: its CPU time stands still");
                return;
        }
        node_state_step(&state->node, &reader->wants, reading, now_mono_ms, &ret->step);
        memcpy(ret->why, reading->why, sizeof(ret->why));
        ret->reading.step = reader->kind->traits.is_ready_made ? NULL : &ret->step;
        take_ready_metrics(reader, ret);
}

void scrape_reader_take(struct scrape_reader *reader, struct scrape_state *state,
                        const struct node *node, const struct buf *body,
                        const struct kubelet_clocks *clocks, struct scrape_result *ret) {
        ret->reading = (struct source_reading){.values_ratio = ret->values_ratio, .why = ret->why};
        ret->failure = ret->detail = NULL;
        reader->profile->take(reader, state, node, body, clocks, ret);
}

/* Profiles */

static bool kubelet_url(const struct scrape_reader *reader, const struct node *node,
                        const char *address, struct buf *out) {
        return target_url_of_kubelet(address, node->kubelet.port,
                                     kubelet_wants_path(&reader->kubelet, node->kubelet.path), out);
}

const struct scrape_profile scrape_node_exporter = {.has_collectors = true, .take = take_exporter};
const struct scrape_profile scrape_exporter = {.take = take_exporter};
const struct scrape_profile scrape_kubelet = {.url = kubelet_url, .take = take_kubelet};
const struct scrape_profile scrape_pods = {.url = kubelet_url, .take = take_pods};
