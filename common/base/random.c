#include "base/random.h"

#include <sys/random.h>
#include <sys/types.h>

#include "base/clock.h"

int64_t random_below(int64_t bound) {
        uint64_t random;

        /* Before the kernel's pool is ready, the clock's nanoseconds are random enough. */
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
                random = (uint64_t)clock_mono_ns() * UINT64_C(0x9e3779b97f4a7c15);
        return (int64_t)(random % (uint64_t)bound);
}
