#include "trace.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/strmap.h"

static const double BYTES_PER_MIB = 1u << 20, MILLICORES = 1000;

enum {
        TEXT_MAX_BYTES = 256 << 20,
        VALUES_MAX = 16 << 20,
        REPEAT_MAX = 1000000,
        NUMBER_MAX = 1000000000,
        STEP_MAX_S = 86400,
        WORKLOAD_MAX_BYTES = 63,
};

struct text {
        const char *at;
        size_t len;
};

struct trace_reader {
        struct trace *trace;
        size_t series_cap, value_cap;
        struct strmap workloads; /* name: its number + 1 */
};

/* What a line says, one text for each of its fields; NULL where it has none. */
enum trace_field {
        TRACE_WORKLOAD,
        TRACE_REQUEST,
        TRACE_MEMORY,
        TRACE_STEP,
        TRACE_ARRIVES,
        TRACE_LASTS,
        TRACE_CPU,
        TRACE_USED,
        TRACE_FIELDS,
};

static const struct {
        const char *name;
        bool is_needed;
        uint64_t least, most; /* of a number */
} trace_fields[] = {
        [TRACE_WORKLOAD] = {"workload", true, 0, 0},
        [TRACE_REQUEST] = {"request", true, 1, NUMBER_MAX},
        [TRACE_MEMORY] = {"memory", false, 0, NUMBER_MAX},
        [TRACE_STEP] = {"step", true, 1, STEP_MAX_S},
        [TRACE_ARRIVES] = {"arrives", false, 0, NUMBER_MAX},
        [TRACE_LASTS] = {"lasts", false, 1, NUMBER_MAX},
        [TRACE_CPU] = {"cpu", true, 0, 0},
        [TRACE_USED] = {"used", false, 0, 0},
};

/* What stands in front of the next @end; @rest goes on behind it. */
static struct text cut_text(struct text *rest, char end) {
        const char *found = rest->len > 0 ? memchr(rest->at, end, rest->len) : NULL;
        struct text cut = {rest->at, found ? (size_t)(found - rest->at) : rest->len};
        size_t taken = found ? cut.len + 1 : cut.len;

        rest->at += taken;
        rest->len -= taken;
        return cut;
}

static int split_line(struct text line, struct text fields[static TRACE_FIELDS],
                      struct error *err) {
        while (line.len > 0) {
                struct text value = cut_text(&line, ' ');
                struct text name = cut_text(&value, '=');
                size_t f = 0;
                while (f < TRACE_FIELDS && (strlen(trace_fields[f].name) != name.len ||
                                            memcmp(trace_fields[f].name, name.at, name.len) != 0))
                        f++;
                if (f == TRACE_FIELDS)
                        return error_set(err, EINVAL, "%.*s: unknown field",
                                         name.len < 32 ? (int)name.len : 32, name.at);
                if (fields[f].at)
                        return error_set(err, EINVAL, "%s: twice", trace_fields[f].name);
                fields[f] = value;
        }
        for (size_t f = 0; f < TRACE_FIELDS; f++)
                if (trace_fields[f].is_needed && fields[f].len == 0)
                        return error_set(err, EINVAL, "%s is missing", trace_fields[f].name);
        return 0;
}

/* @ret keeps its value where there is no such field. */
static int read_number(const struct text *fields, enum trace_field f, int64_t *ret,
                       struct error *err) {
        uint64_t number = 0;

        if (!fields[f].at)
                return 0;
        if (!number_parse_u64(fields[f].at, fields[f].len, &number) ||
            number < trace_fields[f].least || number > trace_fields[f].most)
                return error_set(err, EINVAL, "%s: expected %llu to %llu", trace_fields[f].name,
                                 (unsigned long long)trace_fields[f].least,
                                 (unsigned long long)trace_fields[f].most);
        *ret = (int64_t)number;
        return 0;
}

static bool add_value(struct trace_reader *reader, uint64_t value, uint64_t times) {
        struct trace *trace = reader->trace;

        if (times > VALUES_MAX - trace->value_count)
                return false;
        for (uint64_t i = 0; i < times; i++) {
                mem_grow(&trace->values, trace->value_count, &reader->value_cap);
                trace->values[trace->value_count++] = (uint32_t)value;
        }
        return true;
}

/* Values with commas between them; VALUExN stands for N of them. */
static int read_values(struct trace_reader *reader, struct text list, enum trace_field f,
                       size_t *ret_count, struct error *err) {
        size_t before = reader->trace->value_count;

        /* A comma at the end would be lost. */
        if (list.len == 0 || list.at[list.len - 1] == ',')
                return error_set(err, EINVAL, "%s: cut off", trace_fields[f].name);
        while (list.len > 0) {
                struct text times = cut_text(&list, ',');
                struct text value = cut_text(&times, 'x');
                bool is_repeated = times.at != value.at + value.len;
                uint64_t number = 0, count = 1;
                if (!number_parse_u64(value.at, value.len, &number) || number > NUMBER_MAX ||
                    (is_repeated && (!number_parse_u64(times.at, times.len, &count) || count == 0 ||
                                     count > REPEAT_MAX)))
                        return error_set(err, EINVAL, "%s: value %zu is none", trace_fields[f].name,
                                         reader->trace->value_count - before + 1);
                if (!add_value(reader, number, count))
                        return error_set(err, E2BIG, "more than %d values", VALUES_MAX);
        }
        *ret_count = reader->trace->value_count - before;
        return 0;
}

static int read_usage(struct trace_reader *reader, const struct text *fields,
                      struct trace_series *series, struct error *err) {
        size_t used_count = 0;

        series->first_cpu = reader->trace->value_count;
        int r = read_values(reader, fields[TRACE_CPU], TRACE_CPU, &series->count, err);
        series->first_used = SIZE_MAX;
        if (r < 0 || !fields[TRACE_USED].at)
                return r;
        series->first_used = reader->trace->value_count;
        r = read_values(reader, fields[TRACE_USED], TRACE_USED, &used_count, err);
        if (r == 0 && used_count != series->count)
                return error_set(err, EINVAL, "used: %zu values, cpu has %zu", used_count,
                                 series->count);
        return r;
}

static int read_workload(struct trace_reader *reader, struct text name, uint32_t *ret,
                         struct error *err) {
        if (name.len > WORKLOAD_MAX_BYTES)
                return error_set(err, EINVAL, "workload: longer than %d bytes", WORKLOAD_MAX_BYTES);
        uintptr_t number = (uintptr_t)strmap_get(&reader->workloads, name.at, name.len);
        if (number == 0) {
                number = ++reader->trace->workload_count;
                (void)strmap_put(&reader->workloads, name.at, name.len, (void *)number);
        }
        *ret = (uint32_t)(number - 1);
        return 0;
}

static int read_series(struct trace_reader *reader, struct text line, struct error *err) {
        struct text fields[TRACE_FIELDS] = {0};
        struct trace_series series = {0};
        int64_t millicores = 0, mib = 0;

        int r = split_line(line, fields, err);
        if (r == 0)
                r = read_number(fields, TRACE_REQUEST, &millicores, err);
        if (r == 0)
                r = read_number(fields, TRACE_MEMORY, &mib, err);
        if (r == 0)
                r = read_number(fields, TRACE_STEP, &series.step_s, err);
        if (r == 0)
                r = read_number(fields, TRACE_ARRIVES, &series.arrives_s, err);
        if (r == 0)
                r = read_workload(reader, fields[TRACE_WORKLOAD], &series.workload, err);
        if (r == 0)
                r = read_usage(reader, fields, &series, err);
        series.lasts_s = (int64_t)series.count * series.step_s;
        if (r == 0)
                r = read_number(fields, TRACE_LASTS, &series.lasts_s, err);
        if (r < 0)
                return r;
        series.request_cores = (double)millicores / MILLICORES;
        series.request_bytes = (double)mib * BYTES_PER_MIB;
        mem_grow(&reader->trace->series, reader->trace->count, &reader->series_cap);
        reader->trace->series[reader->trace->count++] = series;
        if (series.arrives_s > reader->trace->last_arrival_s)
                reader->trace->last_arrival_s = series.arrives_s;
        return 0;
}

static int read_lines(struct trace_reader *reader, struct text rest, struct error *err) {
        for (unsigned number = 1; rest.len > 0; number++) {
                if (!memchr(rest.at, '\n', rest.len))
                        return error_set(err, EINVAL, "line %u: cut off", number);
                struct text line = cut_text(&rest, '\n');
                if (line.len == 0 || line.at[0] == '#')
                        continue;
                int r = read_series(reader, line, err);
                if (r < 0)
                        return error_wrap(err, r, "line %u", number);
        }
        if (reader->trace->count == 0)
                return error_set(err, EINVAL, "no series");
        return 0;
}

int trace_parse(const char *text, size_t len, struct trace **ret, struct error *err) {
        struct trace_reader reader = {.trace = xcalloc(1, sizeof(*reader.trace))};

        int r = read_lines(&reader, (struct text){text, len}, err);
        strmap_done(&reader.workloads);
        if (r < 0)
                trace_free(reader.trace);
        else
                *ret = reader.trace;
        return r;
}

int trace_load(const char *path, struct trace **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        int r = file_read(path, TEXT_MAX_BYTES, &text, &len, err);
        if (r == 0)
                r = trace_parse(text, len, ret, err);
        return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

void trace_free(struct trace *trace) {
        if (!trace)
                return;
        free(trace->series);
        free(trace->values);
        free(trace);
}

static double value_at(const struct trace *trace, const struct trace_series *series, size_t first,
                       int64_t at_s) {
        return trace->values[first + (size_t)(at_s / series->step_s) % series->count];
}

double trace_cores_at(const struct trace *trace, const struct trace_series *series, int64_t at_s) {
        return value_at(trace, series, series->first_cpu, at_s) / MILLICORES;
}

double trace_bytes_at(const struct trace *trace, const struct trace_series *series, int64_t at_s) {
        if (series->first_used == SIZE_MAX)
                return 0;
        return value_at(trace, series, series->first_used, at_s) * BYTES_PER_MIB;
}

typedef double usage_at_fn(const struct trace *trace, const struct trace_series *series,
                           int64_t at_s);

static double mean_usage(const struct trace *trace, const struct trace_series *series,
                         usage_at_fn *usage_at, int64_t from_s, int64_t lasts_s) {
        int64_t end_s = from_s + lasts_s;
        double sum = 0;

        for (int64_t at_s = from_s; at_s < end_s;) {
                int64_t next_s = (at_s / series->step_s + 1) * series->step_s;
                next_s = next_s < end_s ? next_s : end_s;
                sum += usage_at(trace, series, at_s) * (double)(next_s - at_s);
                at_s = next_s;
        }
        return sum / (double)lasts_s;
}

double trace_mean_cores(const struct trace *trace, const struct trace_series *series,
                        int64_t from_s, int64_t lasts_s) {
        return mean_usage(trace, series, trace_cores_at, from_s, lasts_s);
}

double trace_mean_bytes(const struct trace *trace, const struct trace_series *series,
                        int64_t from_s, int64_t lasts_s) {
        return mean_usage(trace, series, trace_bytes_at, from_s, lasts_s);
}
