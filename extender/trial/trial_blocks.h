/*
 * What a trial counts, in blocks of time, so that its ratio has an interval. All blocks are equally
 * long. When TRIAL_BLOCKS_MAX are full, each two become one of twice the length:
 *
 *     after 64 minutes   64 blocks of 1 min  -->  32 of 2 min
 *     after two weeks    39 blocks of 512 min
 *
 * So memory is bounded, and nothing is forgotten. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRIAL_BLOCKS_MAX = 64, TRIAL_BLOCK_MS = 60000 };

/* The cluster as it is, and as it would be. */
enum trial_world { TRIAL_REAL, TRIAL_VIRTUAL, TRIAL_WORLDS };

/* Seconds of nodes or of pods. */
struct trial_sum {
        double counted_s[TRIAL_WORLDS];  /* the whole time */
        double hot_s[TRIAL_WORLDS];      /* above the line of rebalance_line.h */
        double very_hot_s[TRIAL_WORLDS]; /* above 80% */
};

struct trial_blocks {
        struct trial_sum of[TRIAL_BLOCKS_MAX];
        size_t count;                 /* the last one may not be full */
        int64_t block_ms, counted_ms; /* of each block, and of all; 0: none yet */
};

/** trial_blocks_add() - what was counted in the @span_ms since the last call, at most
 * TRIAL_BLOCK_MS */
void trial_blocks_add(struct trial_blocks *blocks, const struct trial_sum *sum, int64_t span_ms);
/** trial_blocks_sum() - of all blocks */
struct trial_sum trial_blocks_sum(const struct trial_blocks *blocks);

/* The hot share of the virtual time by that of the real one, with the interval that has it in four
 * of five cases. The interval covers chance, as if runs of blocks were drawn again and again (a
 * circular block bootstrap, to the first order), and the error of simulated trials. */
struct trial_ratio {
        double ratio, low, high;
};

/** trial_blocks_ratio() - @is_measured: both groups are real: there is no error of a simulation
 * Return: false: no node was hot, or too little time was counted */
bool trial_blocks_ratio(const struct trial_blocks *blocks, bool is_measured,
                        struct trial_ratio *ret);
