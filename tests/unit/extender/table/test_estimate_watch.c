/* When pods ended that the watch did not see end, against a server that answers from a script. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <sys/socket.h>

#include "extender/table/estimate_watch.h"
#include "tests/unit/fixture/scripted_fixture.h"

enum { WINDOW_MS = 300000, AWAY_MS = 900000 };

#define POD_SINCE(uid, started)                                                                    \
        "{\"metadata\":{\"name\":\"" uid "\",\"namespace\":\"d\",\"uid\":\"" uid                   \
        "\",\"resourceVersion\":\"11\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{"            \
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\","       \
        "\"containerStatuses\":[{\"state\":{\"running\":{\"startedAt\":\"" started "\"}}}]}}"
#define POD(uid) POD_SINCE(uid, "2026-07-23T10:00:00Z")
#define PAGE(pods, more)                                                                           \
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"           \
        "\"10\"" more "},\"items\":[" pods "]}"
#define LIST(pods) PAGE(pods, "")
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

static void read_cores(struct estimator_node *node, double cores) {
        estimator_read(node, ESTIMATE_CPU,
                       &(struct mean_reading){cores / 10, standing_ms - WINDOW_MS, standing_ms,
                                              WINDOW_MS});
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

static void wait_for_expiry(struct fixture *f) {
        run_until(f, counted,
                  metrics_counter(f->rig.metrics, "plimsoll_watch_restarts_total",
                                  "Ended watches by reason.",
                                  LABELS("resource", "pods", "reason", "expired")),
                  1);
        pass(f, 2000); /* it had ended too soon to be asked for again at once */
}

/* Nothing comes from the server for so long that the watch is given up; then it is opened again. */
static void come_back(struct fixture *f, enum way way) {
        pass(f, AWAY_MS);
        pass(f, 1000);
        if (way == REPLAYED)
                return;
        wait_for_expiry(f);
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
        struct daemon daemon;
        struct estimator *estimator;
        struct estimator_node *node;
        struct estimate_watch *watch;
        size_t changes;
        int owner;
};

static void ignore_pod(void *userdata, const struct pod_facts *pod, bool is_appeared) {
        (void)userdata;
        (void)pod;
}

/* Two pods of one core each. */
static void begin_watching(struct watched *w) {
        start(&w->f);
        w->daemon = (struct daemon){
                .loop = w->f.rig.loop, .api = w->f.rig.api, .metrics = w->f.rig.metrics};
        w->estimator = estimator_new(on_usage_change, NULL);
        w->node = estimator_node_hold(w->estimator, "n", 1, &w->owner);
        w->watch = estimate_watch_new(&(struct estimate_watch_options){
                .daemon = &w->daemon,
                .estimator = w->estimator,
                .on_change = on_change,
                .on_pod = ignore_pod,
                .userdata = &w->changes,
        });
        estimator_set_capacity(w->node, &(struct pod_load){{10, 1e10}});
        read_cores(w->node, 2);
        run_until(&w->f, pods_of, w->estimator, 2);
}

static void check_within(const struct watched *w, double cores, double error, const char *when) {
        struct estimator_usage usage;

        estimator_usage(w->estimator, w->node, &usage);
        if (!(fabs(usage.ratio[ESTIMATE_CPU] * 10 - cores) < error))
                fail_msg("%s: %g cores", when, usage.ratio[ESTIMATE_CPU] * 10);
}

static void check_cores(const struct watched *w, double cores, const char *when) {
        check_within(w, cores, 0.01, when);
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
                read_cores(w.node, way <= STEPPED ? 2 : 1);
                check_cores(&w, 1, names[way]);
                end_watching(&w);
        }
}

static atomic_int pages_asked_for;

static double asked(void *of) {
        return atomic_load((atomic_int *)of);
}

static void note_and_wait(void *userdata) {
        atomic_fetch_add(&pages_asked_for, 1);
        wait_for_test(userdata);
}

static void add_page(struct fixture *f, const char *more, const char *page) {
        scripted_add(&f->rig.server,
                     (struct scripted_reply){.expect = {"GET /api/v1/pods?", more},
                                             .response = scripted_http(200, "", page),
                                             .before = note_and_wait});
}

/* A pod ends while the pods are listed again, page by page: it ended when the list began, at the
 * latest, since a list is of one moment. */
TEST(ends_in_a_long_list) {
        enum { PAGES = 3, PAGE_S = 7 };
        struct watched w = {0};

        add_list(&w.f, LIST(POD("a") "," POD("b")));
        add_watch(&w.f, EXPIRED, true, false);
        for (int i = 1; i < PAGES; i++)
                add_page(&w.f, i > 1 ? "continue=x" : "&limit=", PAGE("", ",\"continue\":\"x\""));
        add_page(&w.f, "continue=x", LIST(POD("b")));
        add_watch(&w.f, "", false, true);
        begin_watching(&w);
        pass_seconds(&w.f, 1);
        assert_int_equal(sem_post(&w.f.go_on), 0);
        wait_for_expiry(&w.f);
        int64_t began_ms = standing_ms;
        for (int i = 0; i < PAGES; i++) {
                run_until(&w.f, asked, &pages_asked_for, i + 1);
                pass_seconds(&w.f, PAGE_S);
                assert_int_equal(sem_post(&w.f.go_on), 0);
        }
        run_until(&w.f, pods_of, w.estimator, 1);
        run_until(&w.f, answered, &w.f.rig.server, (double)w.f.rig.server.count);
        read_cores(w.node, 2 - (double)(standing_ms - began_ms) / WINDOW_MS);
        check_cores(&w, 1, "listed");
        end_watching(&w);
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
        read_cores(w.node, 1);
        check_cores(&w, 1, "set back");
        end_watching(&w);
}

/* A pod that turns up with a start long ago runs since then: the next window holds it whole. Else
 * it has just started, since the clock of its node may differ, and half a window holds half of it.
 */
TEST(starts) {
        static const struct {
                const char *started;
                double cores;
        } rows[] = {
                {"2026-07-23T11:25:54Z", 3},
                {"2026-07-23T11:24:54Z", 3},
                {"2026-07-23T12:00:00Z", 3},
                {"2026-07-23T10:00:00Z", 2.5},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct watched w = {0};
                _cleanup_(freep) char *event = xasprintf(
                        "{\"type\":\"ADDED\",\"object\":" POD_SINCE("c", "%s") "}\n",
                        rows[i].started);
                write_script(&w.f, STEPPED);
                begin_watching(&w);
                run_until(&w.f, answered, &w.f.rig.server, 2);
                pass_seconds(&w.f, 1);
                send_event(&w.f, event);
                run_until(&w.f, pods_of, w.estimator, 3);
                standing_ms += WINDOW_MS / 2;
                read_cores(w.node, 2.5);
                check_within(&w, rows[i].cores, 0.1, rows[i].started);
                end_watching(&w);
        }
}

/* No pod of a list starts later than now: the window after it holds it whole. */
TEST(starts_in_a_list) {
        struct watched w = {0};

        add_list(&w.f, LIST(POD("a") "," POD_SINCE("b", "2026-07-23T12:00:00Z")));
        add_watch(&w.f, "", false, true);
        begin_watching(&w);
        run_until(&w.f, answered, &w.f.rig.server, 2);
        standing_ms += WINDOW_MS;
        read_cores(w.node, 3);
        check_within(&w, 3, 0.1, "listed");
        end_watching(&w);
}
