#include "controller/writing/token_bucket.h"

#include <math.h>

#include "base/clock.h"

void token_bucket_init(struct token_bucket *bucket, double per_s, int64_t now_mono_ms) {
        double most = fmax(per_s / 10, 1);

        *bucket = (struct token_bucket){
                .per_s = per_s, .most = most, .tokens = most, .filled_mono_ms = now_mono_ms};
}

bool token_bucket_has(struct token_bucket *bucket, int64_t now_mono_ms) {
        double new_tokens = (double)(now_mono_ms - bucket->filled_mono_ms) * bucket->per_s /
                            MS_PER_S;

        bucket->tokens = fmin(bucket->tokens + new_tokens, bucket->most);
        bucket->filled_mono_ms = now_mono_ms;
        return bucket->tokens >= 1;
}

int64_t token_bucket_at_mono_ms(const struct token_bucket *bucket) {
        double wait_ms = (1 - bucket->tokens) * MS_PER_S / bucket->per_s;

        return bucket->filled_mono_ms + (int64_t)fmax(wait_ms, 0) + 1;
}
