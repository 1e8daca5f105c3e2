#include "extender/table/usage_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "kube/reflector.h"
#include "policy/usage/workload_usage.h"

struct usage_shard {
        struct usage_watch *watch;
        size_t number;
        char selector[64]; /* of fields */
        struct reflector *reflector;
        bool is_malformed; /* which was logged */
};

struct usage_watch {
        const struct daemon *daemon;
        struct estimator *estimator;
        char *path;
        size_t count;
        struct usage_shard shards[WORKLOADS_SHARDS_MAX];
};

static void set_count(struct usage_watch *watch, size_t count);

/* Return: false: it cannot be read */
static bool take_line(const struct usage_shard *shard, const char *line, size_t len,
                      struct error *err) {
        struct workload_usage_name name;
        struct workload_usage usage;

        if (workload_usage_parse(line, len, &name, &usage, err) < 0)
                return false;
        estimator_measure_workload(shard->watch->estimator, (uint32_t)shard->number, name.text,
                                   name.len,
                                   &(struct workload_measure){
                                           .mean = usage.mean,
                                           .spread = usage.spread,
                                           .request = pod_load_counted(&usage.request),
                                           .pods = usage.pods,
                                   });
        return true;
}

/* @lines: NULL: there are none */
static void take_lines(struct usage_shard *shard, const char *lines) {
        struct error err = ERROR_NULL;
        size_t malformed = 0;

        estimator_workloads_begin(shard->watch->estimator);
        for (const char *line = lines; line && *line != '\0';) {
                size_t len = strcspn(line, "\n");
                malformed += !take_line(shard, line, len, &err);
                line += len + (line[len] == '\n');
        }
        estimator_workloads_ended(shard->watch->estimator, (uint32_t)shard->number);
        if (malformed > 0 && !shard->is_malformed)
                log_warn(MSG("workloads cannot be read"),
                         STR("config_map", strchr(shard->selector, '=') + 1),
                         INT("lines", (int64_t)malformed), STR("reason", err.msg));
        shard->is_malformed = malformed > 0;
}

static void usage_on_config_map(void *userdata, enum reflector_event event, const json_t *object) {
        struct usage_shard *shard = userdata;
        const json_t *data = event == REFLECTOR_DELETED ? NULL : json_at(object, "data", NULL);

        take_lines(shard, json_string_at(data, WORKLOADS_KEY, NULL));
        if (shard->number == 0)
                set_count(shard->watch,
                          workload_usage_shards(json_string_at(data, WORKLOADS_SHARDS_KEY, NULL)));
}

static void watch_shard(struct usage_watch *watch, size_t number) {
        struct usage_shard *shard = &watch->shards[number];
        char name[WORKLOADS_CONFIG_MAP_MAX];

        *shard = (struct usage_shard){.watch = watch, .number = number};
        workload_usage_config_map(number, name);
        (void)snprintf(shard->selector, sizeof(shard->selector), "metadata.name=%s", name);
        shard->reflector = reflector_new(watch->daemon->loop, watch->daemon->api,
                                         watch->daemon->metrics,
                                         &(struct reflector_spec){
                                                 .name = "workloads",
                                                 .path = watch->path,
                                                 .field_selector = shard->selector,
                                                 .max_objects = 1,
                                                 .on_event = usage_on_config_map,
                                                 .userdata = shard,
                                         });
}

static void set_count(struct usage_watch *watch, size_t count) {
        while (watch->count > count) {
                struct usage_shard *shard = &watch->shards[--watch->count];
                reflector_free(shard->reflector);
                take_lines(shard, NULL);
        }
        while (watch->count < count)
                watch_shard(watch, watch->count++);
}

struct usage_watch *usage_watch_new(const struct daemon *daemon, struct estimator *estimator,
                                    const char *namespace) {
        struct usage_watch *watch = xcalloc(1, sizeof(*watch));

        watch->daemon = daemon;
        watch->estimator = estimator;
        watch->path = xasprintf(KUBE_CORE "/namespaces/%s/configmaps", namespace);
        set_count(watch, 1);
        return watch;
}

void usage_watch_free(struct usage_watch *watch) {
        if (!watch)
                return;
        set_count(watch, 0);
        free(watch->path);
        free(watch);
}

const char *usage_watch_trouble(const struct usage_watch *watch) {
        for (size_t i = 0; i < watch->count; i++) {
                const char *trouble = reflector_trouble(watch->shards[i].reflector);
                if (*trouble)
                        return trouble;
        }
        return "";
}
