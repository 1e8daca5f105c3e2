/*
 * burn PERCENT MIB: what a pod does that uses so much of a CPU, and so much memory. Each second it
 * says how long its work of ten turns took, as a share of the CPU time that it is: 1 is without
 * waiting. Without arguments it waits for its end, as what holds a pod's namespaces does.
 */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURN_MS = 100, TURNS = 10, NS_PER_MS = 1000000 };

static int64_t time_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void end(int number) {
        _exit(number == SIGTERM ? 0 : 1);
}

int main(int argc, char **argv) {
        /* The first process of a container has no default action. */
        signal(SIGTERM, end);
        if (argc < 3)
                for (;;)
                        pause();
        int64_t busy_ms = atoi(argv[1]) * TURN_MS / 100;
        size_t bytes = (size_t)atoi(argv[2]) << 20;
        volatile char *held = malloc(bytes); /* or a compiler leaves out what nobody reads */
        if (!held)
                return 1;
        for (size_t i = 0; i < bytes; i += 4096)
                held[i] = 1;
        for (;;) {
                int64_t worked_ns = 0, waited_ns = 0;
                for (int turn = 0; turn < TURNS; turn++) {
                        int64_t began_ns = time_ns(CLOCK_MONOTONIC), used_ns;
                        int64_t used_before_ns = time_ns(CLOCK_PROCESS_CPUTIME_ID);
                        while ((used_ns = time_ns(CLOCK_PROCESS_CPUTIME_ID) - used_before_ns) <
                               busy_ms * NS_PER_MS)
                                ;
                        waited_ns += time_ns(CLOCK_MONOTONIC) - began_ns;
                        worked_ns += used_ns;
                        usleep((useconds_t)((TURN_MS - busy_ms) * 1000));
                }
                printf("%.4f\n", (double)waited_ns / (double)worked_ns);
                fflush(stdout);
        }
}
