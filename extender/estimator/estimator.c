#include "extender/estimator/estimator.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "extender/estimator/pod_table.h"

/* The capacity of a node, in cores or bytes. */
static const double CAPACITY_MIN = 0.001, CAPACITY_MAX = 1e18;
/* For means over nodes: see shares_mean(). */
static const double WEIGHT_MAX = 16, TRIM_MIN = 0.02, TRIM_MAX = 0.45;

struct estimator_node {
        char *name;
        size_t name_len;
        uint32_t number;
        size_t holders; /* its pods, plus its row in the node table */
        void *owner;    /* NULL: known only from pods */
        struct tracked_node tracked;
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
        bool has_list;       /* all pods were listed once */

        pthread_mutex_t lock; /* guards what follows: the loop's thread writes it, workers read */
        struct workload_set *workloads;
        struct cluster_load cluster;
        struct reservations reservations;
        uint64_t publication; /* the last one, see estimator_published() */
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
        pod_load_factor_init(&estimator->cluster.factor);
        estimator->cluster.pods_known_since_unix_ms = INT64_MAX;
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
        tracked_node_done(&node->tracked, estimator->workloads);
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
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                estimator_forget_reading(node, r);
        drop_holder(estimator, node);
}

uint32_t estimator_node_number(const struct estimator_node *node) {
        return node->number;
}

bool estimator_set_capacity(struct estimator_node *node, const struct pod_load *capacity) {
        bool has_changed = false;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double of = capacity->of[r] >= CAPACITY_MIN && capacity->of[r] <= CAPACITY_MAX
                                    ? capacity->of[r]
                                    : 0;
                has_changed |= of < node->tracked.capacity.of[r] ||
                               of > node->tracked.capacity.of[r];
                node->tracked.capacity.of[r] = of;
        }
        /* Readings are shares of the capacity, so they no longer give the number of cores. */
        for (int r = 0; has_changed && r < ESTIMATE_RESOURCE_COUNT; r++)
                node->tracked.readings[r].window_ms = 0;
        return has_changed;
}

void estimator_read(struct estimator *estimator, struct estimator_node *node, int resource,
                    const struct tracked_reading *reading, const struct tracked_reading *shorter) {
        const struct tracked_reading *known = &node->tracked.readings[resource];

        if (known->window_ms == reading->window_ms &&
            known->ends_unix_ms == reading->ends_unix_ms &&
            !(known->ratio < reading->ratio || known->ratio > reading->ratio))
                return;
        estimator_lock(estimator);
        tracked_node_read(&node->tracked, estimator->workloads, resource, reading, shorter,
                          &estimator->cluster);
        estimator_unlock(estimator);
}

void estimator_forget_reading(struct estimator_node *node, int resource) {
        node->tracked.readings[resource].window_ms = 0;
}

void estimator_usage(const struct estimator *estimator, const struct estimator_node *node,
                     struct estimator_usage *ret) {
        const struct tracked_node *tracked = &node->tracked;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double capacity = tracked->capacity.of[r];
                ret->per_capacity[r] = capacity > 0 ? 1 / capacity : 0;
                ret->is_known[r] = capacity > 0 &&
                                   (tracked->readings[r].window_ms > 0 || estimator->has_list);
                ret->ratio[r] = tracked_node_usage_ratio(tracked, r, &estimator->cluster);
                ret->margin_ratio[r] = tracked_node_margin_ratio(tracked, r);
        }
}

/* ---- Pods. */

static void notify_owner(const struct estimator *estimator, const struct estimator_node *node) {
        if (node->owner)
                estimator->fn(estimator->userdata, node->owner);
}

void estimator_list_begins(struct estimator *estimator) {
        estimator->generation++;
}

void estimator_set_known_since(struct estimator *estimator, int64_t since_unix_ms) {
        estimator_lock(estimator);
        estimator->cluster.pods_known_since_unix_ms = since_unix_ms;
        estimator_unlock(estimator);
}

static bool is_other_load(const struct pod_load *a, const struct pod_load *b) {
        bool is_other = false;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                is_other |= a->of[r] < b->of[r] || a->of[r] > b->of[r];
        return is_other;
}

/* A known pod may have started, or may have been resized in place. */
static void update_entry(const struct estimator *estimator, struct pod_entry *entry,
                         const struct estimator_pod *pod) {
        const struct pod_load from = entry->request, to = pod_load_counted(&pod->request);

        entry->generation = estimator->generation;
        bool is_news = pod->runs_unix_ms != TRACKED_NEVER &&
                       tracked_node_start(&entry->node->tracked, pod->id, pod->runs_unix_ms);
        entry->request = to;
        if (is_other_load(&from, &to)) {
                tracked_node_resize(&entry->node->tracked, pod->id, &from, &to,
                                    &estimator->cluster);
                is_news = true;
        }
        if (is_news)
                notify_owner(estimator, entry->node);
}

static void end_entry(struct estimator *estimator, struct pod_entry *entry, int64_t now_unix_ms) {
        struct estimator_node *node = entry->node;

        estimator_lock(estimator);
        tracked_node_end(&node->tracked, estimator->workloads, entry->id, &entry->request,
                         now_unix_ms);
        estimator_unlock(estimator);
        pod_table_remove(&estimator->pods, entry);
        notify_owner(estimator, node);
        drop_holder(estimator, node);
}

static bool is_bound_to(const struct pod_entry *entry, const struct estimator_pod *pod) {
        const struct estimator_node *node = entry->node;

        return node->name_len == pod->node_len && memcmp(node->name, pod->node, pod->node_len) == 0;
}

void estimator_bind(struct estimator *estimator, const struct estimator_pod *pod) {
        enum { LONG_AGO_MS = 0 };
        struct pod_entry *entry = pod_table_get(&estimator->pods, pod->id);

        if (entry && is_bound_to(entry, pod)) {
                update_entry(estimator, entry, pod);
                return;
        }
        /* The API server was restored from a backup that is older than the binding. */
        if (entry)
                end_entry(estimator, entry, LONG_AGO_MS);
        struct estimator_node *node = find_or_add(estimator, pod->node, pod->node_len);
        if (!node)
                return;
        node->holders++;
        entry = pod_table_add(&estimator->pods, pod->id);
        if (!entry) {
                drop_holder(estimator, node);
                return;
        }
        entry->node = node;
        entry->generation = estimator->generation;
        const struct pod_load request = pod_load_counted(&pod->request);
        entry->request = request;
        estimator_lock(estimator);
        struct workload *workload = NULL;
        if (pod->workload_len > 0)
                workload = workload_set_get(estimator->workloads, pod->workload, pod->workload_len,
                                            &pod->request);
        tracked_node_bind(&node->tracked, pod->id, workload, &request, pod->runs_unix_ms,
                          &estimator->cluster);
        workload_unref(estimator->workloads, workload);
        reservations_bound(&estimator->reservations, pod->id, node->number,
                           estimator->publication + 1);
        estimator_unlock(estimator);
        notify_owner(estimator, node);
}

void estimator_end(struct estimator *estimator, uint64_t id, int64_t now_unix_ms) {
        struct pod_entry *entry = pod_table_get(&estimator->pods, id);

        if (entry)
                end_entry(estimator, entry, now_unix_ms);
}

void estimator_leave_out(struct estimator *estimator, const struct estimator_pod *pod,
                         int64_t now_unix_ms) {
        struct estimator_node *node = strmap_get(&estimator->by_name, pod->node, pod->node_len);
        const struct pod_load expected =
                estimator_expect(estimator, pod->workload, pod->workload_len, &pod->request).load;

        if (pod_table_get(&estimator->pods, pod->id)) {
                estimator_end(estimator, pod->id, now_unix_ms);
                return;
        }
        for (int r = 0; node && r < ESTIMATE_RESOURCE_COUNT; r++)
                node->tracked.pods_used.of[r] = fmax(0, node->tracked.pods_used.of[r] -
                                                                expected.of[r]);
        if (node)
                notify_owner(estimator, node);
}

void estimator_set_back(struct estimator *estimator, int64_t by_ms, int64_t now_unix_ms) {
        int64_t since_unix_ms = estimator->cluster.pods_known_since_unix_ms;

        if (since_unix_ms > now_unix_ms && since_unix_ms != INT64_MAX)
                estimator_set_known_since(estimator, since_unix_ms - by_ms);
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i])
                        tracked_node_set_back(&estimator->nodes[i]->tracked, by_ms, now_unix_ms);
}

void estimator_published(struct estimator *estimator, uint64_t publication) {
        estimator_lock(estimator);
        estimator->publication = publication;
        reservations_published(&estimator->reservations, publication);
        estimator_unlock(estimator);
}

static bool is_reading_fresh(const struct tracked_reading *reading, int64_t now_unix_ms) {
        return reading->window_ms > 0 &&
               now_unix_ms - reading->ends_unix_ms < 2 * reading->window_ms;
}

/* ---- Trimmed means over nodes, which no single node can decide, however wrong it is. */

struct share {
        double ratio, weight;
};

struct shares {
        struct share *of;
        size_t count;
};

static struct shares shares_new(const struct estimator *estimator) {
        return (struct shares){.of = xcalloc(estimator->node_count + 1, sizeof(struct share))};
}

static int compare_ratios(const void *a, const void *b) {
        double left = ((const struct share *)a)->ratio, right = ((const struct share *)b)->ratio;

        return (left > right) - (left < right);
}

static int compare_weights(const void *a, const void *b) {
        double left = ((const struct share *)a)->weight, right = ((const struct share *)b)->weight;

        return (left > right) - (left < right);
}

static void add_share(struct shares *shares, double amount, double of) {
        if (of > 0)
                shares->of[shares->count++] = (struct share){amount / of, of};
}

/* No node weighs more than WEIGHT_MAX typical ones. Return: the sum of weights */
static double limit_weights(struct shares *shares, double *ret_largest) {
        double sum = 0;

        qsort(shares->of, shares->count, sizeof(*shares->of), compare_weights);
        double most = WEIGHT_MAX * shares->of[shares->count / 2].weight;
        for (size_t i = 0; i < shares->count; i++) {
                shares->of[i].weight = fmin(shares->of[i].weight, most);
                sum += shares->of[i].weight;
        }
        *ret_largest = shares->of[shares->count - 1].weight;
        return sum;
}

/* The mean without the smallest and the largest ratios: 2% of the weight at either end, and at
 * least one node; releases them. Return: NAN: there are none */
static double shares_mean(struct shares *shares) {
        double below = 0, mean = 0, largest = 0;
        double sum = shares->count > 0 ? limit_weights(shares, &largest) : 0;
        double left_out = fmin(fmax(TRIM_MIN * sum, largest), TRIM_MAX * sum);

        qsort(shares->of, shares->count, sizeof(*shares->of), compare_ratios);
        for (size_t i = 0; i < shares->count; i++) {
                double above = below + shares->of[i].weight;
                double inside = fmin(above, sum - left_out) - fmax(below, left_out);
                mean += fmax(0, inside) * shares->of[i].ratio;
                below = above;
        }
        free(shares->of);
        return mean / (sum - 2 * left_out);
}

/* [number of node]: the requests of pods that ran in its last window. */
static struct pod_load *requested_in_windows(const struct estimator *estimator) {
        struct pod_load *requested = xcalloc(estimator->node_count + 1, sizeof(*requested));

        for (size_t i = 0; i < estimator->pods.cap; i++) {
                const struct pod_entry *entry = &estimator->pods.entries[i];
                for (int r = 0; entry->id != 0 && r < ESTIMATE_RESOURCE_COUNT; r++)
                        requested[entry->node->number].of[r] +=
                                entry->request.of[r] *
                                tracked_node_part(&entry->node->tracked, entry->id, r);
        }
        return requested;
}

/* Factors from the last readings alone, without the state of base and pods. */
static void factors_at_start(const struct estimator *estimator, int64_t now_unix_ms,
                             double ret_factors[static ESTIMATE_RESOURCE_COUNT]) {
        _cleanup_(freep) struct pod_load *requested = requested_in_windows(estimator);

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                struct shares factors = shares_new(estimator);
                for (size_t i = 0; i < estimator->node_count; i++) {
                        if (!estimator->nodes[i])
                                continue;
                        const struct tracked_node *node = &estimator->nodes[i]->tracked;
                        if (is_reading_fresh(&node->readings[r], now_unix_ms))
                                add_share(&factors, node->readings[r].ratio * node->capacity.of[r],
                                          requested[i].of[r]);
                }
                ret_factors[r] = shares_mean(&factors);
        }
}

/* Set the factor to its limit, and reset the expected load of every pod. */
static void settle(struct estimator *estimator, int64_t now_unix_ms) {
        double factors[ESTIMATE_RESOURCE_COUNT];

        factors_at_start(estimator, now_unix_ms, factors);
        estimator_lock(estimator);
        pod_load_factor_move(&estimator->cluster.factor, 1, factors);
        estimator_unlock(estimator);
        for (size_t i = 0; i < estimator->pods.cap; i++) {
                const struct pod_entry *entry = &estimator->pods.entries[i];
                if (entry->id != 0)
                        tracked_node_expect_again(&entry->node->tracked, entry->id, &entry->request,
                                                  &estimator->cluster);
        }
        for (size_t i = 0; i < estimator->node_count; i++) {
                if (!estimator->nodes[i])
                        continue;
                tracked_node_begin_again(&estimator->nodes[i]->tracked, &estimator->cluster);
                notify_owner(estimator, estimator->nodes[i]);
        }
}

void estimator_list_ended(struct estimator *estimator, int64_t gone_unix_ms, int64_t now_unix_ms) {
        struct pod_entry *entry;
        size_t position = 0;

        while ((entry = pod_table_sweep(&estimator->pods, estimator->generation, &position)))
                end_entry(estimator, entry, gone_unix_ms);
        /* Pods that started and ended in the meantime stay unknown. */
        if (!estimator->has_list || now_unix_ms - gone_unix_ms > ESTIMATOR_MISSED_MS)
                estimator_set_known_since(estimator, now_unix_ms);
        if (!estimator->has_list) {
                settle(estimator, now_unix_ms);
                estimator_step(estimator, now_unix_ms); /* the mean base, for nodes without one */
        }
        estimator->has_list = true;
}

/* The node has no reading for a resource for which other nodes have readings. */
static bool is_unread(const struct tracked_node *node,
                      const double bases[static ESTIMATE_RESOURCE_COUNT]) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (node->readings[r].window_ms == 0 && isfinite(bases[r]))
                        return true;
        return false;
}

static void measure(const struct estimator *estimator, int r, int64_t now_unix_ms,
                    double *ret_factor, double *ret_base) {
        struct shares factors = shares_new(estimator), bases = shares_new(estimator);

        for (size_t i = 0; i < estimator->node_count; i++) {
                if (!estimator->nodes[i])
                        continue;
                const struct tracked_node *node = &estimator->nodes[i]->tracked;
                double capacity = node->capacity.of[r];
                if (!is_reading_fresh(&node->readings[r], now_unix_ms))
                        continue;
                add_share(&factors, node->pods_used.of[r], node->requested.of[r]);
                add_share(&bases, node->base.of[r], capacity);
        }
        *ret_factor = shares_mean(&factors);
        *ret_base = shares_mean(&bases);
}

void estimator_step(struct estimator *estimator, int64_t now_unix_ms) {
        double factors[ESTIMATE_RESOURCE_COUNT], bases[ESTIMATE_RESOURCE_COUNT];

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                measure(estimator, r, now_unix_ms, &factors[r], &bases[r]);
        estimator_lock(estimator);
        pod_load_factor_move(&estimator->cluster.factor, POD_LOAD_FACTOR_STEP, factors);
        if (estimator->cluster.pods_known_since_unix_ms <= now_unix_ms - ESTIMATOR_DOUBT_MS)
                workload_set_forget_doubtful(estimator->workloads);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (isfinite(bases[r]))
                        estimator->cluster.base_ratio[r] = bases[r];
        estimator_unlock(estimator);
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i] && is_unread(&estimator->nodes[i]->tracked, bases))
                        notify_owner(estimator, estimator->nodes[i]); /* its base is the mean */
}

struct estimator_noise estimator_noise(const struct estimator *estimator, int resource) {
        struct shares noises = shares_new(estimator);
        struct estimator_noise noise = {0};

        for (size_t i = 0; i < estimator->node_count; i++) {
                const struct estimator_node *node = estimator->nodes[i];
                if (node && node->tracked.readings[resource].window_ms > 0)
                        noises.of[noises.count++].ratio = tracked_node_noise_ratio(&node->tracked,
                                                                                   resource);
        }
        qsort(noises.of, noises.count, sizeof(*noises.of), compare_ratios);
        if (noises.count > 0)
                noise = (struct estimator_noise){noises.of[noises.count / 2].ratio,
                                                 noises.of[noises.count - 1].ratio};
        free(noises.of);
        return noise;
}

/* ---- The state, and its import. */

const struct tracked_node *estimator_tracked(const struct estimator *estimator, uint32_t number) {
        return number < estimator->node_count && estimator->nodes[number]
                       ? &estimator->nodes[number]->tracked
                       : NULL;
}

const struct cluster_load *estimator_cluster(const struct estimator *estimator) {
        return &estimator->cluster;
}

const struct workload_set *estimator_workloads(const struct estimator *estimator) {
        return estimator->workloads;
}

void estimator_import_cluster(struct estimator *estimator, const struct cluster_load *cluster) {
        estimator_lock(estimator);
        estimator->cluster = *cluster;
        estimator_unlock(estimator);
        estimator->has_list = true;
}

void estimator_import_node(struct estimator *estimator, const char *name,
                           const struct tracked_node *known) {
        struct estimator_node *node = strmap_get(&estimator->by_name, name, strlen(name));

        if (!node)
                return;
        node->tracked.base = known->base;
        node->tracked.pods_used = known->pods_used;
        node->tracked.pods_variance = known->pods_variance;
        node->tracked.noise = known->noise;
        memcpy(node->tracked.readings, known->readings, sizeof(known->readings));
        notify_owner(estimator, node);
}

void estimator_import_workload(struct estimator *estimator, const struct workload_facts *facts) {
        estimator_lock(estimator);
        workload_set_import(estimator->workloads, facts);
        estimator_unlock(estimator);
}

/* ---- Any thread. */

void estimator_stats(struct estimator *estimator, int64_t now_mono_ms,
                     struct estimator_stats *ret) {
        estimator_lock(estimator);
        reservations_expire(&estimator->reservations, now_mono_ms);
        *ret = (struct estimator_stats){
                .pods = estimator->pods.count,
                .workloads = workload_set_count(estimator->workloads),
                .reservations = estimator->reservations.count,
                .factor = estimator->cluster.factor,
        };
        estimator_unlock(estimator);
}

struct estimator_expectation estimator_expect(struct estimator *estimator, const char *workload,
                                              size_t workload_len, const struct pod_load *request) {
        estimator_lock(estimator);
        const struct workload *of = workload_set_find(estimator->workloads, workload, workload_len);
        struct estimator_expectation expectation = {
                .load = workload_estimate(of, request, &estimator->cluster.factor, NULL),
                .factor = estimator->cluster.factor,
                .is_learned = of && workload_is_learned(of),
        };
        if (expectation.is_learned)
                expectation.confidence = workload_confidence(of);
        estimator_unlock(estimator);
        return expectation;
}

void estimator_reserve(struct estimator *estimator, const struct reservation_pod *pod,
                       uint32_t node_number, const struct pod_load *load, int64_t now_mono_ms) {
        estimator_lock(estimator);
        reservations_add(&estimator->reservations, pod, node_number, load, now_mono_ms);
        estimator_unlock(estimator);
}

size_t estimator_reservations(struct estimator *estimator, const struct reservation_pod *pod,
                              uint64_t publication, int64_t now_mono_ms,
                              struct reservation ret[static RESERVATIONS_MAX]) {
        estimator_lock(estimator);
        reservations_expire(&estimator->reservations, now_mono_ms);
        size_t count = reservations_for(&estimator->reservations, pod, publication, ret);
        estimator_unlock(estimator);
        return count;
}
