#include "cli/workloads/workload_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"

static const double MEMORY_RESERVE = 1.15;

void workload_list_done(struct workload_list *list) {
        for (size_t i = 0; i < list->count; i++)
                free(list->items[i].name);
        free(list->items);
        strmap_done(&list->autoscaled);
        *list = (struct workload_list){0};
}

static bool is_of_namespace(const struct workload_usage_name *name, const char *namespace) {
        size_t len = namespace ? strlen(namespace) : 0;

        return !namespace || (name->len > len && memcmp(name->text, namespace, len) == 0 &&
                              name->text[len] == '/');
}

static void add_line(struct workload_list *list, const char *line, size_t len,
                     const char *namespace) {
        struct listed_workload workload = {0};
        struct workload_usage_name name;
        struct error err = ERROR_NULL;

        if (workload_usage_parse(line, len, &name, &workload.usage, &err) < 0) {
                list->malformed++;
                return;
        }
        if (!is_of_namespace(&name, namespace))
                return;
        const struct workload_usage *usage = &workload.usage;
        workload.name = xmemdup0(name.text, name.len);
        workload.is_autoscaled = strmap_get(&list->autoscaled, name.text, name.len) != NULL;
        workload.wanted.of[ESTIMATE_CPU] = usage->p95.of[ESTIMATE_CPU];
        workload.wanted.of[ESTIMATE_MEM] = ceil(MEMORY_RESERVE * usage->max.of[ESTIMATE_MEM]);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                workload.unused[r] = (double)usage->pods *
                                     (usage->request.of[r] - workload.wanted.of[r]);
        mem_grow(&list->items, list->count, &list->cap);
        list->items[list->count++] = workload;
}

void workload_list_add(struct workload_list *list, const json_t *config_map,
                       const char *namespace) {
        const char *line = json_string_at(config_map, "data", WORKLOADS_KEY, NULL);

        while (line && *line) {
                size_t len = strcspn(line, "\n");
                add_line(list, line, len, namespace);
                line += len + (line[len] == '\n');
        }
}

/* ---- Autoscalers. */

static void mark(struct workload_list *list, const char *namespace, const char *kind,
                 const char *name) {
        _cleanup_(freep) char *workload = xasprintf("%s/%s/%s", namespace, kind, name);

        (void)strmap_put(&list->autoscaled, workload, strlen(workload), list);
}

void workload_list_autoscale(struct workload_list *list, const json_t *autoscaler) {
        const char *namespace = json_string_at(autoscaler, "metadata", "namespace", NULL);
        const json_t *target = json_at(autoscaler, "spec", "scaleTargetRef", NULL);
        const char *kind = json_string_at(target, "kind", NULL);
        const char *name = json_string_at(target, "name", NULL);

        if (!namespace || !kind || !name)
                return;
        mark(list, namespace, kind, name);
        /* The pods of a Deployment or a Rollout belong to its ReplicaSets. */
        if (strcmp(kind, "StatefulSet") != 0)
                mark(list, namespace, "ReplicaSet", name);
}
