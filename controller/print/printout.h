/*
 * What a dry run prints on standard output: the rows of all nodes (report.h), once or repeatedly.
 * Repeated tables overwrite each other on a terminal; elsewhere they follow one another.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "controller/print/report.h"

/* Must stay where it is from printout_begin() to printout_end(). */
struct printout {
        const struct compiled_policy *compiled;
        bool is_repeated;
        struct style style;
        struct table *table; /* NULL: lines of JSON */
        struct buf lines;
};

/** printout_begin() - @compiled is borrowed until printout_end() */
void printout_begin(struct printout *printout, const struct compiled_policy *compiled,
                    enum report_format format, bool is_repeated);
void printout_row(struct printout *printout, const struct report_row *row, int64_t now_mono_ms,
                  int64_t now_unix_ms);
/** printout_end() - write it; false: standard output is closed */
bool printout_end(struct printout *printout);
