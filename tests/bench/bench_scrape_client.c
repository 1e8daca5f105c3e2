/*
 * What a scrape costs our HTTP client in CPU, and what its connections cost in memory, when the
 * number of keep-alive targets grows: 1,000 and 5,000 addresses 127.1.x.y, 128 calls in flight,
 * 17 kB pages (node_exporter's cpu, meminfo and loadavg).
 *
 * The peer is a child process, so that only the client is counted. What these figures may
 * be is in report.py.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "tests/bench/bench.h"

enum {
        FEW = 1000,
        MANY = 5000,
        ROUNDS = 6, /* over all targets; the first one connects and is not counted */
        IN_FLIGHT = 128,
        PAGE_BYTES = 17300,
        REQUEST_MAX = 2048,
};

/* The peer: answers every request that ends in an empty line with the same page. */

static _noreturn_ void serve(int listen_fd) {
        static char page[PAGE_BYTES + 256], in[REQUEST_MAX];
        struct epoll_event events[256];
        int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int head = snprintf(page, sizeof(page),
                            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                            "Content-Length: %d\r\n\r\n",
                            PAGE_BYTES);
        memset(page + head, 'x', PAGE_BYTES);
        size_t page_len = (size_t)head + PAGE_BYTES;
        struct epoll_event wish = {.events = EPOLLIN, .data.fd = listen_fd};
        (void)epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &wish);
        for (;;) {
                int count = epoll_wait(epoll_fd, events, ARRAY_LEN(events), -1);
                for (int i = 0; i < count; i++) {
                        int fd = events[i].data.fd;
                        if (fd == listen_fd) {
                                fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
                                wish = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
                                if (fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &wish) < 0)
                                        bench_die("peer");
                                continue;
                        }
                        ssize_t got = recv(fd, in, sizeof(in), 0);
                        if (got <= 0)
                                close(fd);
                        else if (got >= 4 && memcmp(in + got - 4, "\r\n\r\n", 4) == 0 &&
                                 send(fd, page, page_len, MSG_NOSIGNAL) != (ssize_t)page_len)
                                bench_die("peer's send");
                }
        }
}

struct peer {
        pid_t pid;
        unsigned port;
};

static struct peer start_peer(void) {
        struct peer peer = {0};
        int fd = bench_listen(true, &peer.port);

        peer.pid = fork();
        if (peer.pid < 0)
                bench_die("fork");
        if (peer.pid == 0)
                serve(fd);
        close(fd);
        return peer;
}

/* The scraper */

struct scraper {
        struct loop *loop;
        struct http_client *client;
        unsigned port;
        size_t targets;
        size_t begun, done, failed, total;
};

static void begin_one(struct scraper *scraper);

static void on_done(void *userdata, const struct http_response *response) {
        struct scraper *scraper = userdata;

        if (response->status != 200 || response->body_bytes != PAGE_BYTES) {
                scraper->failed++;
                (void)fprintf(stderr, "failed: %s\n", response->err.msg);
        }
        if (++scraper->done == scraper->total)
                loop_stop(scraper->loop);
        else if (scraper->begun < scraper->total)
                begin_one(scraper);
}

static void begin_one(struct scraper *scraper) {
        size_t target = scraper->begun++ % scraper->targets;
        char url[128];

        (void)snprintf(url, sizeof(url), "http://127.1.%zu.%zu:%u/metrics?collect[]=cpu",
                       target / 250, target % 250 + 1, scraper->port);
        (void)http_start(scraper->client, &(struct http_request){.method = "GET",
                                                                 .url = url,
                                                                 .timeout_ms = 10000,
                                                                 .max_body_bytes = 16 << 20,
                                                                 .on_done = on_done,
                                                                 .userdata = scraper});
}

static void scrape(struct scraper *scraper, size_t total) {
        scraper->begun = scraper->done = 0;
        scraper->total = total;
        for (size_t i = 0; i < IN_FLIGHT; i++)
                begin_one(scraper);
        loop_run(scraper->loop);
}

static double resident_mb(void) {
        unsigned long pages = 0, resident = 0;
        FILE *file = fopen("/proc/self/statm", "re");

        if (!file || fscanf(file, "%lu %lu", &pages, &resident) != 2)
                bench_die("/proc/self/statm");
        (void)fclose(file);
        return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

struct result {
        double us_per_scrape; /* first, as bench_compare() looks there */
        double growth_mb;
};

/* In a child of its own: memory that one run leaves behind is no matter of the next. */
static struct result measure(size_t targets) {
        struct result result = {0};
        int fds[2];

        if (pipe(fds) < 0)
                bench_die("pipe");
        pid_t pid = fork();
        if (pid < 0)
                bench_die("fork");
        if (pid == 0) {
                struct peer peer = start_peer();
                struct scraper scraper = {
                        .loop = loop_new(), .port = peer.port, .targets = targets};
                double before_mb = resident_mb();
                scraper.client = http_client_new(
                        scraper.loop, &(struct http_client_options){.max_in_flight = IN_FLIGHT});
                scrape(&scraper, targets);
                double before_us = bench_cpu_us();
                size_t count = targets * (ROUNDS - 1);
                if (targets < MANY)
                        count = MANY * (ROUNDS - 1);
                scrape(&scraper, count);
                result.us_per_scrape = (bench_cpu_us() - before_us) / (double)count;
                result.growth_mb = resident_mb() - before_mb;
                http_client_free(scraper.client);
                loop_free(scraper.loop);
                (void)kill(peer.pid, SIGKILL);
                (void)waitpid(peer.pid, NULL, 0);
                if (scraper.failed > 0 || write(fds[1], &result, sizeof(result)) < 0)
                        _exit(1);
                _exit(0);
        }
        int status = 0;
        close(fds[1]);
        if (read(fds[0], &result, sizeof(result)) != (ssize_t)sizeof(result) ||
            waitpid(pid, &status, 0) != pid || status != 0) {
                (void)fprintf(stderr, "a run with %zu targets failed\n", targets);
                exit(1);
        }
        close(fds[0]);
        return result;
}

static struct result median_of_3(size_t targets) {
        struct result results[3];

        for (size_t i = 0; i < ARRAY_LEN(results); i++)
                results[i] = measure(targets);
        qsort(results, ARRAY_LEN(results), sizeof(*results), bench_compare);
        return results[1];
}

int main(void) {
        struct rlimit limit = {0};

        (void)getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        if (limit.rlim_max < MANY + 200 || setrlimit(RLIMIT_NOFILE, &limit) < 0) {
                (void)fprintf(stderr, "needs %d open files (ulimit -n)\n", MANY + 200);
                return 77; /* as report.py has it: the machine lacks something */
        }
        struct result few = median_of_3(FEW), many = median_of_3(MANY);
        (void)printf("1,000 targets %8.1f us CPU a scrape  %6.1f MB\n", few.us_per_scrape,
                     few.growth_mb);
        (void)printf("5,000 targets %8.1f us CPU a scrape  %6.1f MB\n", many.us_per_scrape,
                     many.growth_mb);
        return 0;
}
