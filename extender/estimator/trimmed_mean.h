/*
 * A weighted mean of shares that no single one can decide, however wrong it is: none weighs more
 * than 16 typical ones, and 2% of the weight at either end, at least one share, is left out. Pure.
 */
#pragma once

#include <stddef.h>

/* All zero: no shares yet. */
struct trimmed_mean {
        struct trimmed_share {
                double ratio, weight;
        } * shares;
        size_t count, cap;
};

/** trimmed_mean_add() - add the share @amount / @of, with the weight @of; ignored unless @of > 0 */
void trimmed_mean_add(struct trimmed_mean *mean, double amount, double of);
/** trimmed_mean_take() - the mean; NAN: there are no shares. Releases them */
double trimmed_mean_take(struct trimmed_mean *mean);
