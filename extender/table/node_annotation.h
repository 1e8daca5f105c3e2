/*
 * An annotation of a node as a reading: its value, or why it has none. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/zone.h"

/* Whether an annotation gives a value, for explain and the gauges. */
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
        const char *text;        /* the annotation, cut at ANNOTATION_MAX_BYTES; NULL: missing */
        double value;            /* not set when missing or malformed */
        int64_t at_unix_ms;      /* ditto */
        int64_t expires_unix_ms; /* READING_NEVER when missing or malformed */
        struct error err;        /* set when malformed */
};

/**
 * node_annotation_read() - parse; whether it has expired is for the caller, who has the time
 * @text: borrowed as long as @ret; NULL: missing
 * @zone: the time zone of annotations; NULL: UTC
 */
void node_annotation_read(const char *text, const struct zone *zone, int64_t period_ms,
                          struct reading *ret);
