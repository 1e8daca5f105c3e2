/*
 * Limits patches per second. Pure: the time is an argument. A burst may have the patches of a tenth
 * of a second, and at least one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
        double per_s, most, tokens;
        int64_t filled_mono_ms;
};

/** token_bucket_init() - begins full; @per_s: > 0 */
void token_bucket_init(struct token_bucket *bucket, double per_s, int64_t now_mono_ms);
/** token_bucket_has() - refill; true if there is a token, which the caller subtracts */
bool token_bucket_has(struct token_bucket *bucket, int64_t now_mono_ms);
/** token_bucket_at_mono_ms() - when there is a token */
int64_t token_bucket_at_mono_ms(const struct token_bucket *bucket);
