#include "controller/source/source_set.h"

#include "base/log.h"
#include "base/mem.h"

struct source_set {
        size_t count;
        struct source *sources[SOURCE_MAX];
};

struct source_set *source_set_new(const struct source *parts, const struct source_list *list) {
        struct source_set *set = xcalloc(1, sizeof(*set));
        struct source own = *parts;

        set->count = list->count;
        for (size_t i = 0; i < set->count; i++) {
                own.spec = &list->specs[i];
                own.sink.source = i;
                set->sources[i] = own.spec->kind->new (&own);
        }
        return set;
}

/* This is not an error: somebody may have changed the policy before the sources, or the policy is
 * for another controller. */
static void warn_of_unknown_exporters(const struct source_set *set, const struct policy *policy) {
        for (size_t i = 0; i < policy->resource_count; i++) {
                const struct policy_resource *resource = &policy->resources[i];
                const struct policy_metric metric = {
                        .is_query = true, .query.resource = METRIC_RESOURCE_COUNT + (unsigned)i};
                bool is_known = !resource->exporter[0];
                for (size_t m = 0; m < set->count && !is_known; m++)
                        is_known = source_scope_has(&set->sources[m]->spec->traits.scope, policy,
                                                    &metric);
                if (!is_known)
                        log_warn(MSG("policy metric has no source: no exporter of that name"),
                                 STR("metric", resource->name),
                                 STR("exporter", resource->exporter));
        }
}

void source_set_policy(struct source_set *set, const struct policy *policy) {
        if (set->count > 0)
                warn_of_unknown_exporters(set, policy);
        for (size_t i = 0; i < set->count; i++)
                if (set->sources[i]->spec->kind->set_policy)
                        set->sources[i]->spec->kind->set_policy(set->sources[i], policy);
}

void source_set_add_node(struct source_set *set, struct node *node) {
        for (size_t i = 0; i < set->count; i++)
                set->sources[i]->spec->kind->add_node(set->sources[i], node);
}

void source_set_remove_node(struct source_set *set, struct node *node) {
        for (size_t i = 0; i < set->count; i++)
                set->sources[i]->spec->kind->remove_node(set->sources[i], node);
}

void source_set_stop(struct source_set *set) {
        for (size_t i = 0; i < set->count; i++)
                set->sources[i]->spec->kind->free(set->sources[i]);
        set->count = 0;
}

void source_set_free(struct source_set *set) {
        source_set_stop(set);
        free(set);
}
