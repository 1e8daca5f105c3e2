#include "controller/source/source.h"

#include <string.h>

#include "metrics/metrics.h"

enum { TIMEOUT_MAX_MS = 10000 };

struct source *source_new(const struct source *parts, const struct source_spec *spec) {
        struct source head = *parts;

        head.spec = spec;
        head.failing = metrics_gauge(parts->metrics, "plimsoll_targets_failing",
                                     "Targets whose last scrape failed.",
                                     LABELS("source", spec->name));
        return spec->kind->new (&head);
}

void source_free(struct source *source) {
        if (!source)
                return;
        metrics_set(source->failing, 0);
        source->spec->kind->free(source);
}

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
