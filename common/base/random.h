/* Random numbers for jitter, identities and hash seeds; not for secrets. */
#pragma once

#include <stdint.h>

/** random_below() - uniform in [0, @bound); @bound > 0 */
int64_t random_below(int64_t bound);
