#include "extender/estimator/estimator.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "extender/estimator/pod_table.h"

/* Of a node, in cores and in bytes. */
static const double CAPACITY_MIN = 0.001, CAPACITY_MAX = 1e18;

enum {
        SETTLED_STEPS = 300, /* .97 ^ 300 of the way is left */
        RECENT_MS = 900000,
};

struct estimator_node {
        char *name;
        size_t name_len;
        uint32_t number;
        size_t holders; /* its pods, and its row in the node table */
        void *owner;    /* NULL: only pods name it */
        bool is_listed; /* with has_only_recent: inflight.requested is known */
        struct inflight inflight;
};

struct estimator {
        estimator_changed_fn *fn;
        void *userdata;

        struct strmap by_name;         /* struct estimator_node */
        struct estimator_node **nodes; /* by number; NULL: free */
        size_t node_count, node_cap;
        uint32_t *free_numbers;
        size_t free_count, free_cap;
        struct pod_table pods;
        uint32_t generation; /* of the last list of pods */
        size_t ignored_pods;
        bool has_only_recent; /* the pods that are known are those that were just bound */
        bool has_list;        /* all pods were listed once */
        uint64_t samples_begun;
        struct load_sample sample;

        pthread_mutex_t lock; /* guards what follows: the loop's thread writes it, workers read */
        struct workload_set *workloads;
        struct load_factor factor;
        struct reservation reservations[RESERVATIONS_MAX];
        size_t reservation_count; /* the oldest first */
};

static void estimator_lock(struct estimator *estimator) {
        (void)pthread_mutex_lock(&estimator->lock);
}

static void estimator_unlock(struct estimator *estimator) {
        (void)pthread_mutex_unlock(&estimator->lock);
}

struct estimator *estimator_new(estimator_changed_fn *fn, void *userdata) {
        struct estimator *estimator = xcalloc(1, sizeof(*estimator));

        estimator->fn = fn;
        estimator->userdata = userdata;
        (void)pthread_mutex_init(&estimator->lock, NULL);
        estimator->workloads = workload_set_new();
        pod_load_factor_init(&estimator->factor);
        return estimator;
}

/* ---- Nodes. */

static uint32_t take_number(struct estimator *estimator, struct estimator_node *node) {
        if (estimator->free_count > 0) {
                uint32_t number = estimator->free_numbers[--estimator->free_count];
                estimator->nodes[number] = node;
                return number;
        }
        mem_grow(&estimator->nodes, estimator->node_count, &estimator->node_cap);
        estimator->nodes[estimator->node_count] = node;
        return (uint32_t)estimator->node_count++;
}

static struct estimator_node *find_or_add(struct estimator *estimator, const char *name,
                                          size_t name_len) {
        struct estimator_node *node = strmap_get(&estimator->by_name, name, name_len);

        if (node || estimator->by_name.len >= ESTIMATOR_MAX_NODES)
                return node;
        node = xcalloc(1, sizeof(*node));
        node->name = xmemdup0(name, name_len);
        node->name_len = name_len;
        node->number = take_number(estimator, node);
        (void)strmap_put(&estimator->by_name, name, name_len, node);
        return node;
}

static void estimator_node_free(struct estimator *estimator, struct estimator_node *node) {
        inflight_done(&node->inflight, estimator->workloads);
        free(node->name);
        free(node);
}

static void drop_holder(struct estimator *estimator, struct estimator_node *node) {
        if (--node->holders > 0)
                return;
        (void)strmap_remove(&estimator->by_name, node->name, node->name_len);
        mem_grow(&estimator->free_numbers, estimator->free_count, &estimator->free_cap);
        estimator->free_numbers[estimator->free_count++] = node->number;
        estimator->nodes[node->number] = NULL;
        estimator_lock(estimator);
        estimator_node_free(estimator, node);
        estimator_unlock(estimator);
}

void estimator_free(struct estimator *estimator) {
        if (!estimator)
                return;
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i])
                        estimator_node_free(estimator, estimator->nodes[i]);
        workload_set_free(estimator->workloads);
        pod_table_done(&estimator->pods);
        strmap_done(&estimator->by_name);
        free(estimator->nodes);
        free(estimator->free_numbers);
        (void)pthread_mutex_destroy(&estimator->lock);
        free(estimator);
}

struct estimator_node *estimator_node_hold(struct estimator *estimator, const char *name,
                                           size_t name_len, void *owner) {
        struct estimator_node *node = find_or_add(estimator, name, name_len);

        if (!node)
                return NULL;
        node->holders++;
        node->owner = owner;
        return node;
}

void estimator_node_release(struct estimator *estimator, struct estimator_node *node) {
        if (!node)
                return;
        node->owner = NULL;
        drop_holder(estimator, node);
}

uint32_t estimator_node_number(const struct estimator_node *node) {
        return node->number;
}

const char *estimator_node_name(const struct estimator_node *node) {
        return node->name;
}

bool estimator_set_capacity(struct estimator_node *node, const struct pod_load *capacity) {
        bool has_changed = false;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double of = capacity->of[r] >= CAPACITY_MIN && capacity->of[r] <= CAPACITY_MAX
                                    ? capacity->of[r]
                                    : 0;
                has_changed |= of < node->inflight.capacity.of[r] ||
                               of > node->inflight.capacity.of[r];
                node->inflight.capacity.of[r] = of;
        }
        /* Readings are shares: the same share of another capacity is another number of cores. */
        for (int r = 0; has_changed && r < ESTIMATE_RESOURCE_COUNT; r++)
                node->inflight.readings[r].window_ms = 0;
        return has_changed;
}

void estimator_read(struct estimator *estimator, struct estimator_node *node, int resource,
                    const struct inflight_reading *reading) {
        const struct inflight_reading *known = &node->inflight.readings[resource];

        if (known->window_ms == reading->window_ms &&
            known->ends_unix_ms == reading->ends_unix_ms &&
            !(known->ratio < reading->ratio || known->ratio > reading->ratio))
                return;
        estimator_lock(estimator);
        inflight_read(&node->inflight, estimator->workloads, resource, reading, &estimator->factor);
        estimator_unlock(estimator);
}

void estimator_usage(const struct estimator *estimator, const struct estimator_node *node,
                     const int64_t window_ms[static ESTIMATE_RESOURCE_COUNT], int64_t now_unix_ms,
                     struct estimator_usage *ret) {
        const struct inflight *inflight = &node->inflight;
        bool knows_pods = estimator->has_only_recent ? node->is_listed : estimator->has_list;

        ret->until_unix_ms = INT64_MAX;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                int64_t forgotten_unix_ms = inflight->readings[r].ends_unix_ms + INFLIGHT_MEMORY_MS;
                bool is_forgotten = (!estimator->has_only_recent || node->is_listed) &&
                                    now_unix_ms >= forgotten_unix_ms;
                bool has_reading = window_ms[r] > 0 && inflight->readings[r].window_ms > 0 &&
                                   !is_forgotten;
                double capacity = inflight->capacity.of[r];
                ret->per_capacity[r] = capacity > 0 ? 1 / capacity : 0;
                ret->is_known[r] = has_reading || (knows_pods && capacity > 0);
                ret->ratio[r] = has_reading
                                        ? inflight_usage_ratio(inflight, r, &estimator->factor)
                                        : inflight_expected_ratio(inflight, r, &estimator->factor);
                if (has_reading && forgotten_unix_ms < ret->until_unix_ms)
                        ret->until_unix_ms = forgotten_unix_ms;
        }
}

/* ---- Pods. */

static void notify_owner(const struct estimator *estimator, const struct estimator_node *node) {
        if (node->owner)
                estimator->fn(estimator->userdata, node->owner);
}

static struct inflight_pod as_inflight(const struct pod_entry *entry) {
        return (struct inflight_pod){
                .id = entry->id,
                .workload = entry->workload,
                .request = {{(double)entry->cores, (double)entry->bytes}},
                .bound_unix_ms = entry->bound_unix_ms,
                .gone_unix_ms = INFLIGHT_LIVE,
        };
}

static void end_reservation(struct estimator *estimator, uint64_t id) {
        size_t kept = 0;

        for (size_t i = 0; i < estimator->reservation_count; i++)
                if (estimator->reservations[i].pod_id != id)
                        estimator->reservations[kept++] = estimator->reservations[i];
        estimator->reservation_count = kept;
}

void estimator_list_begins(struct estimator *estimator) {
        estimator->generation++;
}

void estimator_bind(struct estimator *estimator, const struct estimator_pod *pod) {
        struct pod_entry *entry = pod_table_get(&estimator->pods, pod->id);

        if (entry) {
                entry->generation = estimator->generation;
                return;
        }
        struct estimator_node *node = find_or_add(estimator, pod->node, pod->node_len);
        entry = node ? pod_table_add(&estimator->pods, pod->id) : NULL;
        if (!entry) {
                estimator->ignored_pods++;
                return;
        }
        node->holders++;
        entry->node = node;
        entry->bound_unix_ms = pod->bound_unix_ms;
        const struct pod_load request = pod_load_counted(&pod->request);
        entry->cores = (float)request.of[ESTIMATE_CPU];
        entry->bytes = (float)request.of[ESTIMATE_MEM];
        entry->generation = estimator->generation;
        estimator_lock(estimator);
        if (pod->workload_len > 0)
                entry->workload = workload_set_get(estimator->workloads, pod->workload,
                                                   pod->workload_len, &pod->request,
                                                   &estimator->factor);
        const struct inflight_pod bound = as_inflight(entry);
        inflight_bind(&node->inflight, estimator->workloads, &bound, &estimator->factor);
        end_reservation(estimator, pod->id);
        estimator_unlock(estimator);
        notify_owner(estimator, node);
}

void estimator_bind_recent(struct estimator *estimator, const struct estimator_pod *pod,
                           int64_t now_unix_ms) {
        struct estimator_node *node = strmap_get(&estimator->by_name, pod->node, pod->node_len);
        const struct inflight_pod bound = {
                .id = pod->id,
                .request = pod_load_counted(&pod->request),
                .bound_unix_ms = pod->bound_unix_ms,
                .gone_unix_ms = INFLIGHT_LIVE,
        };

        estimator->has_only_recent = true;
        if (!node || now_unix_ms - pod->bound_unix_ms > RECENT_MS)
                return;
        estimator_lock(estimator);
        inflight_bind(&node->inflight, estimator->workloads, &bound, &estimator->factor);
        if (!node->is_listed)
                node->inflight.requested = (struct pod_load){0};
        end_reservation(estimator, pod->id);
        estimator_unlock(estimator);
        notify_owner(estimator, node);
}

static bool is_in_flight(const struct inflight *node, uint64_t id) {
        for (size_t i = 0; i < node->recent_count; i++)
                if (node->recent[i].id == id)
                        return true;
        return false;
}

void estimator_end_recent(struct estimator *estimator, const struct estimator_pod *pod, bool is_now,
                          int64_t now_unix_ms) {
        struct estimator_node *node = strmap_get(&estimator->by_name, pod->node, pod->node_len);
        const struct inflight_pod gone = {
                .id = pod->id,
                .request = pod_load_counted(&pod->request),
                .bound_unix_ms = pod->bound_unix_ms,
                .gone_unix_ms = now_unix_ms,
        };

        if (!node || (!is_now && !is_in_flight(&node->inflight, pod->id)))
                return;
        estimator_lock(estimator);
        inflight_end(&node->inflight, estimator->workloads, &gone, &estimator->factor);
        estimator_unlock(estimator);
        notify_owner(estimator, node);
}

static void end_entry(struct estimator *estimator, struct pod_entry *entry, int64_t now_unix_ms) {
        struct estimator_node *node = entry->node;
        struct inflight_pod gone = as_inflight(entry);

        gone.gone_unix_ms = now_unix_ms;
        estimator_lock(estimator);
        inflight_end(&node->inflight, estimator->workloads, &gone, &estimator->factor);
        workload_unref(estimator->workloads, entry->workload);
        estimator_unlock(estimator);
        pod_table_remove(&estimator->pods, entry);
        notify_owner(estimator, node);
        drop_holder(estimator, node);
}

void estimator_end(struct estimator *estimator, uint64_t id, int64_t now_unix_ms) {
        struct pod_entry *entry = pod_table_get(&estimator->pods, id);

        if (entry)
                end_entry(estimator, entry, now_unix_ms);
}

void estimator_list_ended(struct estimator *estimator, int64_t now_unix_ms) {
        struct pod_entry *entry;
        size_t position = 0;

        while ((entry = pod_table_sweep(&estimator->pods, estimator->generation, &position)))
                end_entry(estimator, entry, now_unix_ms);
        if (estimator->has_list)
                return;
        estimator->has_list = true;
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i])
                        notify_owner(estimator, estimator->nodes[i]);
}

static void forget_list(const struct estimator *estimator, struct estimator_node *node) {
        if (!node->is_listed)
                return;
        node->is_listed = false;
        node->inflight.requested = (struct pod_load){0};
        notify_owner(estimator, node);
}

static bool is_reading_fresh(const struct inflight_reading *reading, int64_t now_unix_ms) {
        return reading->window_ms > 0 &&
               now_unix_ms - reading->ends_unix_ms < 2 * reading->window_ms;
}

/* Long enough before the reading is forgotten to list the node's pods until then. */
static bool is_read(const struct estimator_node *node, int resource, int64_t now_unix_ms) {
        const struct inflight_reading *reading = &node->inflight.readings[resource];

        return reading->window_ms > 0 &&
               now_unix_ms - reading->ends_unix_ms < INFLIGHT_MEMORY_MS / 2;
}

/* The resources of which some node has a reading: the policy may not need all of them. */
static void find_in_use(const struct estimator *estimator, int64_t now_unix_ms, bool *ret_in_use) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                ret_in_use[r] = false;
                for (size_t i = 0; i < estimator->node_count && !ret_in_use[r]; i++)
                        ret_in_use[r] = estimator->nodes[i] &&
                                        is_read(estimator->nodes[i], r, now_unix_ms);
        }
}

/* Does the node lack a reading that other nodes have, or has none a reading? */
static bool is_unread(const struct estimator_node *node, int64_t now_unix_ms, const bool *in_use) {
        bool is_read_at_all = false;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                if (in_use[r] && !is_read(node, r, now_unix_ms))
                        return true;
                is_read_at_all |= in_use[r];
        }
        return !is_read_at_all;
}

const struct estimator_node *estimator_sample_next(struct estimator *estimator, int64_t now_unix_ms,
                                                   int64_t *ret_wait_ms) {
        /* Far from a multiple of any pool's size, so that samples are of all pools. */
        static const double STRIDE = 0.6180339887498949;
        struct estimator_node *unlisted = NULL, *unread = NULL, *read = NULL;
        size_t count = estimator->node_count;
        bool in_use[ESTIMATE_RESOURCE_COUNT];

        estimator->has_only_recent = true;
        find_in_use(estimator, now_unix_ms, in_use);
        double turns = (double)++estimator->samples_begun * STRIDE;
        size_t first = (size_t)((turns - floor(turns)) * (double)count);
        for (size_t i = 0; i < count; i++) {
                struct estimator_node *node = estimator->nodes[(first + i) % count];
                if (!node || !node->owner)
                        continue;
                struct estimator_node **place = !is_unread(node, now_unix_ms, in_use) ? &read
                                                : node->is_listed                     ? &unread
                                                                                      : &unlisted;
                if (!*place)
                        *place = node;
                if (place == &read)
                        forget_list(estimator, node);
        }
        *ret_wait_ms = unlisted ? ESTIMATOR_SAMPLE_SOON_MS : ESTIMATOR_SAMPLE_MS;
        if (unlisted)
                return unlisted;
        return unread && (!read || estimator->samples_begun % 2 == 0) ? unread : read;
}

void estimator_sample_pod(struct estimator_sample *sample, const struct pod_load *request) {
        struct pod_load load = pod_load_counted(request);

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                sample->requested.of[r] += load.of[r];
}

void estimator_sample_end(struct estimator *estimator, const char *name, size_t name_len,
                          const struct estimator_sample *sample, int64_t now_unix_ms) {
        struct estimator_node *node = strmap_get(&estimator->by_name, name, name_len);

        if (!node)
                return;
        estimator_lock(estimator);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct inflight_reading *reading = &node->inflight.readings[r];
                double capacity = node->inflight.capacity.of[r];
                if (capacity > 0 && is_reading_fresh(reading, now_unix_ms))
                        pod_load_factor_sample(&estimator->factor, &estimator->sample, r,
                                               reading->ratio, sample->requested.of[r] / capacity);
        }
        estimator_unlock(estimator);
        node->is_listed = true;
        node->inflight.requested = sample->requested;
        notify_owner(estimator, node);
}

void estimator_step(struct estimator *estimator, int64_t now_unix_ms) {
        struct pod_load measured = {0}, requested = {0};

        for (size_t i = 0; i < estimator->node_count; i++)
                for (int r = 0; estimator->nodes[i] && r < ESTIMATE_RESOURCE_COUNT; r++) {
                        const struct inflight *node = &estimator->nodes[i]->inflight;
                        if (node->capacity.of[r] <= 0 ||
                            !is_reading_fresh(&node->readings[r], now_unix_ms))
                                continue;
                        measured.of[r] += node->readings[r].ratio * node->capacity.of[r];
                        requested.of[r] += node->held.of[r];
                }
        estimator_lock(estimator);
        pod_load_factor_move(&estimator->factor, &measured, &requested);
        estimator_unlock(estimator);
}

void estimator_settle(struct estimator *estimator, int64_t now_unix_ms) {
        estimator->has_list |= estimator->pods.count > 0;
        for (int i = 0; i < SETTLED_STEPS; i++)
                estimator_step(estimator, now_unix_ms);
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i]) {
                        inflight_recount(&estimator->nodes[i]->inflight, &estimator->factor);
                        notify_owner(estimator, estimator->nodes[i]);
                }
}

/* ---- Any thread. */

static void forget_old_reservations(struct estimator *estimator, int64_t now_mono_ms) {
        size_t old = 0;

        while (old < estimator->reservation_count &&
               estimator->reservations[old].until_mono_ms <= now_mono_ms)
                old++;
        estimator->reservation_count -= old;
        memmove(estimator->reservations, estimator->reservations + old,
                estimator->reservation_count * sizeof(*estimator->reservations));
}

void estimator_stats(struct estimator *estimator, int64_t now_mono_ms,
                     struct estimator_stats *ret) {
        estimator_lock(estimator);
        forget_old_reservations(estimator, now_mono_ms);
        *ret = (struct estimator_stats){
                .pods = estimator->pods.count,
                .ignored_pods = estimator->ignored_pods,
                .workloads = workload_set_count(estimator->workloads),
                .reservations = estimator->reservation_count,
                .factor = estimator->factor,
        };
        estimator_unlock(estimator);
}

struct estimator_expectation estimator_expect(struct estimator *estimator, const char *workload,
                                              size_t workload_len, const struct pod_load *request) {
        estimator_lock(estimator);
        const struct workload *of = workload_set_find(estimator->workloads, workload, workload_len);
        struct estimator_expectation expectation = {
                .load = workload_estimate(of, request, &estimator->factor),
                .factor = estimator->factor,
                .is_learned = of && workload_is_learned(of),
        };
        if (expectation.is_learned)
                expectation.confidence = workload_confidence(of);
        estimator_unlock(estimator);
        return expectation;
}

void estimator_reserve(struct estimator *estimator, uint64_t id, uint32_t node_number,
                       const struct pod_load *load, int64_t now_mono_ms) {
        estimator_lock(estimator);
        end_reservation(estimator, id);
        if (estimator->reservation_count == RESERVATIONS_MAX)
                end_reservation(estimator, estimator->reservations[0].pod_id);
        estimator->reservations[estimator->reservation_count++] = (struct reservation){
                .pod_id = id,
                .node_number = node_number,
                .until_mono_ms = now_mono_ms + ESTIMATOR_RESERVATION_MS,
                .load = *load,
        };
        estimator_unlock(estimator);
}

size_t estimator_reservations(struct estimator *estimator, uint64_t id, int64_t now_mono_ms,
                              struct reservation ret[static RESERVATIONS_MAX]) {
        size_t count = 0;

        estimator_lock(estimator);
        forget_old_reservations(estimator, now_mono_ms);
        for (size_t i = 0; i < estimator->reservation_count; i++)
                if (estimator->reservations[i].pod_id != id)
                        ret[count++] = estimator->reservations[i];
        estimator_unlock(estimator);
        return count;
}
