#include "controller/source/metrics_api/metrics_server.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "controller/source/metrics_api/metrics_api_list.h"
#include "controller/source/metrics_api/metrics_api_sample.h"
#include "kube/kube_path.h"

enum {
        INTERVAL_MS = 15000,
        FIRST_ROUND_MS = 1000, /* after the first node: nodes are listed page by page */
        /* Of a list. An item has 300 bytes, or up to 2 kB with the node's labels. */
        MAX_BODY_BYTES = 64 << 20,
};

#define LIST_PATH KUBE_METRICS "/nodes"
#define RESOURCE "nodes.metrics.k8s.io"
#define APISERVICE "kubectl get apiservice v1beta1.metrics.k8s.io"
#define RBAC_RULE "apiGroups [metrics.k8s.io], resources [nodes], verbs [list]"

#define MEASURED (UINT32_C(1) << METRIC_CPU | UINT32_C(1) << METRIC_MEM)

struct entry {
        struct node *node;
        struct metrics_api_sample sample;
        struct metrics_api_item
                answered;      /* of the last list with the node; empty: it was not usable */
        uint32_t listed_round; /* of that list */
};

struct metrics_server {
        struct source head;
        struct strmap entries; /* node's name: struct entry */
        struct loop_timer timer;
        struct kube_call *call;
        int64_t begun_mono_ms; /* the round */
        uint32_t round;        /* from 1 on */
        const char *trouble;   /* why the last list failed, static text; NULL: it did not */
        struct metrics_series *items_new, *items_repeated, *items_unknown;
        struct metrics_series *listed;
};

static struct metrics_server *metrics_server_of(struct source *source) {
        return CONTAINER_OF(source, struct metrics_server, head);
}

static int64_t interval_of(const struct metrics_server *s) {
        return s->head.spec->traits.interval_ms;
}

static struct metrics_api_sample_time sample_time(const struct metrics_server *s) {
        return (struct metrics_api_sample_time){.now_mono_ms = loop_now_mono_ms(s->head.loop),
                                                .now_unix_ms = loop_now_unix_ms(s->head.loop),
                                                .interval_ms = interval_of(s)};
}

/* A node's reading. */
struct sample_reading {
        struct window_step step;
        const char *why[WINDOW_MAX_CHANNELS];
};

static void add_gauge(struct sample_reading *reading, enum metric_resource channel, bool is_known,
                      double used, double allocatable) {
        if (!is_known) {
                reading->why[channel] = "the node's metrics have no amount of it above 0";
        } else if (!(allocatable > 0)) {
                reading->why[channel] = "the Node's status has nothing allocatable of it";
        } else {
                reading->step.gauges |= UINT32_C(1) << channel;
                reading->step.num[channel] = used < allocatable ? used / allocatable : 1;
        }
}

static struct sample_reading read_sample(const struct metrics_server *s,
                                         const struct entry *entry) {
        const struct metrics_api_item *metrics = &entry->sample.metrics;
        const struct node *node = entry->node;
        struct sample_reading reading = {.step.at_mono_ms = loop_now_mono_ms(s->head.loop)};

        add_gauge(&reading, METRIC_CPU, metrics->has_cpu, metrics->cpu_cores,
                  node->allocatable_cpu_cores);
        add_gauge(&reading, METRIC_MEM, metrics->has_memory, metrics->memory_bytes,
                  node->allocatable_memory_bytes);
        return reading;
}

/* Outcomes */

/* Read the node's sample of this round. Return: NULL, or why it has none. */
static const char *read_entry(struct metrics_server *s, struct entry *entry,
                              struct sample_reading *ret) {
        const struct metrics_api_sample_time time = sample_time(s);

        if (entry->listed_round != s->round)
                return "no_data";
        if (!entry->answered.has_cpu && !entry->answered.has_memory)
                return "malformed";
        bool is_new = metrics_api_sample_offer(&entry->sample, &entry->answered, &time);
        metrics_inc(is_new ? s->items_new : s->items_repeated);
        if (metrics_api_sample_is_stale(&entry->sample, &time))
                return "stale";
        *ret = read_sample(s, entry);
        return ret->step.gauges == 0 ? "no_allocatable" : NULL;
}

static void deliver_sample(struct metrics_server *s, struct entry *entry) {
        struct sample_reading reading;
        const char *reason = read_entry(s, entry, &reading);

        if (reason)
                s->head.sink.on_failure(
                        &s->head.sink, entry->node,
                        &(struct source_failure){.reason = reason,
                                                 .detail = "see kubectl get --raw " LIST_PATH});
        else
                s->head.sink.on_reading(
                        &s->head.sink, entry->node,
                        &(struct source_reading){.step = &reading.step, .why = reading.why});
}

/* What to check. */
static const char *advice(enum kube_outcome outcome) {
        if (outcome == KUBE_FORBIDDEN)
                return "the ClusterRole needs " RBAC_RULE;
        if (outcome == KUBE_NOT_FOUND)
                return "is metrics-server installed? " APISERVICE;
        return "does metrics-server run? " APISERVICE;
}

static void fail_round(struct metrics_server *s, enum kube_outcome outcome,
                       const struct error *cause) {
        const char *reason = kube_outcome_name(outcome);
        struct strmap_entry *found;

        if (s->trouble != reason)
                log_warn(MSG("cannot list node metrics"), STR("path", LIST_PATH),
                         STR("reason", reason), STR("error", cause->msg),
                         STR("see", advice(outcome)));
        s->trouble = reason;
        metrics_set(s->listed, 0);
        STRMAP_FOREACH (found, &s->entries) {
                const struct entry *entry = found->value;
                s->head.sink.on_failure(&s->head.sink, entry->node,
                                        &(struct source_failure){.reason = reason});
        }
}

static void end_list_round(struct metrics_server *s) {
        struct strmap_entry *found;

        if (s->trouble)
                log_info(MSG("listing node metrics succeeds again"), STR("path", LIST_PATH));
        s->trouble = NULL;
        metrics_set(s->listed, 1);
        STRMAP_FOREACH (found, &s->entries) {
                deliver_sample(s, found->value);
        }
}

/* Rounds */

static void begin_list_round(void *userdata);

/* Readings wait for the end of the list, which may be incomplete. */
static void on_node_metrics(void *userdata, const char *node,
                            const struct metrics_api_item *metrics) {
        struct metrics_server *s = userdata;
        struct entry *entry = strmap_get(&s->entries, node, strlen(node));

        if (!entry) {
                metrics_inc(s->items_unknown);
                return;
        }
        entry->listed_round = s->round;
        entry->answered = metrics ? *metrics : (struct metrics_api_item){0};
}

static void on_list(void *userdata, const struct kube_answer *answer) {
        struct metrics_server *s = userdata;
        struct error err = ERROR_NULL;

        s->call = NULL;
        loop_timer_arm(s->head.loop, &s->timer, s->begun_mono_ms + interval_of(s), begin_list_round,
                       s);
        if (answer->outcome != KUBE_OK)
                fail_round(s, answer->outcome, &answer->err);
        else if (metrics_api_list_parse(answer->body, answer->body_bytes, on_node_metrics, s,
                                        &err) < 0)
                fail_round(s, KUBE_BAD_ANSWER, &err);
        else
                end_list_round(s);
}

static void begin_list_round(void *userdata) {
        struct metrics_server *s = userdata;

        s->begun_mono_ms = loop_now_mono_ms(s->head.loop);
        s->round++;
        if (!s->head.sink.is_needed(&s->head.sink, NULL)) {
                s->trouble = NULL;
                loop_timer_arm(s->head.loop, &s->timer, s->begun_mono_ms + interval_of(s),
                               begin_list_round, s);
                return;
        }
        s->call = kube_start(s->head.api, &(struct kube_request){
                                                  .method = "GET",
                                                  .path = LIST_PATH,
                                                  .resource = RESOURCE,
                                                  .timeout_ms = source_timeout_ms(&s->head),
                                                  .max_body_bytes = MAX_BODY_BYTES,
                                                  .wants_gzip = true,
                                                  .on_done = on_list,
                                                  .userdata = s,
                                          });
}

/* The source */

static void metrics_server_add_node(struct source *base, struct node *node) {
        struct metrics_server *s = metrics_server_of(base);

        if (strmap_get(&s->entries, node->name, strlen(node->name)))
                return;
        struct entry *entry = xcalloc(1, sizeof(*entry));
        entry->node = node;
        strmap_put(&s->entries, node->name, strlen(node->name), entry);
        if (s->round == 0 && !loop_timer_is_armed(&s->timer))
                loop_timer_arm(s->head.loop, &s->timer,
                               loop_now_mono_ms(s->head.loop) + FIRST_ROUND_MS, begin_list_round,
                               s);
}

static void metrics_server_remove_node(struct source *base, struct node *node) {
        struct metrics_server *s = metrics_server_of(base);

        free(strmap_remove(&s->entries, node->name, strlen(node->name)));
}

static void metrics_server_free(struct source *base) {
        struct metrics_server *s = metrics_server_of(base);

        kube_cancel(s->call);
        loop_timer_disarm(s->head.loop, &s->timer);
        strmap_done_values(&s->entries);
        free(s);
}

static struct metrics_series *count_items(struct metrics *metrics, const char *result) {
        return metrics_counter(
                metrics, "plimsoll_metrics_server_items_total",
                "Items of metrics-server's lists: new, repeated, or of unknown nodes.",
                LABELS("result", result));
}

static struct source *metrics_server_new(const struct source *head) {
        struct metrics *metrics = head->metrics;
        struct metrics_server *s = xcalloc(1, sizeof(*s));

        *s = (struct metrics_server){
                .head = *head,
                .items_new = count_items(metrics, "new"),
                .items_repeated = count_items(metrics, "repeated"),
                .items_unknown = count_items(metrics, "unknown_node"),
                .listed = metrics_gauge(metrics, "plimsoll_metrics_server_listed",
                                        "1 if the last list from metrics-server succeeded.", NULL),
        };
        return &s->head;
}

static const struct source_hint hints[] = {
        {NULL, "the rule for " RESOURCE " (list) in the ClusterRole, and " APISERVICE},
};

const struct source_kind metrics_server_kind = {
        .name = "metrics-server",
        .traits = {.interval_ms = INTERVAL_MS, .is_costly = true, .scope = {.resources = MEASURED}},
        .hints = hints,
        .new = metrics_server_new,
        .add_node = metrics_server_add_node,
        .remove_node = metrics_server_remove_node,
        .free = metrics_server_free,
};
