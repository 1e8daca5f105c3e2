/*
 * A limit of patches per second. Pure: the time is an argument. A tenth of a second's patches, one
 * at least, may be sent in one burst.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
        double per_s, most, tokens;
        int64_t filled_mono_ms;
};

/** token_bucket_init() - a full one; @per_s: > 0 */
void token_bucket_init(struct token_bucket *bucket, double per_s, int64_t now_mono_ms);
/** token_bucket_has() - is there a token? The caller takes it from `tokens` */
bool token_bucket_has(struct token_bucket *bucket, int64_t now_mono_ms);
/** token_bucket_at_mono_ms() - when there is one */
int64_t token_bucket_at_mono_ms(const struct token_bucket *bucket);
