#include "controller/exposition/node_wants.h"

#include <string.h>

/* The index of a family's name among @count, appended if it is new. */
static size_t want_family(struct node_wants *wants, size_t *count, const char *name) {
        size_t family = 0;

        while (family < *count && strcmp(wants->names[family], name) != 0)
                family++;
        if (family == *count)
                wants->names[(*count)++] = name;
        return family;
}

static void want_resource(struct node_wants *wants, size_t *count, unsigned resource) {
        const struct metric_resource_row *row = &metric_resource_rows[resource];

        for (size_t i = 0; i < METRIC_MAX_FAMILIES && row->families[i].name; i++) {
                size_t family = want_family(wants, count, row->families[i].name);
                assert(family < NODE_MAX_FAMILIES);
                /* The second family of METRIC_KIND_PER_CPU is read as that of METRIC_KIND_CPU. */
                wants->families[family].kind = (uint8_t)(row->kind == METRIC_KIND_PER_CPU && i > 0
                                                                 ? METRIC_KIND_CPU
                                                                 : row->kind);
                wants->families[family].field = (uint8_t)i;
                wants->families[family].collector = row->families[i].collector;
                wants->resource_families[resource] |= UINT32_C(1) << family;
                wants->resource_family[resource][i] = (uint8_t)family;
        }
}

void node_wants_init(struct node_wants *wants, const struct node_wants_options *options) {
        size_t count = 0;

        assert(options->ready_count <= NODE_MAX_READY &&
               options->own_count <= POLICY_MAX_RESOURCES);
        *wants = (struct node_wants){
                .resources = options->resources &
                             (NODE_RESOURCE_BIT(METRIC_RESOURCE_COUNT + options->own_count) - 1),
                .own = options->own,
                .own_count = options->own_count,
        };
        if (options->network)
                wants->network = *options->network;
        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++)
                if (wants->resources & NODE_RESOURCE_BIT(r))
                        want_resource(wants, &count, r);
        if (options->wants_host_name && count > 0) {
                size_t family = want_family(wants, &count, "node_uname_info");
                assert(family < NODE_MAX_FAMILIES);
                wants->families[family].is_host_name = true;
                wants->families[family].collector = "uname";
        }
        for (size_t i = 0; i < options->ready_count; i++) {
                if (!options->ready[i])
                        continue;
                wants->has_ready = true;
                size_t len = strnlen(options->ready[i], METRIC_NAME_MAX);
                memcpy(wants->ready[i], "node_", 5);
                memcpy(wants->ready[i] + 5, options->ready[i], len);
                size_t family = want_family(wants, &count, wants->ready[i]);
                wants->families[family].ready = (uint8_t)(i + 1);
        }
        for (size_t i = 0; i < options->own_count; i++) {
                const struct policy_resource *resource = &options->own[i];
                if (!(wants->resources & NODE_RESOURCE_BIT(METRIC_RESOURCE_COUNT + i)))
                        continue;
                size_t family = want_family(wants, &count, resource->series);
                wants->families[family].used_by |= (uint16_t)(1u << i);
                if (!resource->capacity_series[0])
                        continue;
                family = want_family(wants, &count, resource->capacity_series);
                wants->families[family].capacity_of |= (uint16_t)(1u << i);
        }
        exposition_set_init(&wants->set, wants->names, count);
}

size_t node_wants_collectors(const struct node_wants *wants,
                             const char *ret_names[static NODE_MAX_COLLECTORS]) {
        size_t count = 0;

        if (wants->has_ready || wants->resources & ~NODE_READING_RESOURCES)
                return 0;
        for (size_t i = 0; i < wants->set.count; i++) {
                const char *collector = wants->families[i].collector;
                size_t known = 0;
                while (known < count && strcmp(ret_names[known], collector) != 0)
                        known++;
                if (known < count)
                        continue;
                assert(count < NODE_MAX_COLLECTORS);
                ret_names[count++] = collector;
        }
        return count;
}
