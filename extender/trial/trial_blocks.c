#include "extender/trial/trial_blocks.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 1000, RUN = 8 };
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
        blocks->count = TRIAL_BLOCKS_MAX / 2;
        blocks->block_ms *= 2;
        blocks->last_ms = blocks->block_ms;
}

void trial_blocks_add(struct trial_blocks *blocks, const struct trial_sum *sum, int64_t span_ms) {
        if (blocks->block_ms == 0)
                blocks->block_ms = TRIAL_BLOCK_MS;
        if (blocks->count == TRIAL_BLOCKS_MAX && blocks->last_ms >= blocks->block_ms)
                halve(blocks);
        if (blocks->count == 0 || blocks->last_ms >= blocks->block_ms) {
                blocks->of[blocks->count++] = (struct trial_sum){0};
                blocks->last_ms = 0;
        }
        add_sum(&blocks->of[blocks->count - 1], sum);
        blocks->last_ms += span_ms;
}

struct trial_sum trial_blocks_sum(const struct trial_blocks *blocks) {
        struct trial_sum sum = {0};

        for (size_t i = 0; i < blocks->count; i++)
                add_sum(&sum, &blocks->of[i]);
        return sum;
}

int64_t trial_blocks_ms(const struct trial_blocks *blocks) {
        return blocks->count > 0 ? (int64_t)(blocks->count - 1) * blocks->block_ms + blocks->last_ms
                                 : 0;
}

static uint64_t draw(uint64_t *state) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return *state >> 33;
}

/* NAN: not known */
static double ratio_of(const struct trial_sum *sum) {
        double hot[TRIAL_WORLDS];

        for (int w = 0; w < TRIAL_WORLDS; w++)
                hot[w] = sum->counted_s[w] > 0 ? sum->hot_s[w] / sum->counted_s[w] : NAN;
        return hot[TRIAL_REAL] > 0 ? hot[TRIAL_VIRTUAL] / hot[TRIAL_REAL] : NAN;
}

/* Runs of consecutive blocks, since a node that is hot stays so for some blocks. */
static double resample(const struct trial_blocks *blocks, uint64_t *state) {
        struct trial_sum sum = {0};

        for (size_t taken = 0; taken < blocks->count; taken += RUN) {
                size_t first = draw(state) % blocks->count;
                for (size_t i = 0; i < RUN && taken + i < blocks->count; i++)
                        add_sum(&sum, &blocks->of[(first + i) % blocks->count]);
        }
        return ratio_of(&sum);
}

static int compare_ratios(const void *a, const void *b) {
        double left = *(const double *)a, right = *(const double *)b;

        return (left > right) - (left < right);
}

bool trial_blocks_ratio(const struct trial_blocks *blocks, bool is_measured,
                        struct trial_ratio *ret) {
        const struct trial_sum sum = trial_blocks_sum(blocks);
        double middle = ratio_of(&sum);
        double ratios[DRAWS];
        uint64_t state = 1;
        size_t count = 0;

        if (blocks->count < RUN || isnan(middle))
                return false;
        for (size_t i = 0; i < DRAWS; i++) {
                double ratio = resample(blocks, &state);
                if (!isnan(ratio))
                        ratios[count++] = ratio;
        }
        qsort(ratios, count, sizeof(*ratios), compare_ratios);
        double error = is_measured ? 0 : ERROR_LEAST + ERROR_SHARE * middle;
        *ret = (struct trial_ratio){
                .ratio = middle,
                .low = fmax(0, middle - hypot(middle - ratios[count / 10], error)),
                .high = middle + hypot(ratios[count - 1 - count / 10] - middle, error),
        };
        return true;
}
