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

/* In the watch that is open. */
static void send_event(const struct fixture *f, const char *event) {
        ssize_t sent = send(f->rig.server.held[0], event, strlen(event), MSG_NOSIGNAL);

        assert_int_equal(sent, strlen(event));
}

static void pass_seconds(struct fixture *f, int seconds) {
        while (seconds-- > 0)
                pass(f, 1000);
}

/* The wall clock: that is no gap, neither then nor in the time that comes twice. */
static void step_and_return(struct fixture *f) {
        run_until(f, answered, &f->rig.server, 2);
        wall_later_ms = AWAY_MS;
        pass_seconds(f, 1);
        wall_later_ms = 0;
        pass_seconds(f, WINDOW_MS / 2000);
        send_event(f, GONE);
}

struct watched {
        struct fixture f;
        struct estimator *estimator;
        struct estimator_node *node;
        struct estimate_watch *watch;
        size_t changes;
        int owner;
};

/* Two pods of one core each. */
static void begin_watching(struct watched *w) {
        start(&w->f);
        w->estimator = estimator_new(on_usage_change, NULL);
        w->node = estimator_node_hold(w->estimator, "n", 1, &w->owner);
        w->watch = estimate_watch_new(&(struct estimate_watch_options){
                .loop = w->f.rig.loop,
                .api = w->f.rig.api,
                .metrics = w->f.rig.metrics,
                .estimator = w->estimator,
                .on_change = on_change,
                .userdata = &w->changes,
        });
        estimator_set_capacity(w->node, &(struct pod_load){{10, 1e10}});
        read_cores(w->estimator, w->node, 2);
        estimate_watch_begin(w->watch);
        estimate_watch_begin(w->watch); /* once counts */
        run_until(&w->f, pods_of, w->estimator, 2);
}

static void check_cores(const struct watched *w, double cores, const char *when) {
        struct estimator_usage usage;

        estimator_usage(w->estimator, w->node, &usage);
        if (!(fabs(usage.ratio[ESTIMATE_CPU] * 10 - cores) < 0.01))
                fail_msg("%s: %g cores", when, usage.ratio[ESTIMATE_CPU] * 10);
}

static void end_watching(struct watched *w) {
        estimate_watch_free(w->watch);
        estimator_node_release(w->estimator, w->node);
        estimator_free(w->estimator);
        stop(&w->f);
}

/* The first pod is gone: now, or as long ago as nobody looked; so the last window held it whole or
 * not at all, and what the second one uses is as it was. */
TEST(ends) {
        static const char *const names[] = {"seen", "stepped", "replayed", "listed"};

        for (enum way way = 0; way < WAYS; way++) {
                struct watched w = {0};
                write_script(&w.f, way);
                begin_watching(&w);
                pass_seconds(&w.f, 1);
                if (way == SEEN)
                        assert_int_equal(sem_post(&w.f.go_on), 0);
                else if (way == STEPPED)
                        step_and_return(&w.f);
                else
                        come_back(&w.f, way);
                run_until(&w.f, pods_of, w.estimator, 1);
                run_until(&w.f, served, &w.f.rig.server, (double)w.f.rig.server.count);
                assert_true(w.changes > 0);
                read_cores(w.estimator, w.node, way <= STEPPED ? 2 : 1);
                check_cores(&w, 1, names[way]);
                end_watching(&w);
        }
}

/* A pod ends while the wall clock is ahead. A window after it has been set back, none holds it. */
TEST(clock_is_set_back) {
        struct watched w = {0};

        write_script(&w.f, STEPPED);
        begin_watching(&w);
        run_until(&w.f, answered, &w.f.rig.server, 2);
        wall_later_ms = AWAY_MS;
        pass_seconds(&w.f, 1);
        send_event(&w.f, GONE);
        run_until(&w.f, pods_of, w.estimator, 1);
        wall_later_ms = 0;
        pass_seconds(&w.f, 1);
        standing_ms += WINDOW_MS;
        read_cores(w.estimator, w.node, 1);
        check_cores(&w, 1, "set back");
        end_watching(&w);
}
