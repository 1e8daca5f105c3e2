/*
 * The entry point that libFuzzer and replay.c call. Each gives it a copy of the input without a
 * byte more, so that the sanitizer sees a read past the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is true of every input. */
static inline void require(bool holds) {
        if (!holds)
                abort();
}
