/* List and watch, as time passes. */
#include "tests/unit/fixture/test.h"

#include "codec/json.h"
#include "tests/unit/fixture/reflector_steps.h"

#define LIST(items)                                                                                \
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" items "]}"
#define ADDED(version)                                                                             \
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":"        \
        "\"" version "\"}}}\n"

static void on_event(void *userdata, enum reflector_event event, const json_t *object) {
        struct fixture *f = userdata;

        (void)buf_printf(&f->log, "+ %s;", json_string_at(object, "metadata", "name", NULL));
}

/* "silent 8;" */
static void on_trouble(void *userdata) {
        struct fixture *f = userdata;
        const char *trouble = reflector_trouble(f->reflector);

        (void)buf_printf(&f->log, "%s %lld;",
                         strstr(trouble, "no answer for 8000 ms") ? "silent"
                         : *trouble                               ? "trouble"
                                                                  : "well",
                         (long long)(later_ms / MS_PER_S));
}

/* When a request came. */
static void note_request(void *userdata) {
        atomic_store((atomic_llong *)userdata, later_ms / MS_PER_S);
}

enum { PAUSE_MS = 100 * 3600 * MS_PER_S }; /* beyond any test's patience */

static void reflect_slowly(struct fixture *f, const struct clock_step *clock,
                           int64_t first_pause_ms) {
        start_stepped(f);
        f->reflector = reflector_new(f->rig.loop, f->rig.api, f->rig.metrics,
                                     &(struct reflector_spec){.name = "nodes",
                                                              .path = "/api/v1/nodes",
                                                              .first_pause_ms = first_pause_ms,
                                                              .on_event = on_event,
                                                              .on_trouble = on_trouble,
                                                              .userdata = f});
        run_stepped(f, clock);
}

static void reflect(struct fixture *f, const struct clock_step *clock) {
        reflect_slowly(f, clock, 2);
}

/* Reported after eight seconds, and asked for again after a minute. That says nothing of how many
 * objects fit into a page. */
TEST(silent_list) {
        struct fixture f = {.wanted_log = "silent 8;silent 61;trouble 61;well 61;"};
        static const struct clock_step clock[] = {{1, 5}, {1, 3}, {1, 53}, {0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", xstrdup(""), true);
        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        reflect(&f, clock);
        stop(&f);
}

/* One that has begun may take its minute; then half as many objects are asked for. */
TEST(slow_list) {
        struct fixture f = {.wanted_log = "trouble 60;well 60;"};
        static const struct clock_step clock[] = {{1, 20}, {1, 40}, {0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", xstrdup("HTTP/1.1 200 X\r\n\r\n{"), true);
        answer(&f, "GET /api/v1/nodes?limit=50 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        reflect(&f, clock);
        stop(&f);
}

/* The same of a watch; one that is open for eight seconds is good, though nothing has changed. */
TEST(silent_watch) {
        struct fixture f = {.wanted_log = "well 0;silent 8;silent 30;trouble 30;well 38;"};
        static const struct clock_step clock[] = {{2, 8}, {2, 22}, {3, 8}, {3, 172}, {0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", xstrdup(""), true);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        reflect(&f, clock);
        assert_true(restarts(&f, "unavailable") == 1);
        assert_true(restarts(&f, "idle") == 1);
        stop(&f);
}

/* So a watch of which no bookmark comes is good; but when three in a row have shown nothing, as
 * behind a proxy that keeps what it gets, the list does. */
TEST(mute_watches) {
        struct fixture f = {.wanted_log = "well 0;+ a;"};
        static const struct clock_step clock[] = {{2, 8}, {2, 172}, {3, 8}, {3, 172},
                                                  {4, 8}, {4, 172}, {0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        for (int i = 0; i < 3; i++)
                answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        answer(&f, "GET /api/v1/nodes?limit=100&resourceVersion=10&",
               scripted_http(200, "", LIST("{\"metadata\":{\"name\":\"a\"}}")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        reflect(&f, clock);
        assert_true(restarts(&f, "idle") == 3);
        stop(&f);
}

struct quiet {
        struct scripted_server *server;
        atomic_llong asked_at_s;
        int user_timeout_ms, keepalive_s, interval_s;
};

/* The client's end of the connections to the server: it is in this process as well. */
static void note_sockets(void *userdata) {
        enum { FD_END = 256 };
        struct quiet *quiet = userdata;

        atomic_store(&quiet->asked_at_s, later_ms / MS_PER_S);
        for (int fd = 0; fd < FD_END; fd++) {
                struct sockaddr_in peer = {0};
                socklen_t len = sizeof(peer), int_len = sizeof(int);
                if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0 ||
                    peer.sin_family != AF_INET || ntohs(peer.sin_port) != quiet->server->port)
                        continue;
                (void)getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &quiet->user_timeout_ms,
                                 &int_len);
                (void)getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &quiet->keepalive_s, &int_len);
                (void)getsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &quiet->interval_s, &int_len);
        }
}

/* A watch of which nothing is heard, not even a bookmark, is renewed after three minutes. TCP
 * breaks its connection sooner, 20 s after the last sign of life from the peer's kernel. */
TEST(quiet_watch) {
        struct fixture f = {.wanted_log = "well 0;"};
        struct quiet quiet = {.server = &f.rig.server};
        static const struct clock_step clock[] = {{2, 8}, {2, 171}, {2, 1}, {0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        f.rig.server.script[2].before = note_sockets;
        f.rig.server.userdata = &quiet;
        reflect(&f, clock);
        assert_int_equal(atomic_load(&quiet.asked_at_s), 180);
        assert_int_equal(quiet.user_timeout_ms, 20000);
        assert_int_equal(quiet.keepalive_s, 10);
        assert_int_equal(quiet.interval_s, 5);
        stop(&f);
}

/* A watch that has lived is followed by the next at once; one that has not, or that has shown
 * nothing, after a pause. */
TEST(ends) {
        struct fixture f = {.wanted_log = "well 0;+ a;+ a;"};
        static const struct clock_step clock[] = {{0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(ADDED("11")), false);
        f.rig.server.script[1].before = second_later;
        answer(&f, "watch=1&resourceVersion=11&", scripted_stream(ADDED("12")), false);
        answer(&f, "watch=1&resourceVersion=12&", scripted_stream(""), false);
        f.rig.server.script[3].before = second_later;
        answer(&f, "watch=1&resourceVersion=12&", scripted_stream(""), true);
        reflect(&f, clock);
        assert_true(restarts(&f, "eof") == 1);
        assert_true(restarts(&f, "short") == 2);
        stop(&f);
}

static void cut_watch(struct fixture *f) {
        (void)shutdown(f->rig.server.held[0], SHUT_RDWR);
}

/* Some load balancers cut what is quiet for a few seconds: that costs no pause. */
TEST(cut_when_quiet) {
        struct fixture f = {.wanted_log = "well 0;+ a;"};
        static const struct clock_step clock[] = {{2, 8}, {.answered = 2, .act = cut_watch}, {0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_chunk("\n", false), true);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(ADDED("11")), true);
        reflect_slowly(&f, clock, PAUSE_MS);
        assert_true(restarts(&f, "reset") == 1);
        stop(&f);
}

static void list_again(struct fixture *f) {
        reflector_list_again(f->reflector, false);
}

/* A list that is asked for ends with its own end, */
TEST(list_again_behind_a_watch) {
        struct fixture f = {.wanted_log = "well 0;trouble 0;+ a;well 0;+ a;well 0;"};
        static const struct clock_step clock[] = {{.answered = 3, .act = list_again}, {0}};
        int64_t begun_mono_ms = clock_mono_ms();

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_http(403, "", "{}"), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(ADDED("11")), true);
        answer(&f, "GET /api/v1/nodes?limit=100&resourceVersion=11&",
               scripted_http(200, "", LIST("{\"metadata\":{\"name\":\"a\"}}")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        reflect(&f, clock);
        assert_true(clock_mono_ms() - begun_mono_ms < 8000);
        stop(&f);
}

/* and says nothing of a watch that has failed. */
TEST(list_again_behind_a_refused_watch) {
        struct fixture f = {.wanted_log = "well 0;trouble 0;+ a;", .wanted_trouble = "watch: 403 "};
        static const struct clock_step clock[] = {{.answered = 2, .act = list_again}, {0}};

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_http(403, "", "{}"), false);
        answer(&f, "GET /api/v1/nodes?limit=100&resourceVersion=10&",
               scripted_http(200, "", LIST("{\"metadata\":{\"name\":\"a\"}}")), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
        reflect_slowly(&f, clock, PAUSE_MS);
        stop(&f);
}

/* A server that asks for time is given it, up to a minute. What is not served may be so soon. */
TEST(retry_after) {
        static const struct {
                int status;
                const char *headers;
                int64_t least_s, most_s;
        } rows[] = {
                {429, "Retry-After: 30\r\n", 27, 30},
                {429, "Retry-After: 600\r\n", 57, 60},
                {404, "", 1, 5},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {0};
                atomic_llong asked_at_s = 0;
                const struct clock_step clock[] = {
                        {1, rows[i].least_s}, {1, rows[i].most_s - rows[i].least_s}, {0}};
                answer(&f, "GET /api/v1/nodes?limit=100 ",
                       scripted_http(rows[i].status, rows[i].headers, "no"), false);
                answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", LIST("")), false);
                f.rig.server.script[1].before = note_request;
                answer(&f, "watch=1&resourceVersion=10&", scripted_stream(""), true);
                f.rig.server.userdata = &asked_at_s;
                reflect(&f, clock);
                assert_int_equal(atomic_load(&asked_at_s), rows[i].most_s);
                stop(&f);
        }
}
