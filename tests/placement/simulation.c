#include "simulation.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "chance.h"

enum { PODS_PER_S = 50, RETRY_S = 30 };

static const double HOT_RATIO = 0.65, VERY_HOT_RATIO = 0.8, FULL_RATIO = 0.9;

/* A binding or an end that the watch has yet to show. */
struct late {
        struct pod *pod;
        double at_s;
        bool is_end;
};

struct simulation {
        struct world *world;
        struct published *published;
        const struct algorithm *algorithm;
        void *self;
        double clock_s; /* within the second */
        uint32_t *candidates;
        int *scores;
        uint32_t *of_workload;                 /* [workload * nodes + node] pods */
        uint32_t (*of_zones)[WORLD_MAX_ZONES]; /* [workload][zone] pods */
        struct pod **queue;
        size_t queue_len, queue_cap, taken, taken_renewed;
        struct late *late; /* what the watch has not shown yet, in order */
        size_t late_len, late_cap, late_shown;
        size_t searched; /* where the search for nodes with room goes on */
        uint64_t draws;
        double *busiest; /* [second] */
        size_t measured;
        double estimate_errors; /* of so many decisions: ESTIMATE_ERROR_PERCENT */
        size_t estimates;
};

static uint32_t *pods_of(const struct simulation *s, const struct pod *pod, size_t node) {
        return &s->of_workload[pod->workload * s->world->node_count + node];
}

static void count_pod(const struct simulation *s, const struct pod *pod, int change) {
        size_t node = (size_t)pod->node;

        *pods_of(s, pod, node) += (uint32_t)change;
        s->of_zones[pod->workload][s->world->nodes[node].zone] += (uint32_t)change;
}

static void show_late(struct simulation *s) {
        while (s->late_shown < s->late_len && s->late[s->late_shown].at_s <= s->clock_s) {
                const struct late *late = &s->late[s->late_shown++];
                if (late->is_end && s->algorithm->on_ended)
                        s->algorithm->on_ended(s->self, late->pod);
                else if (!late->is_end && s->algorithm->on_bound)
                        s->algorithm->on_bound(s->self, late->pod);
                if (!late->is_end && s->published)
                        published_bound(s->published, late->pod);
        }
        if (s->late_shown == s->late_len)
                s->late_shown = s->late_len = 0;
}

static void tell_late(struct simulation *s, struct pod *pod, bool is_end) {
        mem_grow(&s->late, s->late_len, &s->late_cap);
        s->late[s->late_len++] = (struct late){pod, s->clock_s + s->world->scenario->watch_lag_s,
                                               is_end};
        show_late(s);
}

static void on_end(void *userdata, struct pod *pod) {
        struct simulation *s = userdata;

        count_pod(s, pod, -1);
        tell_late(s, pod, true);
}

static void on_written(void *userdata, size_t node) {
        struct simulation *s = userdata;

        if (s->algorithm->on_written)
                s->algorithm->on_written(s->self, node);
}

static double fit_score(const struct simulation *s, const struct pod *pod, size_t n) {
        const struct node *node = &s->world->nodes[n];
        double cpu = (node->requested_cores + pod->request_cores) / node->cores;
        double memory = (node->requested_bytes + pod->request_bytes) / node->bytes;

        if (s->algorithm->is_instead_of_fit)
                return 0;
        return floor(100 * (1 - (cpu + memory) / 2)) + floor(100 * (1 - fabs(cpu - memory) / 2));
}

/* How many nodes with room kube-scheduler looks for. */
static size_t nodes_to_score(const struct simulation *s) {
        enum { ALWAYS = 100, SHARE_PERCENT = 50, FEWEST_PERCENT = 5, NODES_PER_PERCENT = 125 };
        size_t count = s->world->node_count;
        double share = s->world->scenario->scored_ratio;

        if (share <= 0)
                share = fmax(FEWEST_PERCENT, SHARE_PERCENT - (double)count / NODES_PER_PERCENT) /
                        100;
        size_t wanted = (size_t)(share * (double)count);
        if (wanted < ALWAYS)
                wanted = ALWAYS;
        return wanted < count ? wanted : count;
}

static bool has_room(const struct node *node, const struct pod *pod) {
        return node->requested_cores + pod->request_cores <= node->cores &&
               node->requested_bytes + pod->request_bytes <= node->bytes;
}

/* PodTopologySpread's filter: the most pods of the workload that a zone may have before one more;
 * https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/ */
static uint32_t most_in_zone(const struct simulation *s, const struct pod *pod) {
        uint32_t least = UINT32_MAX;

        for (size_t n = 0; n < s->world->node_count && s->world->scenario->zone_skew > 0; n++) {
                uint32_t there = s->of_zones[pod->workload][s->world->nodes[n].zone];
                if (world_has_node(s->world, n) && there < least)
                        least = there;
        }
        return least == UINT32_MAX ? least : least + (uint32_t)s->world->scenario->zone_skew - 1;
}

static size_t find_candidates(struct simulation *s, const struct pod *pod) {
        const struct world *world = s->world;
        const uint32_t *of_zones = s->of_zones[pod->workload], most = most_in_zone(s, pod);
        size_t count = 0, wanted = nodes_to_score(s), seen = 0;

        assert(world->node_count > 0);
        for (; seen < world->node_count && count < wanted; seen++) {
                size_t n = (s->searched + seen) % world->node_count;
                if (world_has_node(world, n) && of_zones[world->nodes[n].zone] <= most &&
                    has_room(&world->nodes[n], pod))
                        s->candidates[count++] = (uint32_t)n;
        }
        s->searched = (s->searched + seen) % world->node_count;
        return count;
}

/* PodTopologySpread's score of a node: 100 for the fewest pods of the workload. */
struct spreading {
        uint32_t most, least;
};

static struct spreading spreading_of(const struct simulation *s, const struct pod *pod,
                                     size_t count) {
        struct spreading spreading = {0, UINT32_MAX};

        for (size_t i = 0; i < count; i++) {
                uint32_t there = *pods_of(s, pod, s->candidates[i]);
                spreading.most = there > spreading.most ? there : spreading.most;
                spreading.least = there < spreading.least ? there : spreading.least;
        }
        return spreading;
}

static double spread_score(const struct simulation *s, const struct spreading *spreading,
                           uint32_t there) {
        if (!s->world->scenario->is_spread || spreading->most == 0)
                return SCORE_BEST;
        return floor(100.0 * (spreading->most + spreading->least - there) / spreading->most);
}

/* Return: the node; node_count when there is none */
static size_t choose(struct simulation *s, const struct pod *pod, size_t count) {
        const struct spreading spreading = spreading_of(s, pod, count);
        size_t chosen = s->world->node_count;
        double best = -1;
        unsigned ties = 0;

        for (size_t i = 0; i < count; i++) {
                size_t n = s->candidates[i];
                if (s->scores[i] == SCORE_REJECTED)
                        continue;
                double score = fit_score(s, pod, n) +
                               2 * spread_score(s, &spreading, *pods_of(s, pod, n)) +
                               (double)s->algorithm->weight * s->scores[i];
                ties = score > best ? 1 : ties + (score >= best);
                if (score > best ||
                    (score >= best && chance_uniform(s->world->seed ^ 99, s->draws++) * ties < 1))
                        chosen = n;
                best = fmax(best, score);
        }
        return chosen;
}

static void measure_estimate(struct simulation *s, size_t count) {
        double sum = 0, squares = 0, known = 0;

        if (!s->algorithm->estimated_ratio || s->world->now_s <= s->world->scenario->warm_up_s)
                return;
        for (size_t i = 0; i < count; i++) {
                double error = s->algorithm->estimated_ratio(s->self, s->candidates[i]) -
                               world_mean_ratio(s->world, s->candidates[i]);
                if (isnan(error))
                        continue;
                sum += error;
                squares += error * error;
                known++;
        }
        if (known < 2)
                return;
        s->estimate_errors += 100 * sqrt(fmax(0, squares / known - pow(sum / known, 2)));
        s->estimates++;
}

static void schedule(struct simulation *s, struct pod *pod) {
        size_t count = find_candidates(s, pod);

        s->algorithm->decide(s->self, pod, s->candidates, count, s->scores);
        measure_estimate(s, count);
        size_t at = choose(s, pod, count);
        if (at == s->world->node_count)
                return;
        world_bind(s->world, pod, at);
        count_pod(s, pod, 1);
        tell_late(s, pod, false);
}

/* Pods that found no node are tried again every RETRY_S. */
static bool is_due(const struct simulation *s, const struct pod *pod) {
        int64_t waited_s = s->world->now_s - pod->arrives_s;

        return waited_s < RETRY_S || waited_s % RETRY_S == 0;
}

/* What is due in a second is spread evenly over it. */
static void schedule_queue(struct simulation *s) {
        size_t kept = 0, tried = 0, due = 0;

        for (size_t i = 0; i < s->queue_len; i++)
                due += is_due(s, s->queue[i]);
        if (due > PODS_PER_S)
                due = PODS_PER_S;
        for (size_t i = 0; i < s->queue_len; i++) {
                struct pod *pod = s->queue[i];
                if (is_due(s, pod) && tried < due) {
                        s->clock_s = (double)s->world->now_s + (double)tried++ / (double)due;
                        show_late(s);
                        schedule(s, pod);
                }
                if (pod->node < 0)
                        s->queue[kept++] = pod;
        }
        s->queue_len = kept;
}

static void enqueue(struct simulation *s, struct pod *pod) {
        mem_grow(&s->queue, s->queue_len, &s->queue_cap);
        s->queue[s->queue_len++] = pod;
}

static void take_arrivals(struct simulation *s) {
        const struct world *world = s->world;

        while (s->taken < world->arrived)
                enqueue(s, &world->pods[s->taken++]);
        while (s->taken_renewed < world->renewed)
                enqueue(s, &world->pods[world->pod_count + s->taken_renewed++]);
}

static void measure(struct simulation *s, struct outcome *sum) {
        const struct world *world = s->world;
        double mean = 0, squares = 0, used = 0, cores = 0, busiest = 0, count = 0;

        for (size_t n = 0; n < world->node_count; n++) {
                const struct node *node = &world->nodes[n];
                if (!world_has_node(world, n))
                        continue;
                double demand = world_demand_ratio(world, n), ratio = fmin(1, demand);
                mean += ratio;
                squares += ratio * ratio;
                used += ratio * node->cores;
                cores += node->cores;
                busiest = fmax(busiest, ratio);
                count++;
                sum->of[HOT_NODE_MINUTES] += ratio > HOT_RATIO ? 1.0 / 60 : 0;
                sum->of[VERY_HOT_NODE_MINUTES] += ratio > VERY_HOT_RATIO ? 1.0 / 60 : 0;
                sum->of[FULL_NODE_MINUTES] += world_memory_ratio(world, n) > FULL_RATIO ? 1.0 / 60
                                                                                        : 0;
                sum->of[THROTTLED_CORE_S] += fmax(0, demand - 1) * node->cores;
        }
        mean /= count;
        sum->of[USAGE_STDDEV] += sqrt(fmax(0, squares / count - mean * mean));
        sum->of[MEAN_UTILISATION] += used / cores;
        s->busiest[s->measured++] = busiest;
}

static int compare_doubles(const void *a, const void *b) {
        const double *left = a, *right = b;

        return (*left > *right) - (*left < *right);
}

static void finish_measuring(const struct simulation *s, struct outcome *outcome) {
        double seconds = (double)s->measured;

        outcome->of[USAGE_STDDEV] /= seconds;
        outcome->of[MEAN_UTILISATION] /= seconds;
        outcome->of[PENDING_PODS] = (double)s->queue_len;
        outcome->of[PATCHES_PER_NODE_MINUTE] *= 60 / seconds / (double)s->world->node_count;
        qsort(s->busiest, s->measured, sizeof(*s->busiest), compare_doubles);
        outcome->of[ESTIMATE_ERROR_PERCENT] = s->estimates > 0
                                                      ? s->estimate_errors / (double)s->estimates
                                                      : NAN;
        outcome->of[BUSIEST_P99] = s->busiest[(s->measured - 1) * 99 / 100];
}

static void kill_exporters(const struct simulation *s) {
        for (size_t n = 0; n < s->world->node_count; n++)
                s->world->nodes[n].is_exporter_dead = world_loses_exporter(s->world, n);
}

static void step(struct simulation *s) {
        world_step(s->world, on_end, s);
        s->clock_s = (double)s->world->now_s;
        show_late(s);
        if (s->published)
                published_step(s->published, on_written, s);
        if (s->algorithm->on_second)
                s->algorithm->on_second(s->self);
        take_arrivals(s);
        schedule_queue(s);
}

static void run(struct simulation *s, struct outcome *outcome) {
        const struct scenario *scenario = s->world->scenario;
        uint64_t patches = 0;

        while (s->world->now_s < scenario->warm_up_s + scenario->measured_s) {
                if (s->world->now_s == scenario->warm_up_s) {
                        kill_exporters(s);
                        patches = s->published ? published_patches(s->published) : 0;
                }
                bool is_measured = s->world->now_s >= scenario->warm_up_s;
                step(s);
                if (is_measured)
                        measure(s, outcome);
        }
        if (s->published)
                outcome->of[PATCHES_PER_NODE_MINUTE] = (double)(published_patches(s->published) -
                                                                patches);
        finish_measuring(s, outcome);
}

struct outcome simulate(const struct scenario *scenario, const struct algorithm *algorithm,
                        const struct policy *policy, uint64_t seed) {
        struct outcome outcome = {0};
        struct simulation s = {.algorithm = algorithm, .world = world_new(scenario, seed)};
        size_t nodes = s.world->node_count;

        if (algorithm->needs != ALGORITHM_NEEDS_NOTHING)
                s.published = published_new(s.world, policy, algorithm->early_delta);
        struct situation situation = {algorithm, s.world, s.published, policy};
        s.self = algorithm->new ? algorithm->new (&situation) : &situation;
        s.candidates = xcalloc(nodes, sizeof(*s.candidates));
        s.scores = xcalloc(nodes, sizeof(*s.scores));
        s.of_workload = xcalloc(nodes * s.world->workload_count, sizeof(*s.of_workload));
        s.of_zones = xcalloc(s.world->workload_count, sizeof(*s.of_zones));
        s.busiest = xcalloc((size_t)scenario->measured_s, sizeof(*s.busiest));
        run(&s, &outcome);
        if (algorithm->free)
                algorithm->free(s.self);
        published_free(s.published);
        world_free(s.world);
        free(s.candidates);
        free(s.scores);
        free(s.of_workload);
        free(s.of_zones);
        free(s.busiest);
        free(s.queue);
        free(s.late);
        return outcome;
}
