/*
 * How much of a random test runs: all of it in `make nightly`, a part otherwise.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

/* `full` in `make nightly` (PLIMSOLL_NIGHTLY=1), else `usual`. */
static inline int full_size(int full, int usual) {
        const char *nightly = getenv("PLIMSOLL_NIGHTLY");

        return nightly && strcmp(nightly, "1") == 0 ? full : usual;
}
