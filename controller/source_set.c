#include "controller/source_set.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { OTHERS_IN_FLIGHT = 16 }; /* of sources that ask a server about all nodes */

static const char *const kind_names[SOURCE_KIND_COUNT] = {
        [SOURCE_NODE_EXPORTER] = "node-exporter",
        [SOURCE_PROMETHEUS] = "prometheus",
        [SOURCE_NODE_METRICS] = "node-metrics",
        [SOURCE_METRICS_SERVER] = "metrics-server",
        [SOURCE_KUBELET] = "kubelet",
};

/* One source, and its number for the events. */
struct member {
        struct source_set *set;
        size_t index;
        struct source *source;
        struct source_scope scope;
};

struct source_set {
        struct source_set_events events;
        size_t count;
        struct member members[SOURCE_MAX];
};

/* Options */

static int find_kind(const char *name, size_t len) {
        for (int kind = 0; kind < SOURCE_KIND_COUNT; kind++)
                if (strlen(kind_names[kind]) == len && memcmp(kind_names[kind], name, len) == 0)
                        return kind;
        return -1;
}

int source_set_order(const char *text, struct source_set_options *ret, struct error *err) {
        enum source_kind order[SOURCE_KIND_COUNT];
        size_t count = 0;

        for (const char *at = text;; at++) {
                size_t len = strcspn(at, ",");
                int kind = find_kind(at, len);
                if (kind < 0)
                        return error_set(err, EINVAL, "\"%.*s\": unknown source", (int)len, at);
                for (size_t i = 0; i < count; i++)
                        if (order[i] == (enum source_kind)kind)
                                return error_set(err, EINVAL, "\"%s\" is given twice",
                                                 kind_names[kind]);
                order[count++] = (enum source_kind)kind;
                at += len;
                if (!*at)
                        break;
        }
        memcpy(ret->kinds, order, count * sizeof(*order));
        ret->kind_count = count;
        return 0;
}

bool source_set_has(const struct source_set_options *options, enum source_kind kind) {
        for (size_t i = 0; i < options->kind_count; i++)
                if (options->kinds[i] == kind)
                        return true;
        return false;
}

int source_set_exporter_name(const struct source_set_options *options, const char *name, size_t len,
                             char *ret, struct error *err) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

        if (len == 0 || len > POLICY_RESOURCE_NAME_MAX || strspn(name, letters) < len)
                return error_set(err, EINVAL,
                                 "\"%.*s\": expected a name of at most %d of a-z, 0-9 and '-'",
                                 (int)len, name, POLICY_RESOURCE_NAME_MAX);
        bool is_taken = find_kind(name, len) >= 0;
        for (size_t i = 0; i < options->exporter_count; i++)
                is_taken = is_taken || (strlen(options->exporters[i].exporter) == len &&
                                        memcmp(options->exporters[i].exporter, name, len) == 0);
        if (is_taken)
                return error_set(err, EINVAL, "\"%.*s\" is taken", (int)len, name);
        memcpy(ret, name, len);
        ret[len] = '\0';
        return 0;
}

/* Sources by their number: the ordered ones, then the exporters. */

static size_t count_of(const struct source_set_options *options) {
        return options->kind_count + options->exporter_count;
}

/* NULL: this source does not scrape pages. */
static const struct scrape_options *page_of(const struct source_set_options *options,
                                            size_t source) {
        if (source >= options->kind_count)
                return &options->exporters[source - options->kind_count];
        if (options->kinds[source] == SOURCE_NODE_EXPORTER)
                return &options->node_exporter;
        if (options->kinds[source] == SOURCE_NODE_METRICS)
                return &options->node_metrics;
        if (options->kinds[source] == SOURCE_KUBELET)
                return &options->kubelet;
        return NULL;
}

/* Of a source that scrapes no pages. */
static bool is_prometheus(const struct source_set_options *options, size_t source) {
        return options->kinds[source] == SOURCE_PROMETHEUS;
}

static struct source_scope scope_of(const struct source_set_options *options, size_t source) {
        const struct scrape_options *page = page_of(options, source);

        if (page)
                return scraper_scope(page);
        if (is_prometheus(options, source))
                return (struct source_scope){.has_every_page = true};
        return (struct source_scope){.resources = METRICS_SERVER_RESOURCES};
}

static int64_t interval_ms_of(const struct source_set_options *options, size_t source) {
        const struct scrape_options *page = page_of(options, source);

        if (page)
                return page->interval_ms;
        return is_prometheus(options, source) ? options->prometheus.interval_ms
                                              : options->metrics_server.interval_ms;
}

static struct source *source_new(const struct source_parts *parts,
                                 const struct source_set_options *options, size_t source,
                                 const struct source_sink *sink) {
        const struct scrape_options *page = page_of(options, source);

        if (page)
                return scraper_new(parts->loop, parts->client, parts->metrics, page, sink);
        if (is_prometheus(options, source))
                return prometheus_new(parts->loop, parts->client, parts->metrics,
                                      &options->prometheus, sink);
        return metrics_server_new(parts->loop, parts->api, parts->metrics, &options->metrics_server,
                                  sink);
}

bool source_set_takes_targets(const struct source_set_options *options) {
        for (size_t i = 0; i < count_of(options); i++)
                if (!page_of(options, i))
                        return false;
        return !source_set_has(options, SOURCE_KUBELET);
}

size_t source_set_traits(const struct source_set_options *options,
                         struct source_traits ret[static SOURCE_MAX]) {
        for (size_t i = 0; i < count_of(options); i++) {
                const struct scrape_options *page = page_of(options, i);
                ret[i] = (struct source_traits){
                        .interval_ms = interval_ms_of(options, i),
                        .is_ready_made = page && page->profile->is_agent,
                        .is_on_demand = page && page->profile->is_kubelet,
                        .scope = scope_of(options, i),
                };
        }
        return count_of(options);
}

static size_t page_count(const struct source_set_options *options) {
        size_t count = 0;

        for (size_t i = 0; i < count_of(options); i++)
                count += page_of(options, i) != NULL;
        return count;
}

size_t source_set_in_flight(const struct source_set_options *options, size_t nodes) {
        return page_count(options) * scraper_in_flight(nodes) + OTHERS_IN_FLIGHT;
}

size_t source_set_hosts(const struct source_set_options *options, size_t nodes) {
        return page_count(options) * nodes + 1;
}

/* Sinks */

static void on_reading(void *userdata, struct node *node, const struct source_reading *reading) {
        const struct member *member = userdata;
        const struct source_set_events *events = &member->set->events;

        events->on_reading(events->userdata, member->index, node, reading);
}

static void on_failure(void *userdata, struct node *node, const char *reason) {
        const struct member *member = userdata;
        const struct source_set_events *events = &member->set->events;

        events->on_failure(events->userdata, member->index, node, reason);
}

static void on_peak(void *userdata, struct node *node, const struct metric_query *query,
                    double ratio, int64_t age_ms) {
        const struct member *member = userdata;
        const struct source_set_events *events = &member->set->events;

        events->on_peak(events->userdata, member->index, node, query, ratio, age_ms);
}

static bool is_wanted(void *userdata, const struct node *node) {
        const struct member *member = userdata;
        const struct source_set_events *events = &member->set->events;

        return events->is_wanted(events->userdata, member->index, node);
}

/* The set */

struct source_set *source_set_new(const struct source_parts *parts,
                                  const struct source_set_options *options,
                                  const struct source_set_events *events) {
        struct source_set *set = xcalloc(1, sizeof(*set));

        set->events = *events;
        set->count = count_of(options);
        for (size_t i = 0; i < set->count; i++) {
                struct member *member = &set->members[i];
                *member = (struct member){.set = set, .index = i, .scope = scope_of(options, i)};
                const struct source_sink sink = {.on_reading = on_reading,
                                                 .on_failure = on_failure,
                                                 .on_peak = on_peak,
                                                 .is_wanted = is_wanted,
                                                 .userdata = member};
                member->source = source_new(parts, options, i, &sink);
        }
        return set;
}

void source_set_free(struct source_set *set) {
        for (size_t i = 0; i < set->count; i++)
                source_free(set->members[i].source);
        free(set);
}

const struct source_ops *source_set_ops(const struct source_set *set, size_t source) {
        return set->members[source].source->ops;
}

/* The policy may have been changed before the flags, or be meant for another controller: so this is
 * no error. */
static void warn_of_unknown_exporters(const struct source_set *set, const struct policy *policy) {
        for (size_t i = 0; i < policy->resource_count; i++) {
                const struct policy_resource *resource = &policy->resources[i];
                const struct policy_metric metric = {
                        .is_query = true, .query.resource = METRIC_RESOURCE_COUNT + (unsigned)i};
                bool is_known = !resource->exporter[0];
                for (size_t m = 0; m < set->count && !is_known; m++)
                        is_known = source_scope_has(&set->members[m].scope, policy, &metric);
                if (!is_known)
                        log_warn(MSG("policy metric has no source: no --exporter of that name"),
                                 STR("metric", resource->name),
                                 STR("exporter", resource->exporter));
        }
}

void source_set_policy(struct source_set *set, const struct policy *policy) {
        warn_of_unknown_exporters(set, policy);
        for (size_t i = 0; i < set->count; i++) {
                struct source *source = set->members[i].source;
                source->ops->set_policy(source, policy);
        }
}

void source_set_add_node(struct source_set *set, struct node *node) {
        for (size_t i = 0; i < set->count; i++) {
                struct source *source = set->members[i].source;
                source->ops->add_node(source, node);
        }
}

void source_set_remove_node(struct source_set *set, struct node *node) {
        for (size_t i = 0; i < set->count; i++) {
                struct source *source = set->members[i].source;
                source->ops->remove_node(source, node);
        }
}

void source_set_stop(struct source_set *set) {
        for (size_t i = 0; i < set->count; i++) {
                struct source *source = set->members[i].source;
                source->ops->stop(source);
        }
}
