/*
 * A client of extenders: posts one body again and again over one kept connection and prints
 * `p50_us p99_us cpu_us`: the time that a request took, and CPU time of the server a request (all
 * its threads, from /proc).
 *
 *     extender_load PORT PATH BODY_FILE COUNT SERVER_PID
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "tests/bench/bench.h"

enum { WARM_UP = 5, COUNT_MAX = 1000000, BUFFER_BYTES = 1 << 20 };

static char buffer[BUFFER_BYTES];

static uint64_t number(const char *text) {
        uint64_t value;

        if (!number_parse_u64(text, strlen(text), &value)) {
                (void)fprintf(stderr, "%s: expected a number\n", text);
                exit(2);
        }
        return value;
}

/* The first field of each thread's schedstat: nanoseconds on a CPU. */
static double cpu_us(const char *pid) {
        _cleanup_(freep) char *directory = xasprintf("/proc/%s/task", pid);
        DIR *tasks = opendir(directory);
        double sum_us = 0;

        if (!tasks)
                bench_die(directory);
        for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
                _cleanup_(freep) char *path = xasprintf("%s/%s/schedstat", directory, task->d_name);
                FILE *file = fopen(path, "re");
                unsigned long long ns;
                if (!file)
                        continue;
                if (fscanf(file, "%llu", &ns) == 1)
                        sum_us += (double)ns / 1e3;
                (void)fclose(file);
        }
        (void)closedir(tasks);
        return sum_us;
}

static void send_all(int fd, const char *data, size_t len) {
        while (len > 0) {
                ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
                if (n <= 0)
                        bench_die("send");
                data += n;
                len -= (size_t)n;
        }
}

/* Reads one answer; only Content-Length is understood, and only 200 is good. */
static void receive(int fd) {
        size_t have = 0, left;
        char *body;

        for (;;) {
                ssize_t n = recv(fd, buffer + have, sizeof(buffer) - 1 - have, 0);
                if (n <= 0)
                        bench_die("recv");
                have += (size_t)n;
                buffer[have] = '\0';
                body = strstr(buffer, "\r\n\r\n");
                if (body)
                        break;
        }
        const char *length = strcasestr(buffer, "\r\nContent-Length: ");
        unsigned long long bytes = 0;
        if (strncmp(buffer, "HTTP/1.1 200 ", 13) != 0 || !length ||
            sscanf(length + 18, "%llu", &bytes) != 1) {
                (void)fprintf(stderr, "%.200s\n", buffer);
                exit(1);
        }
        left = bytes - (have - (size_t)(body + 4 - buffer));
        while (left > 0) {
                ssize_t n = recv(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), 0);
                if (n <= 0)
                        bench_die("recv");
                left -= (size_t)n;
        }
}

static int compare_times(const void *a, const void *b) {
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
        return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
        struct buf request = BUF_INIT(512 << 20);
        _cleanup_(freep) char *body = NULL;
        size_t body_len = 0;

        if (argc != 6) {
                (void)fputs("usage: extender_load PORT PATH BODY_FILE COUNT SERVER_PID\n", stderr);
                return 2;
        }
        size_t count = number(argv[4]);
        if (count == 0 || count > COUNT_MAX)
                return 2;
        bench_read(argv[3], &body, &body_len);
        (void)buf_printf(&request,
                         "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n",
                         argv[2], body_len);
        (void)buf_append(&request, body, body_len);

        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons((uint16_t)number(argv[1])),
                .sin_addr = {htonl(INADDR_LOOPBACK)},
        };
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                bench_die("connect");
        _cleanup_(freep) int64_t *times_ns = xcalloc(count, sizeof(*times_ns));
        double before_us = 0;
        for (size_t i = 0; i < WARM_UP + count; i++) {
                if (i == WARM_UP)
                        before_us = cpu_us(argv[5]);
                int64_t begin_ns = clock_mono_ns();
                send_all(fd, request.data, request.len);
                receive(fd);
                if (i >= WARM_UP)
                        times_ns[i - WARM_UP] = clock_mono_ns() - begin_ns;
        }
        double spent_us = cpu_us(argv[5]) - before_us;
        qsort(times_ns, count, sizeof(*times_ns), compare_times);
        (void)printf("%.1f %.1f %.1f\n", (double)times_ns[count / 2] / 1e3,
                     (double)times_ns[count * 99 / 100] / 1e3, spent_us / (double)count);
        (void)close(fd);
        buf_done(&request);
        return 0;
}
