/* Base, pods and workloads of a node against the formulae of tracked_node.h and workload.h, worked
 * out plainly: in doubles, with nothing that is dropped and no sum that is kept. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "policy/estimate/tracked_node.h"

enum { PODS = 400, WORKLOADS = 3, MINUTE_MS = 60000, WINDOW_MS = 5 * MINUTE_MS, STEPS = 1500 };

static const struct cluster_load cluster = {{{0.7, 1.5}}, {0.03, 0.1}};
static const struct pod_load capacity = {{32, 128e9}};

struct model_pod {
        bool is_there; /* or has been */
        int workload;  /* -1: none */
        int64_t runs, gone;
        struct pod_load request, used, variance;
        double overlap;
};

struct model_workload {
        double cores, variance, begun_variance;
        int64_t learned;
        bool is_learned;
};

struct model {
        struct model_pod pods[PODS];
        struct model_workload workloads[WORKLOADS];
        struct pod_load base, base_variance, noise;
        int away[ESTIMATE_RESOURCE_COUNT];
        struct tracked_reading readings[ESTIMATE_RESOURCE_COUNT];
};

static double square(double x) {
        return x * x;
}

static double part(const struct model_pod *pod, int64_t begins, int64_t ends) {
        double ran = fmin((double)pod->gone, (double)ends) -
                     fmax((double)pod->runs, (double)begins);

        return pod->is_there && ran > 0 ? ran / (double)(ends - begins) : 0;
}

static double last_part(const struct model *model, const struct model_pod *pod, int r) {
        const struct tracked_reading *reading = &model->readings[r];

        return reading->window_ms > 0 ? part(pod, reading->begins_unix_ms, reading->ends_unix_ms)
                                      : 0;
}

static void model_take_out(struct model *model, struct model_pod *pod) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                model->base.of[r] = fmax(0, model->base.of[r] -
                                                    last_part(model, pod, r) * pod->used.of[r]);
        pod->overlap = last_part(model, pod, ESTIMATE_CPU);
}

static void model_bind(struct model *model, struct model_pod *pod) {
        static const double unknown[] = {2, 0.5};

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double used = cluster.factor.ratio[r] * pod->request.of[r],
                       variance = square(unknown[r] * used);
                if (r == ESTIMATE_CPU && pod->workload >= 0 &&
                    model->workloads[pod->workload].is_learned) {
                        used = model->workloads[pod->workload].cores;
                        variance = model->workloads[pod->workload].variance;
                }
                pod->used.of[r] = used;
                pod->variance.of[r] = square(0.316 * used) + variance;
        }
        model_take_out(model, pod);
}

static void model_doubt(struct model *model, int r) {
        model->base_variance.of[r] = square(0.1 * capacity.of[r]);
        model->noise.of[r] = square(0.02 * capacity.of[r]);
        model->away[r] = 0;
}

static void model_observe(struct model *model, int r, bool is_first, double measured,
                          int64_t begins, int64_t ends) {
        double expected = model->base.of[r], noise = model->noise.of[r];
        double of_pods = 0;

        for (size_t i = 0; i < PODS; i++) {
                expected += part(&model->pods[i], begins, ends) * model->pods[i].used.of[r];
                of_pods += square(part(&model->pods[i], begins, ends)) *
                           model->pods[i].variance.of[r];
        }
        double of_base = is_first && model->base.of[r] <= 0 && measured < expected
                                 ? 0
                                 : model->base_variance.of[r];
        double variance = noise + of_base + of_pods,
               shared = is_first ? variance - noise : variance;
        double surprise = measured - expected, limit = 3 * sqrt(variance);
        int side = (surprise > sqrt(variance)) - (surprise < -sqrt(variance)),
            *away = &model->away[r];
        if (!is_first)
                *away = side == 0 ? 0 : *away * side > 0 ? *away + side : side;
        if (!is_first && (*away == TRACKED_AWAY_MAX || *away == -TRACKED_AWAY_MAX)) {
                model_doubt(model, r);
                model_observe(model, r, true, measured, begins, ends);
                return;
        }
        if (!is_first)
                surprise = fmin(fmax(surprise, -limit), limit);
        if (shared <= 0)
                return;
        for (size_t i = 0; i < PODS; i++) {
                struct model_pod *pod = &model->pods[i];
                double held = part(pod, begins, ends), share = pod->variance.of[r] * held;
                pod->used.of[r] = fmax(0, pod->used.of[r] + share / shared * surprise);
                pod->variance.of[r] *= 1 - share * held / variance;
        }
        model->base.of[r] = fmax(0, model->base.of[r] + of_base / shared * surprise);
        model->base_variance.of[r] *= 1 - of_base / variance;
        double shown = is_first ? noise : fmax(0, square(surprise) - (variance - noise));
        model->noise.of[r] = fmax(square(0.02 * capacity.of[r]), noise + 0.05 * (shown - noise));
}

/* @changes: of workloads without any, NAN */
static void model_learn(struct model *model, const double changes[WORKLOADS], double moved,
                        int64_t now) {
        double surprise = moved, variance = square(0.03 * capacity.of[ESTIMATE_CPU]);

        for (int w = 0; w < WORKLOADS; w++) {
                struct model_workload *of = &model->workloads[w];
                if (isnan(changes[w]))
                        continue;
                if (of->is_learned)
                        of->variance = fmin(of->variance + (double)(now - of->learned) / 3600000 *
                                                                   square(0.2 * of->cores),
                                            fmax(of->begun_variance, of->variance));
                of->learned = now;
                surprise -= changes[w] * of->cores;
                variance += square(changes[w]) * (of->variance + 0.1 * square(of->cores));
        }
        surprise = fmin(fmax(surprise, -3 * sqrt(variance)), 3 * sqrt(variance));
        for (int w = 0; w < WORKLOADS; w++) {
                struct model_workload *of = &model->workloads[w];
                double gain = of->variance * changes[w] / variance;
                if (isnan(changes[w]))
                        continue;
                of->cores = fmax(0.005, of->cores + gain * surprise);
                of->variance *= 1 - gain * changes[w];
                of->is_learned = true;
        }
}

static void model_teach(struct model *model, const struct tracked_reading *before,
                        const struct tracked_reading *reading, bool is_near) {
        double changes[WORKLOADS] = {NAN, NAN, NAN};
        double moved = (reading->ratio - before->ratio) * capacity.of[ESTIMATE_CPU];

        for (size_t i = 0; i < PODS; i++) {
                struct model_pod *pod = &model->pods[i];
                double more = last_part(model, pod, ESTIMATE_CPU) - pod->overlap;
                pod->overlap += more;
                if (pod->workload < 0)
                        moved -= more * pod->used.of[ESTIMATE_CPU];
                else if (fabs(more) > 1e-6)
                        changes[pod->workload] =
                                more + (isnan(changes[pod->workload]) ? 0 : changes[pod->workload]);
        }
        if (is_near)
                model_learn(model, changes, moved, reading->ends_unix_ms);
}

static void model_read(struct model *model, int r, const struct tracked_reading *reading,
                       const struct tracked_reading *shorter) {
        const struct tracked_reading before = model->readings[r];
        bool is_first = before.window_ms != reading->window_ms;
        double since = (double)(reading->ends_unix_ms - before.ends_unix_ms), c = capacity.of[r];

        if (is_first) {
                model->base.of[r] = cluster.base_ratio[r] * c;
                model_doubt(model, r);
        } else {
                model->base_variance.of[r] += since / (3 * MINUTE_MS) * square(0.01 * c);
                for (size_t i = 0; i < PODS; i++)
                        model->pods[i].variance.of[r] += since / (3 * MINUTE_MS) *
                                                         square(0.05 * model->pods[i].used.of[r]);
        }
        model->readings[r] = *reading;
        int64_t begins = reading->begins_unix_ms, ends = reading->ends_unix_ms;
        if (shorter) {
                int64_t middle = shorter->begins_unix_ms;
                double rest = (reading->ratio * (double)(ends - begins) -
                               shorter->ratio * (double)(ends - middle)) /
                              (double)(middle - begins);
                model_observe(model, r, is_first, fmax(0, rest) * c, begins, middle);
                model_observe(model, r, false, shorter->ratio * c, middle, ends);
        } else {
                model_observe(model, r, is_first, reading->ratio * c, begins, ends);
        }
        if (r == ESTIMATE_CPU)
                model_teach(model, &before, reading, !is_first && since <= 2 * WINDOW_MS);
}

/* ---- The same happens to both. */

struct both {
        struct model model;
        struct tracked_node node;
        struct workload_set *set;
        struct workload *workloads[WORKLOADS];
        size_t bound;
};

static void begin_both(struct both *both) {
        static const char *const names[] = {"d/a", "d/b", "d/c"};

        both->node.capacity = capacity;
        both->set = workload_set_new();
        for (int w = 0; w < WORKLOADS; w++) {
                const struct pod_load request = {{1.0 + w, 1e9}};
                both->workloads[w] = workload_set_get(both->set, names[w], 3, &request);
                both->model.workloads[w] = (struct model_workload){
                        .cores = cluster.factor.ratio[ESTIMATE_CPU] * request.of[ESTIMATE_CPU],
                        .variance = square(2 * request.of[ESTIMATE_CPU]),
                        .begun_variance = square(2 * request.of[ESTIMATE_CPU]),
                };
        }
}

static void end_both(struct both *both) {
        for (int w = 0; w < WORKLOADS; w++)
                workload_unref(both->set, both->workloads[w]);
        tracked_node_done(&both->node, both->set);
        workload_set_free(both->set);
}

static void bind_both(struct both *both, int64_t now) {
        struct model_pod *pod = &both->model.pods[both->bound];

        *pod = (struct model_pod){
                .is_there = true,
                .workload = (int)draw_below(WORKLOADS + 1) - 1,
                .runs = draw_below(3) ? now - (int64_t)draw_below(2 * MINUTE_MS) : TRACKED_NEVER,
                .gone = TRACKED_NEVER,
                .request = {{0.1 + 2 * draw_ratio(), 1e8 + 4e9 * draw_ratio()}},
        };
        tracked_node_bind(&both->node, ++both->bound,
                          pod->workload < 0 ? NULL : both->workloads[pod->workload], &pod->request,
                          pod->runs, &cluster);
        model_bind(&both->model, pod);
}

static void start_both(struct both *both, size_t i, int64_t now) {
        struct model_pod *pod = &both->model.pods[i];
        bool is_news = pod->runs == TRACKED_NEVER && pod->gone == TRACKED_NEVER;

        assert_int_equal(tracked_node_start(&both->node, i + 1, now), is_news);
        if (!is_news)
                return;
        pod->runs = now;
        model_take_out(&both->model, pod);
}

static void end_one(struct both *both, size_t i, int64_t now) {
        struct model_pod *pod = &both->model.pods[i];

        tracked_node_end(&both->node, both->set, i + 1, &pod->request, now);
        if (pod->gone == TRACKED_NEVER)
                pod->gone = now;
}

static void read_both(struct both *both, int64_t now) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct tracked_reading reading = {1.2 * draw_ratio(), now - WINDOW_MS, now,
                                                        WINDOW_MS},
                                             shorter = {draw_ratio(), now - 2 * (int64_t)MINUTE_MS,
                                                        now, 2 * (int64_t)MINUTE_MS};
                bool has_shorter = draw_below(2);
                tracked_node_read(&both->node, both->set, r, &reading,
                                  has_shorter ? &shorter : NULL, &cluster);
                model_read(&both->model, r, &reading, has_shorter ? &shorter : NULL);
        }
}

static void check_near(const char *what, int step, double is, double should, double whole) {
        if (!(fabs(is - should) <= 1e-5 * (whole + fabs(should))))
                fail_msg("step %d, %s: %.9g, not %.9g", step, what, is, should);
}

static void check_both(const struct both *both, int step) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double used = 0, requested = 0, margin = 0, c = capacity.of[r];
                for (size_t i = 0; i < PODS; i++) {
                        const struct model_pod *pod = &both->model.pods[i];
                        if (!pod->is_there || pod->gone != TRACKED_NEVER)
                                continue;
                        used += pod->used.of[r];
                        requested += pod->request.of[r];
                        margin += fmin(pod->variance.of[r], 0.5 * square(pod->used.of[r]));
                }
                double base = both->model.readings[r].window_ms > 0 ? both->model.base.of[r]
                                                                    : cluster.base_ratio[r] * c;
                check_near("base", step, tracked_node_base(&both->node, r, &cluster), base, c);
                check_near("usage", step, tracked_node_usage_ratio(&both->node, r, &cluster),
                           (base + used) / c, 1);
                check_near("margin", step, tracked_node_margin_ratio(&both->node, r),
                           0.674 * sqrt(margin) / c, 1);
                check_near("noise", step, tracked_node_noise_ratio(&both->node, r),
                           sqrt(both->model.noise.of[r]) / c, 1);
                check_near("requested", step, both->node.requested.of[r], requested, c);
        }
        for (int w = 0; w < WORKLOADS; w++) {
                const struct model_workload *of = &both->model.workloads[w];
                double cores = workload_estimate(both->workloads[w],
                                                 &(struct pod_load){{1.0 + w, 1e9}},
                                                 &cluster.factor, NULL)
                                       .of[ESTIMATE_CPU];
                check_near("learned", step, cores, of->cores, 1);
                check_near("confidence", step, workload_confidence(both->workloads[w]),
                           1 - sqrt(of->variance / of->begun_variance), 1);
        }
}

TEST(model) {
        for (int round = 0; round < 20; round++) {
                struct both *both = xcalloc(1, sizeof(*both));
                int64_t now = INT64_C(1784800000000);
                begin_both(both);
                for (int step = 0; step < STEPS; step++) {
                        now += draw_below(MINUTE_MS / 2);
                        size_t i = draw_below((unsigned)both->bound + 1);
                        unsigned what = draw_below(10);
                        if (what < 2 && both->bound < PODS)
                                bind_both(both, now);
                        else if (what < 4 && i < both->bound)
                                start_both(both, i, now);
                        else if (what < 6 && i < both->bound)
                                end_one(both, i, now);
                        else if (what == 6)
                                read_both(both, now);
                        check_both(both, step);
                }
                end_both(both);
                free(both);
        }
}
