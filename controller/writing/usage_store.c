#include "controller/writing/usage_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum {
        ANSWER_MAX_BYTES = 4 << 20,
        MAX_RETRIES = 2,
        EXPECTED_LINE_BYTES = 400,
};

/* A workload has moved if its mean differs by this share, and by so much. */
static const double MOVED_SHARE = 0.1;
static const double MOVED_LEAST[ESTIMATE_RESOURCE_COUNT] = {0.002, 4 << 20};

struct usage_store {
        struct usage_store_options options;
        struct kube_fence fence;
        enum { STORE_STANDBY, STORE_READING, STORE_WRITING } phase;
        struct kube_call *call; /* NULL: none; there is one at a time */
        size_t shards;          /* that exist or will */
        size_t at;              /* the one that is read or written */
        bool is_creating;       /* `call` creates the ConfigMap */
        int64_t next_mono_ms;   /* the next round */
        struct shard {
                uint64_t names; /* a hash of the names in it */
                int64_t written_mono_ms;
                bool is_written, has_moved;
        } written[WORKLOADS_SHARDS_MAX];
        char trouble[ERROR_MSG_MAX];
        struct metrics_series *writes, *workloads;
};

static int64_t store_now(const struct usage_store *store) {
        return loop_now_mono_ms(store->options.daemon->loop);
}

struct usage_store *usage_store_new(const struct usage_store_options *options) {
        struct usage_store *store = xcalloc(1, sizeof(*store));

        store->options = *options;
        store->writes = metrics_counter(options->daemon->metrics, "plimsoll_workload_writes_total",
                                        "ConfigMaps written with what pods of workloads use.",
                                        NULL);
        store->workloads = metrics_gauge(options->daemon->metrics, "plimsoll_workloads_measured",
                                         "Workloads of which it is known what a pod uses.", NULL);
        return store;
}

void usage_store_free(struct usage_store *store) {
        if (!store)
                return;
        kube_cancel(store->call);
        free(store);
}

const char *usage_store_trouble(const struct usage_store *store) {
        return store->trouble;
}

static void set_trouble(struct usage_store *store, const struct kube_answer *answer,
                        const char *what) {
        bool was_well = !store->trouble[0];

        (void)snprintf(store->trouble, sizeof(store->trouble), "%s: %.*s", what,
                       (int)sizeof(store->trouble) - 16, answer->err.msg);
        if (was_well)
                log_warn(MSG("cannot keep the usage of workloads"), STR("error", store->trouble));
}

static void set_well(struct usage_store *store) {
        if (store->trouble[0])
                log_info(MSG("the usage of workloads is kept again"));
        store->trouble[0] = '\0';
}

/* The call for ConfigMap number `at`. @method: POST to create it; @body: NULL: none */
static void start_call(struct usage_store *store, const char *method, const char *body,
                       kube_done_fn *on_done) {
        char name[WORKLOADS_CONFIG_MAP_MAX];

        workload_usage_config_map(store->at, name);
        store->is_creating = strcmp(method, "POST") == 0;
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, store->options.namespace, "configmaps",
                                                store->is_creating ? NULL : name,
                                                "?fieldManager=" KUBE_FIELD_MANAGER);
        store->call = kube_start(
                store->options.daemon->api,
                &(struct kube_request){
                        .method = method,
                        .path = path,
                        .resource = "configmaps",
                        .content_type = store->is_creating ? NULL : "application/merge-patch+json",
                        .body = body,
                        .body_bytes = body ? strlen(body) : 0,
                        .max_body_bytes = ANSWER_MAX_BYTES,
                        .max_retries = MAX_RETRIES,
                        .fence = store->fence,
                        .on_done = on_done,
                        .userdata = store,
                });
}

/* Reading */

/* A broken line costs one workload. */
static void import_lines(struct usage_store *store, const char *text) {
        while (*text) {
                size_t len = strcspn(text, "\n");
                struct workload_usage_name name;
                struct workload_usage usage;
                if (workload_usage_parse(text, len, &name, &usage, NULL) == 0)
                        workload_meter_import(store->options.meter, &name, &usage);
                text += len + (text[len] == '\n');
        }
}

static void on_config_map_read(void *userdata, const struct kube_answer *answer) {
        struct usage_store *store = userdata;
        json_auto_t *object = NULL;

        store->call = NULL;
        if (answer->outcome == KUBE_OK) {
                if (json_parse(answer->body, answer->body_bytes, &object, NULL) < 0)
                        object = NULL;
                const char *lines = json_string_at(object, "data", WORKLOADS_KEY, NULL);
                if (store->at == 0)
                        store->shards = workload_usage_shards(
                                json_string_at(object, "data", WORKLOADS_SHARDS_KEY, NULL));
                if (lines)
                        import_lines(store, lines);
        } else if (answer->outcome != KUBE_NOT_FOUND) {
                set_trouble(store, answer, "reading");
                store->at = 0;
                store->next_mono_ms = store_now(store) + store->options.interval_ms;
                return;
        }
        if (++store->at < store->shards) {
                start_call(store, "GET", NULL, on_config_map_read);
                return;
        }
        set_well(store);
        store->phase = STORE_WRITING;
        store->next_mono_ms = store_now(store) + store->options.interval_ms;
}

/* Writing */

struct told {
        struct metered_workload *workload;
        double size; /* by what it uses */
};

static int compare_told(const void *a, const void *b) {
        const struct told *left = a, *right = b;

        if (left->size > right->size || left->size < right->size)
                return left->size > right->size ? -1 : 1;
        return strcmp(left->workload->name, right->workload->name);
}

/* All workloads that are known, the largest first; owned by the caller. */
static struct told *list_workloads(const struct usage_store *store, size_t *ret_count) {
        const struct strmap *workloads = &store->options.meter->workloads;
        struct told *list = xcalloc(workloads->len + 1, sizeof(*list));
        struct strmap_entry *entry;
        size_t count = 0;

        STRMAP_FOREACH (entry, workloads) {
                struct metered_workload *workload = entry->value;
                struct pod_load mean;
                if (!workload_meter_mean(workload, &mean))
                        continue;
                double pods = (double)size_max(workload->usage.pods, 1);
                list[count++] = (struct told){
                        workload, pods * (mean.of[ESTIMATE_CPU] + mean.of[ESTIMATE_MEM] / 0x1p32)};
        }
        qsort(list, count, sizeof(*list), compare_told);
        *ret_count = size_min(count, WORKLOADS_PUBLISHED_MAX);
        return list;
}

static bool is_moved(const struct metered_workload *workload) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double told = workload->told_mean.of[r];
                double distance = fabs(workload->usage.mean.of[r] - told);
                if (distance > MOVED_LEAST[r] && distance > MOVED_SHARE * told)
                        return true;
        }
        return false;
}

/* Which ConfigMaps have moved. */
static void look_at_shards(struct usage_store *store) {
        uint64_t names[WORKLOADS_SHARDS_MAX] = {0};
        size_t count;
        _cleanup_(freep) struct told *list = list_workloads(store, &count);
        size_t wanted = count * EXPECTED_LINE_BYTES / WORKLOADS_SHARD_BYTES + 1;

        metrics_set(store->workloads, (double)count);
        if (wanted > store->shards) {
                store->shards = size_min(wanted, WORKLOADS_SHARDS_MAX);
                memset(store->written, 0, sizeof(store->written));
        }
        for (size_t i = 0; i < count; i++) {
                const struct metered_workload *workload = list[i].workload;
                size_t at = workload_usage_shard(workload->name, workload->name_len, store->shards);
                names[at] ^= hash_fnv1a(HASH_FNV1A_INIT, workload->name, workload->name_len);
                store->written[at].has_moved |= is_moved(workload);
        }
        for (size_t i = 0; i < store->shards; i++) {
                struct shard *shard = &store->written[i];
                shard->has_moved |= !shard->is_written || names[i] != shard->names ||
                                    store_now(store) - shard->written_mono_ms >= STORE_KEPT_MS;
                shard->names = names[i];
        }
}

/* The lines of ConfigMap number `at`. */
static void write_lines(const struct usage_store *store, struct buf *out) {
        size_t count;
        _cleanup_(freep) struct told *list = list_workloads(store, &count);
        int64_t now_unix_ms = loop_now_unix_ms(store->options.daemon->loop);

        for (size_t i = 0; i < count; i++) {
                struct metered_workload *workload = list[i].workload;
                if (workload_usage_shard(workload->name, workload->name_len, store->shards) !=
                            store->at ||
                    out->len + WORKLOAD_USAGE_LINE_MAX > out->max_bytes)
                        continue;
                workload_usage_format(workload_meter_show(workload, now_unix_ms), workload->name,
                                      workload->name_len, out);
                workload->told_mean = workload->usage.mean;
        }
}

static void on_config_map_written(void *userdata, const struct kube_answer *answer);

/* Write ConfigMap number `at`. */
static void write_shard(struct usage_store *store, const char *method) {
        _cleanup_(buf_done) struct buf lines = BUF_INIT(WORKLOADS_SHARD_BYTES);
        char name[WORKLOADS_CONFIG_MAP_MAX], shards[8];

        write_lines(store, &lines);
        workload_usage_config_map(store->at, name);
        (void)snprintf(shards, sizeof(shards), "%zu", store->shards);
        json_auto_t *object = json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:s, s:s}}", "apiVersion",
                                        "v1", "kind", "ConfigMap", "metadata", "name", name,
                                        "labels", "app.kubernetes.io/part-of", "plimsoll", "data",
                                        WORKLOADS_SHARDS_KEY, shards, WORKLOADS_KEY,
                                        lines.len > 0 ? lines.data : "");
        char *body = json_dumps(object, JSON_COMPACT);
        start_call(store, method, body, on_config_map_written);
        free(body);
}

static void write_next(struct usage_store *store) {
        store->at = 0;
        while (store->at < store->shards && !store->written[store->at].has_moved)
                store->at++;
        if (store->at < store->shards)
                write_shard(store, "PATCH");
}

static void on_config_map_written(void *userdata, const struct kube_answer *answer) {
        struct usage_store *store = userdata;
        struct shard *shard = &store->written[store->at];

        store->call = NULL;
        if (answer->outcome == KUBE_NOT_FOUND && !store->is_creating) {
                write_shard(store, "POST");
                return;
        }
        if (answer->outcome != KUBE_OK) {
                set_trouble(store, answer, "writing");
                return;
        }
        set_well(store);
        metrics_inc(store->writes);
        shard->is_written = true;
        shard->has_moved = false;
        shard->written_mono_ms = store_now(store);
        write_next(store);
}

/* The leader */

void usage_store_set_writer(struct usage_store *store, const struct kube_fence *fence) {
        if (!fence == (store->phase == STORE_STANDBY))
                return;
        kube_cancel(TAKE_PTR(store->call));
        memset(store->written, 0, sizeof(store->written));
        store->fence = fence ? *fence : (struct kube_fence){0};
        store->phase = fence ? STORE_READING : STORE_STANDBY;
        store->shards = 1;
        store->at = 0;
        store->next_mono_ms = 0;
}

void usage_store_tick(struct usage_store *store) {
        if (store->phase == STORE_STANDBY || store->call || store_now(store) < store->next_mono_ms)
                return;
        if (store->phase == STORE_READING) {
                start_call(store, "GET", NULL, on_config_map_read);
                return;
        }
        store->next_mono_ms = store_now(store) + store->options.interval_ms;
        look_at_shards(store);
        write_next(store);
}
