/* From samples of pods to what pods and workloads use. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "controller/pods/workload_meter.h"

enum { PODS = 12 };
static const double MIB = 1024 * 1024;
/* A Thursday, as every beginning of a week of Unix time. */
static const int64_t WEEK_UNIX_MS = INT64_C(2956) * 7 * 86400000;
static const char NAME[] = "web/Deployment/shop";

struct metered {
        struct workload_meter meter;
        struct metered_workload *workload;
        struct pod_meter pods[PODS];
        int64_t now_unix_ms;
};

static void begin(struct metered *m, size_t pods) {
        const struct pod_load request = {{0.25, 512 * MIB}};

        *m = (struct metered){.now_unix_ms = WEEK_UNIX_MS};
        for (size_t i = 0; i < pods; i++)
                m->workload = workload_meter_join(&m->meter, NAME, strlen(NAME), &request, true);
        assert_non_null(m->workload);
}

static void add(struct metered *m, size_t pod, double cores, double mib) {
        workload_meter_add(m->workload, &m->pods[pod], &(struct pod_load){{cores, mib * MIB}}, 60,
                           m->now_unix_ms);
}

static void assert_within(double got, double want, double share) {
        if (!(fabs(got - want) <= fabs(want) * share))
                fail_msg("%.6g, expected %.6g", got, want);
}

/* After 10 minutes with noise, means, spread and quantiles are right. */
TEST(ten_minutes) {
        struct metered m;

        srand(1);
        begin(&m, PODS);
        for (int minute = 0; minute < 10; minute++, m.now_unix_ms += MS_PER_MIN)
                for (size_t i = 0; i < PODS; i++)
                        add(&m, i, 0.1 + 0.02 * (rand() % 11 - 5) / 5, 200 + rand() % 20);
        struct pod_load mean;
        assert_true(workload_meter_mean(m.workload, &mean));
        assert_within(mean.of[ESTIMATE_CPU], 0.1, 0.05);
        assert_within(mean.of[ESTIMATE_MEM], 209.5 * MIB, 0.02);
        const struct workload_usage *usage = workload_meter_show(m.workload, m.now_unix_ms);
        assert_within(usage->spread.of[ESTIMATE_CPU], 0.0126, 0.2);
        assert_within(usage->p95.of[ESTIMATE_CPU], 0.118, 0.15);
        assert_within(usage->max.of[ESTIMATE_CPU], 0.12, 1e-6);
        assert_within(usage->request.of[ESTIMATE_CPU], 0.25, 1e-9);
        assert_within(usage->weight, 120, 0.01);
        assert_int_equal(usage->pods, PODS);
        assert_true(usage->is_guaranteed);
        workload_meter_done(&m.meter);
}

/* A pod has a mean from the fourth sample on, or after 150 s. It follows a change in minutes. */
TEST(own_mean) {
        struct pod_meter pod = {0};
        struct pod_load mean;

        for (int i = 0; i < 4; i++) {
                assert_false(workload_meter_pod_mean(&pod, &mean));
                workload_meter_add(NULL, &pod, &(struct pod_load){{1, MIB}}, 15, WEEK_UNIX_MS);
        }
        assert_true(workload_meter_pod_mean(&pod, &mean));
        assert_within(mean.of[ESTIMATE_CPU], 1, 1e-6);
        for (int i = 0; i < 10; i++)
                workload_meter_add(NULL, &pod, &(struct pod_load){{2, MIB}}, 15, WEEK_UNIX_MS);
        assert_true(workload_meter_pod_mean(&pod, &mean));
        assert_within(mean.of[ESTIMATE_CPU], 1.84, 0.01);
        pod = (struct pod_meter){0};
        workload_meter_add(NULL, &pod, &(struct pod_load){{1, MIB}}, 160, WEEK_UNIX_MS);
        assert_true(workload_meter_pod_mean(&pod, &mean));
}

/* Nothing is known of a workload before the first sample, and all of it while no pod runs. */
TEST(without_pods) {
        struct metered m;
        struct pod_load mean;

        begin(&m, 1);
        assert_false(workload_meter_mean(NULL, &mean));
        assert_false(workload_meter_mean(m.workload, &mean));
        assert_null(workload_meter_show(m.workload, m.now_unix_ms));
        add(&m, 0, 3, 100);
        workload_meter_leave(m.workload, &m.workload->usage.request);
        workload_meter_leave(NULL, &m.workload->usage.request);
        m.now_unix_ms += MS_PER_DAY;
        const struct workload_usage *usage = workload_meter_show(m.workload, m.now_unix_ms);
        assert_within(usage->mean.of[ESTIMATE_CPU], 3, 1e-9);
        assert_within(usage->weight, 0.5, 1e-6);
        assert_within(usage->request.of[ESTIMATE_CPU], 0.25, 1e-9); /* of the last pod */
        assert_int_equal(usage->pods, 0);
        workload_meter_prune(&m.meter, WEEK_UNIX_MS + WORKLOAD_METER_KEPT_MS - 1);
        assert_int_equal(m.meter.workloads.len, 1);
        workload_meter_prune(&m.meter, WEEK_UNIX_MS + WORKLOAD_METER_KEPT_MS);
        assert_int_equal(m.meter.workloads.len, 0);
        workload_meter_done(&m.meter);
}

/* A maximum is of this week and the last one. */
TEST(maximum) {
        static const struct {
                int days;
                double cores, max;
        } rows[] = {{0, 5, 5},  {6, 1, 5},  {7, 2, 5},     {13, 1, 5},
                    {14, 1, 2}, {21, 1, 1}, {49, 0.5, 0.5}};
        struct metered m;

        begin(&m, 1);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                m.now_unix_ms = WEEK_UNIX_MS + rows[i].days * MS_PER_DAY;
                add(&m, 0, rows[i].cores, 1);
                assert_within(m.workload->usage.max.of[ESTIMATE_CPU], rows[i].max, 1e-9);
        }
        workload_meter_done(&m.meter);
}

/* What one of several nodes says is bounded by the median of all, and by the request. */
TEST(bounds) {
        struct metered m;

        begin(&m, 8);
        for (int nodes = 2; nodes <= 3; nodes++) {
                struct metered_pod pods[8] = {{NULL, 0, {0}}};
                for (uint32_t i = 0; i < 8; i++)
                        pods[i] = (struct metered_pod){m.workload,
                                                       i < 4 ? 9 : i % (uint32_t)nodes,
                                                       {i < 4 ? 64 : 0.5F, 1e9F}};
                if (nodes == 2)
                        for (uint32_t i = 4; i < 8; i++)
                                pods[i].node = 1;
                workload_meter_bound(&m.meter, pods, 8);
                assert_within((double)m.workload->bound[ESTIMATE_CPU], nodes == 2 ? 0 : 2, 1e-6);
                assert_within((double)m.workload->bound[ESTIMATE_MEM], nodes == 2 ? 0 : 4e9, 1e-6);
        }
        add(&m, 0, 64, 100);
        assert_within(m.workload->usage.mean.of[ESTIMATE_CPU], 2, 1e-9);
        assert_within((double)m.pods[0].mean[ESTIMATE_CPU], 64, 1e-6); /* it is its own node */
        /* Idle replicas do not bind the one that leads below its request. */
        struct metered_pod idle[3];
        for (uint32_t i = 0; i < 3; i++)
                idle[i] = (struct metered_pod){m.workload, i, {i == 0 ? 0.9F : 0.001F, 1}};
        workload_meter_bound(&m.meter, idle, 3);
        assert_within((double)m.workload->bound[ESTIMATE_CPU], 1, 1e-6);
        workload_meter_done(&m.meter);
}

/* What a replica has written, another one goes on with. */
TEST(import) {
        struct metered m, other;
        struct workload_usage_name name;
        struct workload_usage usage;
        struct buf line = BUF_INIT(8192);

        begin(&m, 2);
        for (int minute = 0; minute < 30; minute++, m.now_unix_ms += MS_PER_MIN)
                for (size_t i = 0; i < 2; i++)
                        add(&m, i, i == 0 ? 1 : 2, 100);
        workload_usage_format(workload_meter_show(m.workload, m.now_unix_ms), NAME, strlen(NAME),
                              &line);
        assert_int_equal(workload_usage_parse(line.data, line.len - 1, &name, &usage, NULL), 0);
        begin(&other, 3);
        other.now_unix_ms = m.now_unix_ms;
        workload_meter_import(&other.meter, &name, &usage);
        assert_within(other.workload->usage.mean.of[ESTIMATE_CPU],
                      m.workload->usage.mean.of[ESTIMATE_CPU], 1e-3);
        assert_within(other.workload->usage.spread.of[ESTIMATE_CPU], 0.5, 1e-2);
        assert_int_equal(other.workload->usage.pods, 3);
        add(&other, 0, 30, 100); /* one sample after many */
        assert_true(other.workload->usage.mean.of[ESTIMATE_CPU] < 4);
        usage.since_unix_ms = 0;
        workload_meter_import(&other.meter, &name, &usage);
        assert_true(other.workload->usage.since_unix_ms > 0);
        buf_done(&line);
        workload_meter_done(&m.meter);
        workload_meter_done(&other.meter);
}

TEST(too_many_workloads) {
        struct workload_meter meter = {0};
        const struct pod_load request = {{0, 0}};
        char name[32];

        assert_null(workload_meter_join(&meter, "odd name", 8, &request, false));
        for (int i = 0; i <= WORKLOADS_METERED_MAX; i++) {
                int len = snprintf(name, sizeof(name), "n/Job/%d", i);
                bool is_metered = workload_meter_join(&meter, name, (size_t)len, &request, false);
                assert_int_equal(is_metered, i < WORKLOADS_METERED_MAX);
        }
        workload_meter_done(&meter);
}
