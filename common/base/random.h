/* Random numbers for jitter, identities and the seed of hashes; not for secrets. */
#pragma once

#include <stdint.h>

/** random_below() - uniform in [0, @bound); @bound > 0 */
int64_t random_below(int64_t bound);
