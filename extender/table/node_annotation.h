/*
 * Reads an annotation of a node: its value, or the reason why it has none. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/zone.h"

/* The state of a reading, for explain and the gauges. */
enum reading_state {
        READING_USABLE,
        READING_MISSING,
        READING_MALFORMED,
        READING_EXPIRED,
        READING_STATE_COUNT,
};

const char *node_reading_state_name(enum reading_state state);

struct reading {
        enum reading_state state;
        double value;            /* 0 if missing or malformed */
        int64_t at_unix_ms;      /* likewise */
        int64_t expires_unix_ms; /* READING_NEVER if missing or malformed */
};

/**
 * node_annotation_read() - parse an annotation; the caller, who has the time, checks the expiry
 * @text: NULL: missing
 * @zone: the time zone of annotations; NULL: UTC
 */
void node_annotation_read(const char *text, const struct zone *zone, int64_t period_ms,
                          struct reading *ret);
