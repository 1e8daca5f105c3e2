/* A process that has no descriptors left, and has them again. */
#pragma once

#include "tests/unit/fixture/test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* All that there may be are in use from here on; returns the limit that was. */
static inline struct rlimit few_descriptors_begin(void) {
        struct rlimit before, few;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        (void)close(lowest);
        few = before;
        few.rlim_cur = (rlim_t)lowest;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        return before;
}

static inline void few_descriptors_end(struct rlimit before) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}
