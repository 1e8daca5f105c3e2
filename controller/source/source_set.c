#include "controller/source/source_set.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/loop.h"

enum {
        OTHERS_IN_FLIGHT = 16, /* of sources that ask a server about all nodes */
        TICK_MS = 1000,        /* for the summaries of outages */
};

struct source_set {
        struct loop *loop;
        struct loop_timer tick;
        size_t count;
        const struct source_item *items; /* borrowed */
        struct source *sources[SOURCE_MAX];
};

/* Options */

static bool has_text(const char *name, const char *text, size_t len) {
        return strlen(name) == len && memcmp(name, text, len) == 0;
}

static const struct source_kind *find_kind(const struct source_kind *const *kinds, const char *name,
                                           size_t len) {
        while (*kinds && !has_text((*kinds)->name, name, len))
                kinds++;
        return *kinds;
}

int source_set_order(const char *text, const struct source_kind *const *kinds,
                     struct source_set_options *ret, struct error *err) {
        struct source_set_options set = {.kinds = kinds};

        for (const char *at = text;; at++) {
                size_t len = strcspn(at, ",");
                const struct source_kind *kind = find_kind(kinds, at, len);
                if (!kind)
                        return error_set(err, EINVAL, "\"%.*s\": unknown source",
                                         (int)size_min(len, 64), at);
                if (source_set_item(&set, kind))
                        return error_set(err, EINVAL, "\"%s\" is given twice", kind->name);
                set.items[set.count++].kind = kind;
                at += len;
                if (!*at)
                        break;
        }
        *ret = set;
        return 0;
}

int source_set_configure(struct source_set_options *options, const struct source_setup *setup,
                         struct error *err) {
        for (const struct source_kind *const *kind = options->kinds; *kind; kind++) {
                int r = (*kind)->configure ? (*kind)->configure(options, setup, err) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

struct source_item *source_set_item(struct source_set_options *options,
                                    const struct source_kind *kind) {
        for (size_t i = 0; i < options->count; i++)
                if (options->items[i].kind == kind)
                        return &options->items[i];
        return NULL;
}

bool source_set_has_name(const struct source_set_options *options, const char *name, size_t len) {
        for (size_t i = 0; i < options->count; i++)
                if (has_text(options->items[i].kind->name, name, len))
                        return true;
        return find_kind(options->kinds, name, len) != NULL;
}

bool source_set_takes_targets(const struct source_set_options *options) {
        for (size_t i = 0; i < options->count; i++)
                if (!options->items[i].kind->takes_targets)
                        return false;
        return true;
}

size_t source_set_in_flight(const struct source_set_options *options, size_t nodes) {
        size_t in_flight = OTHERS_IN_FLIGHT;

        for (size_t i = 0; i < options->count; i++)
                if (options->items[i].kind->ops->in_flight)
                        in_flight += options->items[i].kind->ops->in_flight(nodes);
        return in_flight;
}

size_t source_set_hosts(const struct source_set_options *options, size_t nodes) {
        size_t hosts = 1;

        for (size_t i = 0; i < options->count; i++)
                if (options->items[i].kind->ops->in_flight)
                        hosts += nodes;
        return hosts;
}

/* The set */

static void on_source_tick(void *userdata) {
        struct source_set *set = userdata;
        int64_t now_mono_ms = loop_now_mono_ms(set->loop);

        for (size_t i = 0; i < set->count; i++)
                outage_log_tick(&set->sources[i]->outages, now_mono_ms);
        loop_timer_arm(set->loop, &set->tick, now_mono_ms + TICK_MS, on_source_tick, set);
}

struct source_set *source_set_new(const struct source_parts *parts,
                                  const struct source_set_options *options,
                                  const struct source_sink *sink) {
        struct source_set *set = xcalloc(1, sizeof(*set));

        set->loop = parts->loop;
        set->count = options->count;
        set->items = options->items;
        for (size_t i = 0; i < set->count; i++) {
                struct source_sink own = *sink;
                own.source = i;
                set->sources[i] = set->items[i].kind->ops->new (parts, &set->items[i], &own);
        }
        on_source_tick(set);
        return set;
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
                        is_known = source_scope_has(&set->items[m].traits.scope, policy, &metric);
                if (!is_known)
                        log_warn(MSG("policy metric has no source: no --exporter of that name"),
                                 STR("metric", resource->name),
                                 STR("exporter", resource->exporter));
        }
}

void source_set_policy(struct source_set *set, const struct policy *policy) {
        if (set->count > 0)
                warn_of_unknown_exporters(set, policy);
        for (size_t i = 0; i < set->count; i++)
                set->sources[i]->ops->set_policy(set->sources[i], policy);
}

void source_set_add_node(struct source_set *set, struct node *node) {
        for (size_t i = 0; i < set->count; i++)
                set->sources[i]->ops->add_node(set->sources[i], node);
}

void source_set_remove_node(struct source_set *set, struct node *node) {
        for (size_t i = 0; i < set->count; i++)
                set->sources[i]->ops->remove_node(set->sources[i], node);
}

void source_set_stop(struct source_set *set) {
        loop_timer_disarm(set->loop, &set->tick);
        for (size_t i = 0; i < set->count; i++)
                source_free(set->sources[i]);
        set->count = 0;
}

void source_set_free(struct source_set *set) {
        source_set_stop(set);
        free(set);
}
