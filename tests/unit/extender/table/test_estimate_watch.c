/* When pods ended that the watch did not see end, against a server that answers from a script. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <sys/socket.h>

#include "extender/table/estimate_watch.h"
#include "tests/unit/fixture/scripted_fixture.h"

enum { WINDOW_MS = 300000, AWAY_MS = 900000 };

#define POD(uid)                                                                                   \
        "{\"metadata\":{\"name\":\"" uid "\",\"namespace\":\"d\",\"uid\":\"" uid                   \
        "\",\"resourceVersion\":\"11\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{"            \
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\","       \
        "\"containerStatuses\":[{\"state\":{\"running\":{\"startedAt\":"                           \
        "\"2026-07-23T10:00:00Z\"}}}]}}"
#define LIST(pods)                                                                                 \
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},"   \
        "\"items\":[" pods "]}"
#define GONE "{\"type\":\"DELETED\",\"object\":" POD("a") "}\n"
#define EXPIRED                                                                                    \
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"," \
        "\"message\":\"too old resource version\"}}\n"

static void on_usage_change(void *userdata, void *owner) {
}

static void on_change(void *userdata) {
        ++*(size_t *)userdata;
}

static double pods_of(void *estimator) {
        struct estimator_stats stats;

        estimator_stats(estimator, 0, &stats);
        return (double)stats.pods;
}

static void read_cores(struct estimator *estimator, struct estimator_node *node, double cores) {
        estimator_read(estimator, node, ESTIMATE_CPU,
                       &(struct tracked_reading){cores / 10, standing_ms - WINDOW_MS, standing_ms,
                                                 WINDOW_MS},
                       NULL);
}

static void add_list(struct fixture *f, const char *pods) {
        expect(f, 200, "GET /api/v1/pods?", "&limit=", pods);
}

static void add_watch(struct fixture *f, const char *text, bool waits, bool holds) {
        scripted_add(&f->rig.server,
                     (struct scripted_reply){.expect = {"watch=1&resourceVersion=10&"},
                                             .response = scripted_stream(text),
                                             .before = waits ? wait_for_test : NULL,
                                             .holds = holds});
}

enum way { SEEN, STEPPED, REPLAYED, LISTED, WAYS };

static void write_script(struct fixture *f, enum way way) {
        add_list(f, LIST(POD("a") "," POD("b")));
        add_watch(f, way == SEEN ? GONE : "", way == SEEN, true);
        if (way == REPLAYED)
                add_watch(f, GONE, false, true);
        if (way != LISTED)
                return;
        add_watch(f, EXPIRED, false, false);
        add_list(f, LIST(POD("b")));
        add_watch(f, "", false, true);
}

/* Nothing comes from the server for so long that the watch is given up; then it is opened again. */
static void come_back(struct fixture *f, enum way way) {
        pass(f, AWAY_MS);
        pass(f, 1000);
        if (way == REPLAYED)
                return;
        run_until(f, counted,
                  metrics_counter(f->rig.metrics, "plimsoll_watch_restarts_total",
                                  "Ended watches by reason.",
                                  LABELS("resource", "pods", "reason", "expired")),
                  1);
        pass(f, 2000); /* it had ended too soon to be asked for again at once */
}

static double answered(void *server) {
        return (double)atomic_load(&((struct scripted_server *)server)->answered);
}

/* The wall clock: that is no gap, neither then nor in the time that comes twice. */
static void step_and_return(struct fixture *f) {
        run_until(f, answered, &f->rig.server, 2);
        wall_later_ms = AWAY_MS;
        pass(f, 1000);
        wall_later_ms = 0;
        for (int seconds = 0; seconds < WINDOW_MS / 2000; seconds++)
                pass(f, 1000);
        assert_int_equal(send(f->rig.server.held[0], GONE, strlen(GONE), MSG_NOSIGNAL),
                         strlen(GONE));
}

/* Two pods of one core each. The first one is gone: now, or as long ago as nobody looked; so the
 * last window held it whole or not at all, and what the second one uses is as it was. */
static void check_way(enum way way) {
        struct fixture f = {0};
        size_t changes = 0;
        int owner = 0;

        write_script(&f, way);
        start(&f);
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(on_usage_change,
                                                                               NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "n", 1, &owner);
        struct health *health = health_new();
        struct estimate_watch *watch = estimate_watch_new(&(struct estimate_watch_options){
                .loop = f.rig.loop,
                .api = f.rig.api,
                .metrics = f.rig.metrics,
                .check = health_add(health, "pods", ""),
                .estimator = estimator,
                .on_change = on_change,
                .userdata = &changes,
        });
        estimator_set_capacity(node, &(struct pod_load){{10, 1e10}});
        read_cores(estimator, node, 2);
        estimate_watch_begin(watch);
        estimate_watch_begin(watch); /* once counts */
        run_until(&f, pods_of, estimator, 2);
        pass(&f, 1000);
        if (way == SEEN)
                assert_int_equal(sem_post(&f.go_on), 0);
        else if (way == STEPPED)
                step_and_return(&f);
        else
                come_back(&f, way);
        run_until(&f, pods_of, estimator, 1);
        run_until(&f, served, &f.rig.server, (double)f.rig.server.count);
        assert_true(changes > 0);
        read_cores(estimator, node, way <= STEPPED ? 2 : 1);
        struct estimator_usage usage;
        estimator_usage(estimator, node, &usage);
        if (!(fabs(usage.ratio[ESTIMATE_CPU] - 0.1) < 0.001))
                fail_msg("way %d: %g", (int)way, usage.ratio[ESTIMATE_CPU]);
        estimate_watch_free(watch);
        estimator_node_release(estimator, node);
        health_free(health);
        stop(&f);
}

TEST(ends) {
        for (enum way way = 0; way < WAYS; way++)
                check_way(way);
}
