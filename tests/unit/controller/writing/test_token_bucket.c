/* A limit of patches per second: what is sent in any stretch of time. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/clock.h"
#include "controller/writing/token_bucket.h"

/* Looked at whenever: never more than the rate and one burst, and no less than the rate if every
 * moment is used that it names. */
TEST(never_more_than_the_rate) {
        static const double rates_per_s[] = {0.1, 1, 9, 50, 556, 10000};

        for (size_t i = 0; i < sizeof(rates_per_s) / sizeof(*rates_per_s); i++) {
                double per_s = rates_per_s[i], sent = 0;
                int64_t now = 1000, end = now + (int64_t)(2000 / per_s * MS_PER_S);
                struct token_bucket bucket;
                token_bucket_init(&bucket, per_s, now);
                double burst = bucket.most;
                assert_true(burst == fmax(per_s / 10, 1));
                while (now < end) {
                        while (token_bucket_has(&bucket, now)) {
                                bucket.tokens -= 1;
                                sent++;
                        }
                        assert_true(sent <= (double)(now - 1000) * per_s / MS_PER_S + burst + 1e-6);
                        int64_t at = token_bucket_at_mono_ms(&bucket);
                        assert_true(at > now);
                        now = at;
                }
                /* A look is at most a millisecond late. */
                assert_true(sent >= 2000 * 0.8 || per_s > 1000);
        }
}
