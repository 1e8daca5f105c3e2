/*
 * Recorded usage: the series of a file, one a line, see traces.md. A series goes on with its first
 * value after the last one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct trace_series {
        uint32_t workload; /* from 0 on, below the trace's workload_count */
        double request_cores;
        double request_bytes;       /* 0: not recorded */
        int64_t arrives_s, lasts_s; /* lasts_s without the field: as long as the values */
        int64_t step_s;             /* that each value is valid for */
        size_t count;               /* of values, at least 1 */
        size_t first_cpu;           /* in the trace's values: thousandths of a core in use */
        size_t first_used;          /* MiB in use, as many; SIZE_MAX: not recorded */
};

struct trace {
        struct trace_series *series; /* in the file's order */
        size_t count;                /* at least 1 */
        size_t workload_count;
        int64_t last_arrival_s;
        uint32_t *values;
        size_t value_count;
};

/** trace_load() - Return: 0; negative errno with file and line in @err */
_must_check_ int trace_load(const char *path, struct trace **ret, struct error *err);
/** trace_parse() - the same of a file's content */
_must_check_ int trace_parse(const char *text, size_t len, struct trace **ret, struct error *err);
void trace_free(struct trace *trace);
DEFINE_FREEP(struct trace, trace_free);

/** trace_cores_at() - in use @at_s after the first value began; @at_s >= 0 */
double trace_cores_at(const struct trace *trace, const struct trace_series *series, int64_t at_s);
/** trace_bytes_at() - likewise; 0 where it was not recorded */
double trace_bytes_at(const struct trace *trace, const struct trace_series *series, int64_t at_s);
/** trace_mean_cores() - over the @lasts_s seconds, at least 1, from @from_s on */
double trace_mean_cores(const struct trace *trace, const struct trace_series *series,
                        int64_t from_s, int64_t lasts_s);
/** trace_mean_bytes() - likewise */
double trace_mean_bytes(const struct trace *trace, const struct trace_series *series,
                        int64_t from_s, int64_t lasts_s);
