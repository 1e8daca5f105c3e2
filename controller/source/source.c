#include "controller/source/source.h"

#include <string.h>

enum { TIMEOUT_MAX_MS = 10000 };

int64_t source_timeout_ms(const struct source *source) {
        int64_t timeout_ms = source->spec->traits.interval_ms * 9 / 10;

        return timeout_ms < TIMEOUT_MAX_MS ? timeout_ms : TIMEOUT_MAX_MS;
}

const char *source_hint(const struct source_kind *kind, const char *reason) {
        const struct source_hint *hint = kind->hints;

        while (hint->reason && strcmp(hint->reason, reason) != 0)
                hint++;
        return hint->see;
}
