/* List and watch, as time passes. */
#include "tests/unit/fixture/test.h"

#include "reflected_nodes.h"
#include "tests/unit/fixture/reflector_steps.h"

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

static void reflect_slowly(struct fixture *f, const struct clock_step *clock,
                           int64_t first_pause_ms) {
        start_stepped(f);
        begin_reflecting(f, &(struct reflector_spec){.first_pause_ms = first_pause_ms,
                                                     .on_trouble = on_trouble});
        run_stepped(f, clock);
}

static void reflect(struct fixture *f, const struct clock_step *clock) {
        reflect_slowly(f, clock, 2);
}

static void cut_watch(struct fixture *f) {
        (void)shutdown(f->rig.server.held[0], SHUT_RDWR);
}

#define EMPTY LIST("10", "", "")

TEST(scripts) {
        struct rows rows = rows_open("reflector-times.tsv");

        for (struct fixture f; next_script(&rows, &f);) {
                struct clock_step clock[8] = {0};
                int64_t begun_ms = clock_mono_ms() - later_ms;

                read_clock(rows.cells[4], clock, cut_watch);
                reflect_slowly(&f, clock, strtol(rows.cells[5], NULL, 10));
                check_restarts(&f, rows.cells[3]);
                assert_true(clock_mono_ms() - later_ms - begun_ms < 8000);
                stop(&f);
        }
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

        answer(&f, FIRST_LIST, scripted_http(200, "", EMPTY), false);
        answer(&f, WATCH("10"), scripted_stream(""), true);
        answer(&f, WATCH("10"), scripted_stream(""), true);
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

        answer(&f, FIRST_LIST, scripted_http(200, "", EMPTY), false);
        answer(&f, WATCH("10"), scripted_stream(EVENT("ADDED", "a", "11")), false);
        f.rig.server.script[1].before = second_later;
        answer(&f, WATCH("11"), scripted_stream(EVENT("ADDED", "a", "12")), false);
        answer(&f, WATCH("12"), scripted_stream(""), false);
        f.rig.server.script[3].before = second_later;
        answer(&f, WATCH("12"), scripted_stream(""), true);
        reflect(&f, clock);
        assert_true(restarts(&f, "eof") == 1);
        assert_true(restarts(&f, "short") == 2);
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
                answer(&f, FIRST_LIST, scripted_http(rows[i].status, rows[i].headers, "no"), false);
                answer(&f, FIRST_LIST, scripted_http(200, "", EMPTY), false);
                f.rig.server.script[1].before = note_request;
                answer(&f, WATCH("10"), scripted_stream(""), true);
                f.rig.server.userdata = &asked_at_s;
                reflect(&f, clock);
                assert_int_equal(atomic_load(&asked_at_s), rows[i].most_s);
                stop(&f);
        }
}
