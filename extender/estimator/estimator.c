#include "extender/estimator/estimator.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "extender/estimator/trimmed_mean.h"

/* The capacity of a node, in cores or bytes. */
static const double CAPACITY_MIN = 0.001, CAPACITY_MAX = 1e18;

struct estimator_node {
        char *name;
        size_t name_len;
        uint32_t number;
        void *owner; /* NULL: known only from pods */
        struct node_estimate estimate;
};

struct estimator {
        estimator_changed_fn *fn;
        void *userdata;

        struct strmap by_name;         /* struct estimator_node */
        struct estimator_node **nodes; /* by number; NULL: free */
        size_t node_count, node_cap;
        uint32_t *free_numbers;
        size_t free_count, free_cap;
        size_t pod_count;         /* live ones */
        uint32_t generation : 31; /* of the last list of pods */
        bool has_list;            /* all pods were listed once */
        bool has_news;            /* workloads were measured since the last step */

        pthread_mutex_t lock; /* guards what follows: the loop's thread writes it, workers read */
        struct workload_set *workloads;
        struct cluster_load cluster;
        struct estimator_pods pods;
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

static void estimator_node_free(struct estimator_node *node) {
        node_estimate_done(&node->estimate);
        free(node->name);
        free(node);
}

static size_t live_pods(const struct estimator_node *node) {
        return node->estimate.pod_count - node->estimate.gone_count;
}

static void drop_if_unused(struct estimator *estimator, struct estimator_node *node) {
        if (node->owner || live_pods(node) > 0)
                return;
        (void)strmap_remove(&estimator->by_name, node->name, node->name_len);
        mem_grow(&estimator->free_numbers, estimator->free_count, &estimator->free_cap);
        estimator->free_numbers[estimator->free_count++] = node->number;
        estimator->nodes[node->number] = NULL;
        estimator_node_free(node);
}

void estimator_free(struct estimator *estimator) {
        if (!estimator)
                return;
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i])
                        estimator_node_free(estimator->nodes[i]);
        workload_set_free(estimator->workloads);
        strmap_done(&estimator->by_name);
        free(estimator->nodes);
        free(estimator->free_numbers);
        (void)pthread_mutex_destroy(&estimator->lock);
        free(estimator);
}

struct estimator_node *estimator_node_hold(struct estimator *estimator, const char *name,
                                           size_t name_len, void *owner) {
        struct estimator_node *node = find_or_add(estimator, name, name_len);

        if (node)
                node->owner = owner;
        return node;
}

void estimator_node_release(struct estimator *estimator, struct estimator_node *node) {
        if (!node)
                return;
        node->owner = NULL;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                estimator_forget_reading(node, r);
        drop_if_unused(estimator, node);
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
                has_changed |= of < node->estimate.capacity.of[r] ||
                               of > node->estimate.capacity.of[r];
                node->estimate.capacity.of[r] = of;
        }
        /* Readings are shares of the capacity, so they no longer give the number of cores. */
        for (int r = 0; has_changed && r < ESTIMATE_RESOURCE_COUNT; r++)
                estimator_forget_reading(node, r);
        return has_changed;
}

void estimator_read(struct estimator_node *node, int resource, const struct mean_reading *reading) {
        node_estimate_read(&node->estimate, resource, reading);
}

void estimator_forget_reading(struct estimator_node *node, int resource) {
        node->estimate.readings[resource].window_ms = 0;
}

void estimator_measure_pods(struct estimator_node *node, const struct pod_usage_list *list) {
        node_estimate_forget_measured(&node->estimate);
        for (size_t i = 0; i < list->count; i++)
                node_estimate_measure(&node->estimate, list->pods[i].uid, &list->pods[i].load);
}

void estimator_usage(const struct estimator *estimator, const struct estimator_node *node,
                     struct estimator_usage *ret) {
        const struct node_estimate *of = &node->estimate;
        struct node_usage usage[ESTIMATE_RESOURCE_COUNT];

        node_estimate_usage(of, estimator->workloads, &estimator->cluster, usage);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double capacity = of->capacity.of[r];
                ret->per_capacity[r] = capacity > 0 ? 1 / capacity : 0;
                ret->is_known[r] = capacity > 0 &&
                                   (of->readings[r].window_ms > 0 || estimator->has_list);
                ret->ratio[r] = usage[r].ratio;
                ret->margin_ratio[r] = usage[r].margin_ratio;
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

/* A known pod may have started, or may have been resized in place. Return: false: it is as it was
 */
static bool update_pod(struct node_pod *known, const struct node_pod *pod) {
        bool is_news = known->runs_unix_ms == NODE_POD_NEVER && pod->runs_unix_ms != NODE_POD_NEVER;

        known->generation = pod->generation;
        if (is_news)
                known->runs_unix_ms = pod->runs_unix_ms;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                is_news |= pod->request[r] < known->request[r] ||
                           pod->request[r] > known->request[r];
                known->request[r] = pod->request[r];
        }
        return is_news;
}

static void add_pod(struct estimator *estimator, struct estimator_node *node,
                    const struct node_pod *pod) {
        estimator->pod_count++;
        node_estimate_bind(&node->estimate, pod);
        estimator_lock(estimator);
        reservations_bound(&estimator->reservations, pod->id, node->number,
                           estimator->publication + 1);
        estimator_unlock(estimator);
        notify_owner(estimator, node);
}

static void end_pod(struct estimator *estimator, struct estimator_node *node, struct node_pod *pod,
                    int64_t gone_unix_ms) {
        estimator->pod_count--;
        node_estimate_end(&node->estimate, pod, gone_unix_ms);
        notify_owner(estimator, node);
}

void estimator_bind(struct estimator *estimator, const struct pod_facts *pod) {
        const struct pod_load request = pod_load_counted(&pod->request);
        struct node_pod bound = {
                .id = pod->id,
                .workload = workload_key(pod->workload, pod->workload_len),
                .set = pod->set_id,
                .runs_unix_ms = pod->runs_unix_ms > 0 ? pod->runs_unix_ms : NODE_POD_NEVER,
                .gone_unix_ms = NODE_POD_NEVER,
                .request = {(float)request.of[ESTIMATE_CPU], (float)request.of[ESTIMATE_MEM]},
                .own = {-1},
                .generation = estimator->generation,
                .is_placed = pod_facts_is_placed(pod),
        };
        struct estimator_node *node = find_or_add(estimator, pod->node.text, pod->node.len);
        struct node_pod *known = node ? node_estimate_find(&node->estimate, pod->id) : NULL;

        (void)!pod_usage_uid(pod->uid.text, pod->uid.len, &bound.uid);
        if (known && update_pod(known, &bound))
                notify_owner(estimator, node);
        else if (node && !known && estimator->pod_count < ESTIMATOR_MAX_PODS &&
                 live_pods(node) < ESTIMATOR_MAX_PODS_PER_NODE)
                add_pod(estimator, node, &bound);
        if (node)
                drop_if_unused(estimator, node); /* there was no room for the pod */
}

void estimator_end(struct estimator *estimator, const char *node_name, size_t node_len, uint64_t id,
                   int64_t now_unix_ms) {
        struct estimator_node *node = strmap_get(&estimator->by_name, node_name, node_len);
        struct node_pod *pod = node ? node_estimate_find(&node->estimate, id) : NULL;

        if (!pod)
                return;
        end_pod(estimator, node, pod, now_unix_ms);
        drop_if_unused(estimator, node);
}

void estimator_set_back(struct estimator *estimator, int64_t by_ms, int64_t now_unix_ms) {
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i])
                        node_estimate_set_back(&estimator->nodes[i]->estimate, by_ms, now_unix_ms);
}

void estimator_published(struct estimator *estimator, uint64_t publication) {
        estimator_lock(estimator);
        estimator->publication = publication;
        reservations_published(&estimator->reservations, publication);
        estimator_unlock(estimator);
}

/* ---- The cluster's factor and mean base. */

struct measured_mean {
        int resource;
        struct trimmed_mean mean;
};

static void add_workload(void *userdata, const char *name, size_t name_len,
                         const struct workload_measure *measure) {
        struct measured_mean *measured = userdata;
        double pods = (double)measure->pods;
        int r = measured->resource;

        (void)name;
        (void)name_len;
        trimmed_mean_add(&measured->mean, pods * measure->mean.of[r],
                         pods * measure->request.of[r]);
}

/* Return: NAN: no pod is measured */
static double measure_factor(const struct estimator *estimator, int r) {
        struct measured_mean measured = {.resource = r};

        workload_set_each(estimator->workloads, add_workload, &measured);
        return trimmed_mean_take(&measured.mean);
}

static void step_factor(struct estimator *estimator) {
        double factors[ESTIMATE_RESOURCE_COUNT];

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                factors[r] = measure_factor(estimator, r);
        estimator_lock(estimator);
        pod_load_factor_set(&estimator->cluster.factor, factors);
        estimator_unlock(estimator);
}

/* What nodes with a reading that is not old have in addition to their pods. Return: pods that count
 * by what was measured */
static size_t add_bases(const struct estimator *estimator, int64_t now_unix_ms,
                        struct trimmed_mean bases[static ESTIMATE_RESOURCE_COUNT]) {
        struct node_usage usage[ESTIMATE_RESOURCE_COUNT];
        size_t measured = 0;

        for (size_t i = 0; i < estimator->node_count; i++) {
                if (!estimator->nodes[i])
                        continue;
                const struct node_estimate *node = &estimator->nodes[i]->estimate;
                measured += node_estimate_usage(node, estimator->workloads, &estimator->cluster,
                                                usage);
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                        const struct mean_reading *reading = &node->readings[r];
                        double capacity = node->capacity.of[r];
                        if (now_unix_ms - reading->ends_unix_ms < 2 * reading->window_ms)
                                trimmed_mean_add(&bases[r], usage[r].base_ratio * capacity,
                                                 capacity);
                }
        }
        return measured;
}

/* Return: has it moved? */
static bool step_base(struct estimator *estimator, int64_t now_unix_ms) {
        struct trimmed_mean bases[ESTIMATE_RESOURCE_COUNT] = {0};
        bool has_moved = false;

        const struct estimator_pods pods = {.bound = estimator->pod_count,
                                            .measured = add_bases(estimator, now_unix_ms, bases)};
        estimator_lock(estimator);
        estimator->pods = pods;
        estimator_unlock(estimator);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double *known = &estimator->cluster.base_ratio[r],
                       mean = trimmed_mean_take(&bases[r]);
                if (!isfinite(mean))
                        continue;
                mean = fmax(0, mean); /* pods use no less than is known of them */
                has_moved |= mean < *known || mean > *known;
                *known = mean;
        }
        return has_moved;
}

static bool is_unread(const struct estimator_node *node) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (node->estimate.readings[r].window_ms == 0)
                        return true;
        return false;
}

void estimator_step(struct estimator *estimator, int64_t now_unix_ms) {
        bool has_news = estimator->has_news;

        estimator->has_news = false;
        if (has_news)
                step_factor(estimator);
        bool has_other_base = step_base(estimator, now_unix_ms);
        for (size_t i = 0; i < estimator->node_count; i++) {
                struct estimator_node *node = estimator->nodes[i];
                if (node && (has_news || (has_other_base && is_unread(node))))
                        notify_owner(estimator, node);
        }
}

static void end_unlisted(struct estimator *estimator, struct estimator_node *node,
                         int64_t gone_unix_ms) {
        for (size_t i = node->estimate.pod_count; i-- > 0;) {
                struct node_pod *pod = &node->estimate.pods[i];
                if (pod->generation != estimator->generation && pod->gone_unix_ms == NODE_POD_NEVER)
                        end_pod(estimator, node, pod, gone_unix_ms);
                i = size_min(i, node->estimate.pod_count); /* others may be dropped with it */
        }
        drop_if_unused(estimator, node);
}

void estimator_list_ended(struct estimator *estimator, int64_t gone_unix_ms, int64_t now_unix_ms) {
        for (size_t i = 0; i < estimator->node_count; i++)
                if (estimator->nodes[i])
                        end_unlisted(estimator, estimator->nodes[i], gone_unix_ms);
        if (estimator->has_list)
                return;
        estimator->has_list = estimator->has_news = true;
        estimator_step(estimator, now_unix_ms);
}

/* ---- What was measured of workloads. */

void estimator_workloads_begin(struct estimator *estimator) {
        estimator_lock(estimator);
        workload_set_part_begins(estimator->workloads);
        estimator_unlock(estimator);
}

void estimator_measure_workload(struct estimator *estimator, uint32_t part, const char *name,
                                size_t name_len, const struct workload_measure *measure) {
        estimator_lock(estimator);
        workload_set_measure(estimator->workloads, part, name, name_len, measure);
        estimator_unlock(estimator);
}

void estimator_workloads_ended(struct estimator *estimator, uint32_t part) {
        estimator_lock(estimator);
        workload_set_part_ended(estimator->workloads, part);
        estimator_unlock(estimator);
        estimator->has_news = true;
}

/* ---- The state. */

const struct estimator_node *estimator_node_at(const struct estimator *estimator, uint32_t number) {
        return number < estimator->node_count ? estimator->nodes[number] : NULL;
}

const struct node_estimate *estimator_node_estimate(const struct estimator_node *node) {
        return &node->estimate;
}

bool estimator_pod_load(const struct estimator *estimator, const struct estimator_node *node,
                        uint64_t id, struct node_pod_load *ret) {
        return node_estimate_pod(&node->estimate, id, estimator->workloads, &estimator->cluster,
                                 ret);
}

double estimator_window_share(const struct estimator *estimator, const struct estimator_node *node,
                              int resource) {
        struct node_usage usage[ESTIMATE_RESOURCE_COUNT];
        double reading = node->estimate.readings[resource].ratio;

        node_estimate_usage(&node->estimate, estimator->workloads, &estimator->cluster, usage);
        double pods = reading - usage[resource].base_ratio;
        return pods > reading ? reading / pods : 1;
}

/* ---- Any thread. */

struct estimator_pods estimator_pods(struct estimator *estimator) {
        estimator_lock(estimator);
        const struct estimator_pods pods = estimator->pods;
        estimator_unlock(estimator);
        return pods;
}

void estimator_stats(struct estimator *estimator, int64_t now_mono_ms,
                     struct estimator_stats *ret) {
        estimator_lock(estimator);
        reservations_expire(&estimator->reservations, now_mono_ms);
        *ret = (struct estimator_stats){
                .pods = estimator->pod_count,
                .workloads = workload_set_count(estimator->workloads),
                .reservations = estimator->reservations.count,
                .factor = estimator->cluster.factor,
        };
        estimator_unlock(estimator);
}

struct estimator_expectation estimator_expect(struct estimator *estimator, const char *workload,
                                              size_t workload_len, const struct pod_load *request) {
        const struct pod_load counted = pod_load_counted(request);

        estimator_lock(estimator);
        const struct workload_measure *of = workload_set_find(estimator->workloads,
                                                              workload_key(workload, workload_len));
        const struct estimator_expectation expectation = {
                .load = workload_expect(of, &counted, &estimator->cluster.factor, NULL),
                .factor = estimator->cluster.factor,
                .is_measured = of != NULL,
        };
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
