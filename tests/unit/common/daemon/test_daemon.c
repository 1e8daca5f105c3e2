/* Signals, readiness, and the pages of a daemon. */
#include "tests/unit/fixture/test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/daemon.h"

static struct http_exchange ask(struct health *health, struct shared_page *metrics_page,
                                const char *method, const char *path) {
        const struct daemon daemon = {.health = health, .metrics_page = metrics_page};
        struct http_exchange exchange = {.method = method, .path = path, .body = "", .status = 500};

        assert_true(daemon_pages(&daemon, &exchange));
        return exchange;
}

static void expect(struct http_exchange exchange, int status, const char *text) {
        assert_int_equal(exchange.status, status);
        assert_int_equal(exchange.reply_count, text ? 1 : 0);
        if (text) {
                size_t len = exchange.reply[0].iov_len;
                assert_int_equal(len, strlen(text));
                assert_memory_equal(exchange.reply[0].iov_base, text, len);
                assert_non_null(exchange.reply_content_type);
        }
        if (exchange.release)
                exchange.release(exchange.release_userdata);
}

TEST(readiness) {
        _cleanup_(health_freep) struct health *health = health_new();

        expect(ask(health, NULL, "GET", "/readyz"), 200, "ok"); /* nothing is missing */
        struct health_check *policy = health_add(health, "policy",
                                                 "not read yet: --policy-config-path");
        struct health_check *watch = health_add(health, "node-watch", "no list yet");
        expect(ask(health, NULL, "GET", "/readyz"), 503,
               "[-] policy: not read yet: --policy-config-path\n"
               "[-] node-watch: no list yet\n"
               "readyz check failed\n");
        health_pass(watch, "%d nodes", 5000);
        expect(ask(health, NULL, "GET", "/readyz"), 503,
               "[-] policy: not read yet: --policy-config-path\n"
               "[+] node-watch: 5000 nodes\n"
               "readyz check failed\n");
        health_pass(policy, "%s", "");
        expect(ask(health, NULL, "GET", "/readyz"), 200, "ok");

        /* An error message cannot forge a line. */
        health_fail(policy, "line 3: '%s'", "x\n[+] policy");
        expect(ask(health, NULL, "GET", "/readyz"), 503,
               "[-] policy: line 3: 'x [+] policy'\n"
               "[+] node-watch: 5000 nodes\n"
               "readyz check failed\n");
        health_pass(policy, "again");

        health_shut_down(health);
        expect(ask(health, NULL, "GET", "/readyz"), 503,
               "[+] policy: again\n"
               "[+] node-watch: 5000 nodes\n"
               "[-] shutdown: in progress\n"
               "readyz check failed\n");
        /* Ending is not a reason to be killed. */
        expect(ask(health, NULL, "GET", "/livez"), 200, "ok");
        expect(ask(health, NULL, "GET", "/healthz"), 200, "ok");
}

TEST(long_detail_is_cut) {
        _cleanup_(health_freep) struct health *health = health_new();
        char text[4096];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        struct health_check *check = health_add(health, "policy", text);
        health_fail(check, "%s", text);
        struct http_exchange exchange = ask(health, NULL, "GET", "/readyz");
        assert_true(exchange.reply[0].iov_len < 1024);
        exchange.release(exchange.release_userdata);
}

TEST(methods_and_paths) {
        _cleanup_(health_freep) struct health *health = health_new();
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(loop_freep) struct loop *loop = loop_new();
        _cleanup_(shared_page_freep) struct shared_page *page = daemon_metrics_page(loop, metrics);
        char flagz[] = "\na flagz\n\nb=c\n";
        const struct daemon bare = {.health = health},
                            daemon = {.health = health, .metrics_page = page, .flagz = flagz};
        struct http_exchange other = {.method = "GET", .path = "/filter", .status = 500};

        assert_false(daemon_pages(&daemon, &other));
        assert_int_equal(other.status, 500);
        other.path = "/metrics";
        assert_false(daemon_pages(&bare, &other));
        other.path = "/flagz";
        assert_false(daemon_pages(&bare, &other));
        assert_true(daemon_pages(&daemon, &other));
        expect(other, 200, flagz);
        other.path = "/readyz/";
        assert_false(daemon_pages(&daemon, &other));
        expect(ask(health, page, "POST", "/readyz"), 405, NULL);
        expect(ask(health, page, "DELETE", "/metrics"), 405, NULL);

        metrics_add(metrics_counter(metrics, "plimsoll_things_total", "Things.", NULL), 3);
        struct http_exchange answer = ask(health, page, "GET", "/metrics");
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.reply_content_type, "text/plain; version=0.0.4; charset=utf-8");
        assert_non_null(strstr(answer.reply[0].iov_base, "\nplimsoll_things_total 3\n"));
        answer.release(answer.release_userdata);
}

static void append_too_much(void *userdata, struct buf *out) {
        static const char line[] = "plimsoll_things_total{thing=\"another one of very many\"} 1\n";

        while (buf_puts(out, line))
                (*(size_t *)userdata)++;
}

/* Half of a page would be taken for all of it. */
TEST(too_many_metrics) {
        _cleanup_(health_freep) struct health *health = health_new();
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(loop_freep) struct loop *loop = loop_new();
        _cleanup_(shared_page_freep) struct shared_page *page = daemon_metrics_page(loop, metrics);
        size_t lines = 0;

        metrics_set_section(metrics, append_too_much, &lines);
        expect(ask(health, page, "GET", "/metrics"), 500, NULL);
        assert_true(lines > 200000);
}

static void stop(void *userdata) {
        loop_stop(userdata);
}

TEST(heartbeat) {
        _cleanup_(loop_freep) struct loop *loop = loop_new();
        _cleanup_(health_freep) struct health *health = health_new();
        struct loop_timer end = {0};

        enum { MAX_STUCK_MS = 50 };
        health_heartbeat(health, loop, MAX_STUCK_MS);
        expect(ask(health, NULL, "GET", "/livez"), 200, "ok");
        int64_t start_ms = clock_mono_ms();
        while (clock_mono_ms() <= start_ms + MAX_STUCK_MS + 10)
                usleep(1000); /* the loop does not turn */
        struct http_exchange stuck = ask(health, NULL, "GET", "/livez");
        assert_int_equal(stuck.status, 503);
        assert_memory_equal(stuck.reply[0].iov_base, "[-] loop: last iteration ", 17);
        assert_non_null(strstr(stuck.reply[0].iov_base, "\nlivez check failed\n"));
        stuck.release(stuck.release_userdata);

        loop_timer_arm(loop, &end, 0, stop, loop);
        loop_run(loop);
        expect(ask(health, NULL, "GET", "/healthz"), 200, "ok");
}

/* As attributes.h promises of whatever is freed by _cleanup_. */
TEST(free_nothing) {
        health_free(NULL);
        loop_free(NULL);
}

struct received {
        struct loop *loop;
        int numbers[3];
        size_t count;
};

static void on_signal(void *userdata, int signal_number) {
        struct received *received = userdata;

        received->numbers[received->count++] = signal_number;
        if (received->count == ARRAY_LEN(received->numbers))
                loop_stop(received->loop);
}

TEST(signals) {
        _cleanup_(daemon_done) struct daemon daemon = {.loop = loop_new()};
        struct received received = {.loop = daemon.loop};

        daemon_begin();
        assert_int_equal(daemon_on_signals(&daemon, on_signal, &received, NULL), 0);
        assert_return_code(kill(getpid(), SIGTERM), 0);
        assert_return_code(kill(getpid(), SIGINT), 0);
        assert_return_code(kill(getpid(), SIGHUP), 0);
        assert_return_code(kill(getpid(), SIGPIPE), 0); /* ignored */
        loop_run(daemon.loop);
        /* The kernel hands them out by number. */
        assert_int_equal(received.numbers[0], SIGHUP);
        assert_int_equal(received.numbers[1], SIGINT);
        assert_int_equal(received.numbers[2], SIGTERM);
}

TEST(no_core_dump) {
        struct rlimit limit = {.rlim_cur = RLIM_INFINITY};

        daemon_begin();
        assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
        assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
        assert_int_equal(limit.rlim_cur, 0);
        assert_int_equal(limit.rlim_max, 0);
}

static void on_first(void *userdata, int signal_number) {
        struct received *received = userdata;

        assert_int_equal(signal_number, SIGHUP);
        received->count++;
        loop_stop(received->loop);
}

/* Two wait for it, and both are woken. */
TEST(signal_for_one) {
        struct loop *loop = loop_new();
        _cleanup_(daemon_done) struct daemon daemon = {.loop = loop};
        struct daemon other = {.loop = loop};
        struct received received = {.loop = loop};

        daemon_begin();
        assert_int_equal(daemon_on_signals(&daemon, on_first, &received, NULL), 0);
        assert_int_equal(daemon_on_signals(&other, on_first, &received, NULL), 0);
        assert_return_code(kill(getpid(), SIGHUP), 0);
        loop_run(loop);
        assert_int_equal(received.count, 1);
        loop_fd_remove(loop, other.signal_fd);
        (void)close(other.signal_fd);
}
