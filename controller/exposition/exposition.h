/*
 * A skimmer for the Prometheus text format 0.0.4. It steps from newline to newline and parses only
 * the lines of wanted families, strictly (name, labels, value, timestamp). It never inspects other
 * bytes, so an exposition costs little more than the search for its newlines.
 *
 * The input may be hostile: nothing is allocated, only overlong numbers are copied, and the work is
 * linear in the length of the exposition. In wanted lines, some OpenMetrics syntax is accepted
 * (exemplars, fractional timestamps, "# EOF"), and so is CRLF.
 *
 * A last line without a newline may be truncated ("...} 12" from "...} 1234\n"). It is used only if
 * the exposition is complete.
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
        EXPOSITION_MAX_LABELS = 128,     /* of one series; a line with more is malformed */
        EXPOSITION_MAX_NUMBER = 255,     /* characters of a value; a longer one is malformed */
        EXPOSITION_MAX_BYTES = 16 << 20, /* the limit for clients that fetch an exposition */
};

/* The wanted families. Prepared once, read-only, and shared by any number of skims. */
struct exposition_set {
        size_t count;
        struct {
                const char *name; /* borrowed */
                size_t len;
        } families[EXPOSITION_MAX_FAMILIES];
        size_t prefix_len;    /* of the prefix that all names share */
        bool may_follow[256]; /* can the byte follow that prefix? */
};

/**
 * exposition_set_init() - prepare the search for @count families
 * @names: exact metric names ("node_cpu_seconds_total"), not empty and without duplicates; borrowed
 *         for the life of the set. At most EXPOSITION_MAX_FAMILIES. A sample's `family` is an
 *         index into it.
 */
void exposition_set_init(struct exposition_set *set, const char *const *names, size_t count);

/* A slice of the exposition: not terminated. */
struct exposition_label {
        const char *name;
        size_t name_len;
        const char *value; /* between the quotes, with escapes */
        size_t value_len;
};

struct exposition_sample {
        size_t family;         /* index into the set's names */
        double value;          /* may be NaN or infinite: exporters write both */
        const char *timestamp; /* not terminated; see exposition_timestamp() */
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
        size_t malformed; /* wanted lines that could not be parsed */
        uint64_t malformed_families[EXPOSITION_MAX_FAMILIES / 64]; /* their families, a bit each */
};

/**
 * exposition_begin() - start a skim
 * @text:        borrowed during the skim; need not be terminated; NULL if @text_bytes is 0
 * @is_complete: the transfer had the length that it announced, so a last line without a newline is
 *               complete
 */
void exposition_begin(struct exposition *skim, const struct exposition_set *set, const char *text,
                      size_t text_bytes, bool is_complete);

/**
 * exposition_next() - the next sample of a wanted family, in the order of the exposition
 *
 * A repeated series is returned each time. @ret is undefined after false.
 * Return: false at the end of the exposition
 */
_must_check_ bool exposition_next(struct exposition *skim, struct exposition_sample *ret);

/** exposition_label() - the sample's label @name, or NULL */
const struct exposition_label *exposition_label(const struct exposition_sample *sample,
                                                const char *name);

/** exposition_label_is() - does @label exist, and does its unescaped value equal @text? */
bool exposition_label_is(const struct exposition_label *label, const char *text);

/**
 * exposition_label_value() - unescape \\ \" and \n in the value; other escapes do not change
 * @text: receives the value and a NUL
 * Return: false if it does not fit or contains a NUL; then @text is ""
 */
_must_check_ bool exposition_label_value(const struct exposition_label *label, char *text,
                                         size_t text_bytes);

/**
 * exposition_timestamp() - a sample's time, in milliseconds since 1970 as in text format 0.0.4
 * @ret_unix_ms: in [0, the year 9999]
 * Return: false if there is none, or it is not an integer in this range
 */
_must_check_ bool exposition_timestamp(const struct exposition_sample *sample,
                                       int64_t *ret_unix_ms);

/**
 * exposition_number() - a sample's value: a number_parse_unbounded() number, or
 * [+-](inf|infinity|nan) in any case
 * Return: true if all @len bytes of @text are such a number
 */
_must_check_ bool exposition_number(const char *text, size_t len, double *ret_value);
