/*
 * A skim of the Prometheus text format 0.0.4: steps from newline to newline and looks only at the
 * lines of wanted families. Those are read strictly (name, labels, value, timestamp); all other
 * bytes are never inspected, so that an exposition costs little more than the search for its
 * newlines.
 *
 * Any bytes are survived: nothing is allocated, nothing is copied but overlong numbers, and the
 * work is linear in the exposition. OpenMetrics odds on wanted lines are tolerated: exemplars,
 * fractional timestamps, "# EOF"; so is CRLF.
 *
 * A last line without its newline may be truncated ("...} 12" of "...} 1234\n"): it is used only
 * if the caller has a complete exposition.
 *
 *     exposition_begin(&skim, &set, text, text_bytes, true);
 *     while (exposition_next(&skim, &sample))
 *             ... sample.family, sample.value, exposition_label(&sample, "cpu") ...
 *     report(skim.malformed);
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

enum {
        EXPOSITION_MAX_FAMILIES = 128,
        EXPOSITION_MAX_LABELS = 128,     /* of one wanted series; a line with more is malformed */
        EXPOSITION_MAX_NUMBER = 255,     /* characters of one value; longer ones are malformed */
        EXPOSITION_MAX_BYTES = 16 << 20, /* bytes: the ceiling for whoever fetches the exposition */
};

/* What to look for, prepared once and shared by any number of skims. Read-only after init. */
struct exposition_set {
        size_t count;
        struct {
                const char *name; /* borrowed */
                size_t len;
        } families[EXPOSITION_MAX_FAMILIES];
        size_t prefix_len;    /* bytes that all names have in common */
        bool may_follow[256]; /* can a byte stand behind that prefix? */
};

/**
 * exposition_set_init() - prepare the search for @count families
 * @names: exact metric names ("node_cpu_seconds_total"), not empty, no duplicates; the texts are
 *         borrowed for the life of the set. At most EXPOSITION_MAX_FAMILIES. A sample's `family`
 *         is an index here.
 */
void exposition_set_init(struct exposition_set *set, const char *const *names, size_t count);

/* A slice of the exposition: not terminated. */
struct exposition_label {
        const char *name;
        size_t name_len;
        const char *value; /* between the quotes, escapes as they stand */
        size_t value_len;
};

struct exposition_sample {
        size_t family;         /* index into the set's names */
        double value;          /* may be NaN or infinite: exporters write both */
        const char *timestamp; /* behind the value, not terminated; see exposition_timestamp() */
        size_t timestamp_len;  /* 0: none */
        size_t label_count;
        struct exposition_label labels[EXPOSITION_MAX_LABELS];
};

static_assert(EXPOSITION_MAX_FAMILIES % 64 == 0, "malformed_families has a bit for each");

struct exposition {
        const struct exposition_set *set;
        const char *at;
        const char *end;
        bool is_complete;
        size_t malformed; /* wanted lines that could not be read and were passed over */
        uint64_t malformed_families[EXPOSITION_MAX_FAMILIES / 64]; /* theirs, a bit each */
};

/**
 * exposition_begin() - start a skim
 * @text:        borrowed until the skim's last use; need not be terminated; NULL when @text_bytes
 *               is 0
 * @is_complete: the transfer ended as its framing announced, so that a last line without a
 *               newline is whole
 */
void exposition_begin(struct exposition *skim, const struct exposition_set *set, const char *text,
                      size_t text_bytes, bool is_complete);

/**
 * exposition_next() - the next sample of a wanted family, in the exposition's order
 *
 * Repeated series come as often as they stand there. @ret is undefined after false.
 * Return: false at the end of the exposition
 */
_must_check_ bool exposition_next(struct exposition *skim, struct exposition_sample *ret);

/** exposition_label() - the sample's label called @name, or NULL */
const struct exposition_label *exposition_label(const struct exposition_sample *sample,
                                                const char *name);

/** exposition_label_is() - @label is there and its value, without escapes, equals @text */
bool exposition_label_is(const struct exposition_label *label, const char *text);

/**
 * exposition_label_value() - the value with \\ \" and \n resolved; other escapes stay as they are
 * @text: receives the value and a NUL
 * Return: false when it doesn't fit or holds a NUL; @text is then ""
 */
_must_check_ bool exposition_label_value(const struct exposition_label *label, char *text,
                                         size_t text_bytes);

/**
 * exposition_timestamp() - a sample's time, of which text format 0.0.4 says: milliseconds since
 * 1970
 * @ret_unix_ms: in [0, the year 9999]
 * Return: false when there is none, or it is not a whole number in this range
 */
_must_check_ bool exposition_timestamp(const struct exposition_sample *sample,
                                       int64_t *ret_unix_ms);

/**
 * exposition_number() - a sample's value: as number_parse_unbounded() reads it, or
 * [+-](inf|infinity|nan) in any case
 * Return: true when all of @text's @len bytes are such a number
 */
_must_check_ bool exposition_number(const char *text, size_t len, double *ret_value);
