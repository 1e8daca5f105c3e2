/*
 * Chance that repeats itself: every number is made of a seed and a place, so that what is drawn
 * does not depend on what was drawn before.
 */
#pragma once

#include <stdint.h>

/** chance_mix() - another seed, for something of its own */
uint64_t chance_mix(uint64_t x);
/** chance_uniform() - [0, 1) */
double chance_uniform(uint64_t seed, uint64_t place);
/** chance_lognormal() - with a mean of 1 */
double chance_lognormal(uint64_t seed, uint64_t place, double sigma);
double chance_exponential(uint64_t seed, uint64_t place, double mean);
