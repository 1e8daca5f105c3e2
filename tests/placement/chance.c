#include "chance.h"

#include <math.h>

uint64_t chance_mix(uint64_t x) {
        x ^= x >> 30;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
        x ^= x >> 27;
        x *= UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

double chance_uniform(uint64_t seed, uint64_t place) {
        return (double)(chance_mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (place + 1)) >> 11) *
               0x1p-53;
}

static double chance_normal(uint64_t seed, uint64_t place) {
        double u = chance_uniform(seed, 2 * place), v = chance_uniform(seed, 2 * place + 1);

        return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

double chance_lognormal(uint64_t seed, uint64_t place, double sigma) {
        return exp(sigma * chance_normal(seed, place) - sigma * sigma / 2);
}

double chance_exponential(uint64_t seed, uint64_t place, double mean) {
        return -mean * log(1 - chance_uniform(seed, place));
}
