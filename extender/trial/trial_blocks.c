#include "extender/trial/trial_blocks.h"

#include <math.h>
#include <string.h>

/* Consecutive blocks, since a node that is hot stays so for some blocks. */
enum { RUN = 8 };
static const double QUANTILE = 1.28; /* of the normal distribution, for four of five cases */
/* The error that one of five simulated predictions exceeds (tests/placement/trial.py), without
 * chance: a fixed part, and a share of the prediction. */
static const double ERROR_LEAST = 0.05, ERROR_SHARE = 0.25;

static void add_sum(struct trial_sum *to, const struct trial_sum *sum) {
        for (int w = 0; w < TRIAL_WORLDS; w++) {
                to->counted_s[w] += sum->counted_s[w];
                to->hot_s[w] += sum->hot_s[w];
                to->very_hot_s[w] += sum->very_hot_s[w];
        }
}

static void halve(struct trial_blocks *blocks) {
        for (size_t i = 0; i < TRIAL_BLOCKS_MAX / 2; i++) {
                blocks->of[i] = blocks->of[2 * i];
                add_sum(&blocks->of[i], &blocks->of[2 * i + 1]);
        }
        memset(&blocks->of[TRIAL_BLOCKS_MAX / 2], 0, sizeof(blocks->of) / 2);
        blocks->block_ms *= 2;
}

void trial_blocks_add(struct trial_blocks *blocks, const struct trial_sum *sum, int64_t span_ms) {
        if (blocks->block_ms == 0)
                blocks->block_ms = TRIAL_BLOCK_MS;
        if (blocks->counted_ms >= TRIAL_BLOCKS_MAX * blocks->block_ms)
                halve(blocks);
        size_t last = (size_t)(blocks->counted_ms / blocks->block_ms);
        add_sum(&blocks->of[last], sum);
        blocks->count = last + 1;
        blocks->counted_ms += span_ms;
}

struct trial_sum trial_blocks_sum(const struct trial_blocks *blocks) {
        struct trial_sum sum = {0};

        for (size_t i = 0; i < blocks->count; i++)
                add_sum(&sum, &blocks->of[i]);
        return sum;
}

static double share(double part, double all) {
        return all > 0 ? part / all : 0;
}

/* The part of the ratio by which a block changes it, to the first order. */
static double pull(const struct trial_sum *block, const struct trial_sum *all) {
        double by[TRIAL_WORLDS];

        for (int w = 0; w < TRIAL_WORLDS; w++)
                by[w] = share(block->hot_s[w], all->hot_s[w]) -
                        share(block->counted_s[w], all->counted_s[w]);
        return by[TRIAL_VIRTUAL] - by[TRIAL_REAL];
}

bool trial_blocks_ratio(const struct trial_blocks *blocks, bool is_measured,
                        struct trial_ratio *ret) {
        const struct trial_sum all = trial_blocks_sum(blocks);
        double variance = 0;

        if (blocks->count < RUN || all.hot_s[TRIAL_REAL] <= 0 || all.counted_s[TRIAL_VIRTUAL] <= 0)
                return false;
        double ratio = all.hot_s[TRIAL_VIRTUAL] / all.counted_s[TRIAL_VIRTUAL] /
                       (all.hot_s[TRIAL_REAL] / all.counted_s[TRIAL_REAL]);
        for (size_t first = 0; first < blocks->count; first++) {
                double run = 0;
                for (size_t i = 0; i < RUN; i++)
                        run += pull(&blocks->of[(first + i) % blocks->count], &all);
                variance += run * run / RUN;
        }
        double error = is_measured ? 0 : ERROR_LEAST + ERROR_SHARE * ratio;
        double width = hypot(QUANTILE * ratio * sqrt(variance), error);
        *ret = (struct trial_ratio){ratio, fmax(0, ratio - width), ratio + width};
        return true;
}
