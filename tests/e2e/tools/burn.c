/*
 * burn PERCENT MIB: what a pod does that uses so much of a CPU, and so much memory. Without
 * arguments it waits for its end, as what holds a pod's namespaces does.
 */

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURN_MS = 100, NS_PER_MS = 1000000 };

static int64_t used_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
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
                int64_t began_ns = used_ns();
                while (used_ns() - began_ns < busy_ms * NS_PER_MS)
                        ;
                usleep((useconds_t)((TURN_MS - busy_ms) * 1000));
        }
}
