#include "simulation.h"

#include <math.h>
#include <stdlib.h>

#include "autoscaler.h"
#include "base/mem.h"
#include "kube_scheduler.h"

enum { PODS_PER_S = 50, RETRY_S = 30, EVICT_EVERY_S = 60, REPEATED_S = 7200 };

static const double HOT_RATIO = 0.65, VERY_HOT_RATIO = 0.8, FULL_RATIO = 0.9;

/* What the watch has yet to show. */
struct late {
        const struct pod *pod;
        double at_s;
        enum { LATE_BOUND, LATE_STARTED, LATE_ENDED } what;
};

struct simulation {
        struct world *world;
        struct published *published;
        struct kube_scheduler *scheduler;
        struct autoscaler *autoscaler;
        const struct algorithm *algorithm;
        void *self;
        const struct situation *situation;
        double clock_s; /* within the second */
        uint32_t *candidates;
        int *scores;
        struct pod **queue;
        size_t queue_len, queue_cap, taken, taken_renewed;
        struct late *late; /* what the watch has not shown yet, in order */
        size_t late_len, late_cap, late_shown;
        double *busiest; /* [second] */
        size_t measured;
        double node_minutes;    /* of the nodes that were there */
        double estimate_errors; /* of so many decisions: ESTIMATE_ERROR_PERCENT */
        size_t estimates;
        double pod_hours; /* with evictions, since the warm-up */
        size_t evictions, repeats;
};

static void show(struct simulation *s, const struct late *late) {
        const struct algorithm *algorithm = s->algorithm;
        void (*const fn[])(void *, const struct pod *) = {
                [LATE_BOUND] = algorithm->on_bound,
                [LATE_STARTED] = algorithm->on_started,
                [LATE_ENDED] = algorithm->on_ended,
        };

        if (fn[late->what])
                fn[late->what](s->self, late->pod);
        if (late->what == LATE_BOUND && s->published)
                published_bound(s->published, late->pod);
}

static void show_late(struct simulation *s) {
        while (s->late_shown < s->late_len && s->late[s->late_shown].at_s <= s->clock_s)
                show(s, &s->late[s->late_shown++]);
        if (s->late_shown == s->late_len)
                s->late_shown = s->late_len = 0;
}

static void tell_late(struct simulation *s, const struct late *late) {
        mem_grow(&s->late, s->late_len, &s->late_cap);
        s->late[s->late_len] = *late;
        s->late[s->late_len++].at_s = s->clock_s + s->world->scenario->watch_lag_s;
}

static void on_bound(void *userdata, struct pod *pod) {
        tell_late(userdata, &(struct late){.pod = pod, .what = LATE_BOUND});
}

static void on_started(void *userdata, struct pod *pod) {
        struct simulation *s = userdata;

        autoscaler_started(s->autoscaler, pod);
        tell_late(s, &(struct late){.pod = pod, .what = LATE_STARTED});
}

static void on_ended(void *userdata, struct pod *pod) {
        struct simulation *s = userdata;

        kube_scheduler_count(s->scheduler, pod, -1);
        autoscaler_ended(s->autoscaler, pod);
        tell_late(s, &(struct late){.pod = pod, .what = LATE_ENDED});
}

static void on_written(void *userdata, size_t node) {
        struct simulation *s = userdata;

        if (s->algorithm->on_written)
                s->algorithm->on_written(s->self, node);
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
        size_t count = kube_scheduler_filter(s->scheduler, pod, s->algorithm->is_filter,
                                             s->candidates);

        s->algorithm->decide(s->self, pod, s->candidates, count, s->scores);
        if (s->algorithm->is_filter)
                count = kube_scheduler_pass(s->scheduler, s->candidates, count, s->scores);
        measure_estimate(s, count);
        size_t at = kube_scheduler_choose(s->scheduler, s->algorithm, pod, s->candidates, count,
                                          s->scores);
        if (at == s->world->node_count)
                return;
        world_place(s->world, pod, at);
        kube_scheduler_count(s->scheduler, pod, 1);
        if (s->algorithm->on_chosen)
                s->algorithm->on_chosen(s->self, pod);
        show_late(s);
}

/* Pods that found no node are tried again every RETRY_S. */
static bool is_due(const struct simulation *s, const struct pod *pod) {
        int64_t waited_s = s->world->now_s - pod->arrives_s;

        return !pod->has_ended && (waited_s < RETRY_S || waited_s % RETRY_S == 0);
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
                if (pod->node < 0 && !pod->has_ended)
                        s->queue[kept++] = pod;
        }
        s->queue_len = kept;
}

static void enqueue(struct simulation *s, struct pod *pod) {
        autoscaler_arrived(s->autoscaler, pod);
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
        double mean = 0, squares = 0, used = 0, cores = 0, busiest = 0, count = 0, pods = 0;

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
                pods += node->pod_count;
                sum->of[HOT_NODE_MINUTES] += ratio > HOT_RATIO ? 1.0 / 60 : 0;
                sum->of[HOT_CORE_MINUTES] += ratio > HOT_RATIO ? node->cores / 60 : 0;
                sum->of[VERY_HOT_NODE_MINUTES] += ratio > VERY_HOT_RATIO ? 1.0 / 60 : 0;
                sum->of[FULL_NODE_MINUTES] += world_memory_ratio(world, n) > FULL_RATIO ? 1.0 / 60
                                                                                        : 0;
                sum->of[THROTTLED_CORE_S] += fmax(0, demand - 1) * node->cores;
        }
        s->node_minutes += count / 60;
        s->pod_hours += pods / 3600;
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
        outcome->of[MEAN_PODS] = 3600 * s->pod_hours / seconds;
        outcome->of[PENDING_PODS] = (double)s->queue_len;
        outcome->of[PATCHES_PER_NODE_MINUTE] /= s->node_minutes;
        qsort(s->busiest, s->measured, sizeof(*s->busiest), compare_doubles);
        outcome->of[ESTIMATE_ERROR_PERCENT] = s->estimates > 0
                                                      ? s->estimate_errors / (double)s->estimates
                                                      : NAN;
        outcome->of[EVICTIONS_PER_1000_POD_HOURS] =
                s->algorithm->evict ? 1000 * (double)s->evictions / s->pod_hours : NAN;
        outcome->of[REPEATED_EVICTIONS_RATIO] = s->evictions > 0
                                                        ? (double)s->repeats / (double)s->evictions
                                                        : outcome->of[EVICTIONS_PER_1000_POD_HOURS];
        outcome->of[BUSIEST_P99] = s->busiest[(s->measured - 1) * 99 / 100];
}

static void kill_exporters(const struct simulation *s) {
        for (size_t n = 0; n < s->world->node_count; n++)
                s->world->nodes[n].is_exporter_dead = world_loses_exporter(s->world, n);
}

static void evict(struct simulation *s) {
        struct pod *pods[EVICTED_MAX];

        if (!s->algorithm->evict || s->world->now_s % EVICT_EVERY_S != 0)
                return;
        size_t count = s->algorithm->evict(s->situation, s->self, pods);
        for (size_t i = 0; i < count; i++) {
                if (!world_evict(s->world, pods[i]))
                        return;
                s->evictions++;
                s->repeats += pods[i]->follows_eviction &&
                              s->world->now_s - pods[i]->arrives_s < REPEATED_S;
        }
}

static void step(struct simulation *s) {
        s->clock_s = (double)s->world->now_s + 1;
        world_step(s->world);
        show_late(s);
        if (s->published)
                published_step(s->published, on_written, s);
        if (s->algorithm->on_second)
                s->algorithm->on_second(s->self);
        evict(s);
        take_arrivals(s);
        schedule_queue(s);
        autoscaler_step(s->autoscaler);
}

static void run(struct simulation *s, struct outcome *outcome) {
        const struct scenario *scenario = s->world->scenario;
        uint64_t patches = 0;

        while (s->world->now_s < scenario->warm_up_s + scenario->measured_s) {
                if (s->world->now_s == scenario->warm_up_s) {
                        kill_exporters(s);
                        s->evictions = s->repeats = 0;
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

static void predict(const struct simulation *s, struct outcome *outcome) {
        struct prediction prediction = {NAN, NAN, NAN};

        if (s->algorithm->predict)
                s->algorithm->predict(s->self, &prediction);
        outcome->of[TRIAL_RATIO] = prediction.ratio;
        outcome->of[TRIAL_LOW] = prediction.low;
        outcome->of[TRIAL_HIGH] = prediction.high;
}

struct outcome simulate(const struct scenario *scenario, const struct algorithm *algorithm,
                        const struct policy *policy, uint64_t seed) {
        struct outcome outcome = {0};
        struct simulation s = {.algorithm = algorithm, .world = world_new(scenario, seed)};
        size_t nodes = s.world->node_count;

        s.world->listener = (struct world_listener){on_bound, on_started, on_ended, &s};
        if (algorithm->needs != ALGORITHM_NEEDS_NOTHING)
                s.published = published_new(s.world, policy, algorithm->is_fed_by_ours);
        struct situation situation = {algorithm, s.world, s.published, policy};
        s.situation = &situation;
        s.self = algorithm->new ? algorithm->new (&situation) : &situation;
        s.candidates = xcalloc(nodes, sizeof(*s.candidates));
        s.scores = xcalloc(nodes, sizeof(*s.scores));
        s.scheduler = kube_scheduler_new(s.world);
        s.autoscaler = autoscaler_new(s.world);
        s.busiest = xcalloc((size_t)scenario->measured_s, sizeof(*s.busiest));
        run(&s, &outcome);
        predict(&s, &outcome);
        if (algorithm->free)
                algorithm->free(s.self);
        published_free(s.published);
        kube_scheduler_free(s.scheduler);
        autoscaler_free(s.autoscaler);
        world_free(s.world);
        free(s.candidates);
        free(s.scores);
        free(s.busiest);
        free(s.queue);
        free(s.late);
        return outcome;
}
