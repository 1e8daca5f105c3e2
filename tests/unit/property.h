/* What the properties that unit tests and fuzzers share say when one does not hold. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define PROPERTY(condition)                                                                        \
        do {                                                                                       \
                if (!(condition)) {                                                                \
                        (void)fprintf(stderr, "property broken: %s\n", #condition);                \
                        abort();                                                                   \
                }                                                                                  \
        } while (0)
