/* What benchmarks share. Whatever fails ends the program. */
#pragma once

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/attributes.h"
#include "base/file.h"
#include "base/mem.h"

static inline _noreturn_ void bench_die(const char *what) {
        perror(what);
        exit(1);
}

/* The same numbers in every run. */
static inline uint64_t bench_random(void) {
        static uint64_t state = 88172645463325252;

        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
}

/* As file_read(). */
static inline void bench_read(const char *path, char **ret_text, size_t *ret_len) {
        struct error err = ERROR_NULL;

        if (file_read(path, 256 << 20, ret_text, ret_len, &err) < 0) {
                (void)fprintf(stderr, "%s: %s\n", path, err.msg);
                exit(1);
        }
}

static inline void bench_write(const char *directory, const char *name, const char *data,
                               size_t len) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", directory, name);
        FILE *file = fopen(path, "we");

        if (!file || fwrite(data, 1, len, file) != len || fclose(file) != 0)
                bench_die(path);
}

/* CPU time of the process, since the machine may have other work. */
static inline double bench_cpu_us(void) {
        struct timespec used = {0};

        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

static inline int bench_compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return x < y ? -1 : x > y;
}

/* A socket that listens on a free port: on 127.0.0.1, or on all of 127.0.0.0/8. */
static inline int bench_listen(bool is_everywhere, unsigned *ret_port) {
        struct sockaddr_in name = {
                .sin_family = AF_INET,
                .sin_addr.s_addr = htonl(is_everywhere ? INADDR_ANY : INADDR_LOOPBACK),
        };
        socklen_t len = sizeof(name);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        /* Loopback alone, whatever the address it listens on. */
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) < 0 ||
            bind(fd, (struct sockaddr *)&name, len) < 0 || listen(fd, 4096) < 0 ||
            getsockname(fd, (struct sockaddr *)&name, &len) < 0)
                bench_die("socket");
        *ret_port = ntohs(name.sin_port);
        return fd;
}
