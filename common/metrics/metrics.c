#include "metrics/metrics.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/number.h"
#include "base/strmap.h"
#include "base/utf8.h"
#include "metrics/process_stats.h"

enum { LABELS_MAX_BYTES = 4096 };

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM };

/* Series are independent of each other: every access is relaxed. */
struct metrics_series {
        enum kind kind;
        char *labels;                        /* `reason="timeout",code="500"`, "" for none */
        _Atomic uint64_t count;              /* KIND_COUNTER */
        _Atomic double f64;                  /* a gauge's value, a histogram's sum */
        const struct metrics_bounds *bounds; /* KIND_HISTOGRAM, else NULL */
        _Atomic uint64_t *buckets;           /* one more than bounds; not cumulative */
};

struct family {
        char *name, *help;
        enum kind kind;
        const struct metrics_bounds *bounds;
        struct metrics_series **series; /* in order of creation */
        size_t count, cap;
        struct strmap by_labels;
};

struct metrics {
        pthread_mutex_t *lock; /* of the families; a pointer, so that const metrics can be locked */
        struct family **families; /* by name */
        size_t count, cap;
        _Atomic double started_unix_s; /* 0: without process_stats.h */
        metrics_section_fn *section;
        void *section_userdata;
};

static const double duration_bounds_s[] = {
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
        0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10,
};
const struct metrics_bounds metrics_duration_bounds = {duration_bounds_s,
                                                       ARRAY_LEN(duration_bounds_s)};

struct metrics *metrics_new(void) {
        struct metrics *metrics = xcalloc(1, sizeof(*metrics));

        metrics->lock = xcalloc(1, sizeof(*metrics->lock));
        if (pthread_mutex_init(metrics->lock, NULL) != 0)
                mem_exhausted();
        return metrics;
}

static void series_free(struct metrics_series *series) {
        free(series->labels);
        free(series->buckets);
        free(series);
}

static void family_free(struct family *family) {
        for (size_t i = 0; i < family->count; i++)
                series_free(family->series[i]);
        strmap_done(&family->by_labels);
        free(family->series);
        free(family->name);
        free(family->help);
        free(family);
}

void metrics_free(struct metrics *metrics) {
        if (!metrics)
                return;
        for (size_t i = 0; i < metrics->count; i++)
                family_free(metrics->families[i]);
        free(metrics->families);
        (void)pthread_mutex_destroy(metrics->lock);
        free(metrics->lock);
        free(metrics);
}

/* For asserts: [a-zA-Z_][a-zA-Z0-9_]*. Colons are valid as well, but meant for recording rules. */
_unused_ static bool is_name(const char *name) {
        return name_is_made_of(name, strlen(name), SIZE_MAX, NAME_ANY "_", NAME_DIGITS, "");
}

/* Escapes as the format requires; quotes only in labels. Bad UTF-8 becomes U+FFFD. */
static void append_escaped(struct buf *out, const char *text, bool is_label) {
        for (size_t len = strlen(text); len > 0;) {
                size_t sequence = utf8_sequence_len(text, len);
                if (*text == '\\' || (is_label && *text == '"'))
                        buf_printf(out, "\\%c", *text);
                else if (*text == '\n')
                        buf_puts(out, "\\n");
                else if (sequence > 0)
                        buf_append(out, text, sequence);
                else
                        buf_puts(out, "\xef\xbf\xbd");
                sequence = size_max(sequence, 1);
                text += sequence;
                len -= sequence;
        }
}

/*
 * @value_for_all: replaces every value; NULL: none. If values are too long, all become "other", as
 * in series past the ceiling.
 */
static char *format_labels(const char *const *labels, const char *value_for_all) {
        struct buf out = BUF_INIT(LABELS_MAX_BYTES);

        for (size_t i = 0; labels && labels[i]; i += 2) {
                assert(labels[i + 1] && is_name(labels[i]));
                buf_printf(&out, "%s%s=\"", i > 0 ? "," : "", labels[i]);
                append_escaped(&out, value_for_all ? value_for_all : labels[i + 1], true);
                buf_putc(&out, '"');
        }
        if (out.overflow) {
                assert(!value_for_all); /* names are short */
                buf_done(&out);
                return format_labels(labels, "other");
        }
        return buf_take(&out);
}

static struct family *find_or_add_family(struct metrics *metrics, const char *name,
                                         const char *help, enum kind kind,
                                         const struct metrics_bounds *bounds) {
        size_t low = 0, high = metrics->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = strcmp(metrics->families[middle]->name, name);
                if (order == 0) {
                        assert(metrics->families[middle]->kind == kind);
                        return metrics->families[middle];
                }
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        assert(is_name(name));
        struct family *family = xcalloc(1, sizeof(*family));
        family->name = xstrdup(name);
        family->help = xstrdup(help);
        family->kind = kind;
        family->bounds = bounds;
        mem_grow(&metrics->families, metrics->count, &metrics->cap);
        memmove(metrics->families + low + 1, metrics->families + low,
                (metrics->count - low) * sizeof(struct family *));
        metrics->families[low] = family;
        metrics->count++;
        return family;
}

/* Consumes @labels. */
static struct metrics_series *find_or_add_series(struct family *family, char *labels) {
        struct metrics_series *series = strmap_get(&family->by_labels, labels, strlen(labels));

        if (series) {
                free(labels);
                return series;
        }
        series = xcalloc(1, sizeof(*series));
        series->kind = family->kind;
        series->labels = labels;
        series->bounds = family->bounds;
        if (series->bounds)
                series->buckets = xcalloc(series->bounds->count + 1, sizeof(*series->buckets));
        mem_grow(&family->series, family->count, &family->cap);
        family->series[family->count++] = series;
        (void)strmap_put(&family->by_labels, labels, strlen(labels), series);
        return series;
}

static struct metrics_series *get_series(struct metrics *metrics, const char *name,
                                         const char *help, const char *const *labels,
                                         enum kind kind, const struct metrics_bounds *bounds) {
        _cleanup_(freep) char *text = format_labels(labels, NULL);

        (void)pthread_mutex_lock(metrics->lock);
        struct family *family = find_or_add_family(metrics, name, help, kind, bounds);
        if (family->count >= METRICS_MAX_SERIES &&
            !strmap_get(&family->by_labels, text, strlen(text))) {
                free(text);
                text = format_labels(labels, "other");
        }
        struct metrics_series *series = find_or_add_series(family, TAKE_PTR(text));
        (void)pthread_mutex_unlock(metrics->lock);
        return series;
}

struct metrics_series *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                                       const char *const *labels) {
        return get_series(metrics, name, help, labels, KIND_COUNTER, NULL);
}

struct metrics_series *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                                     const char *const *labels) {
        return get_series(metrics, name, help, labels, KIND_GAUGE, NULL);
}

struct metrics_series *metrics_histogram(struct metrics *metrics, const char *name,
                                         const char *help, const char *const *labels,
                                         const struct metrics_bounds *bounds) {
        for (size_t i = 1; i < bounds->count; i++)
                assert(bounds->values[i - 1] < bounds->values[i]);
        return get_series(metrics, name, help, labels, KIND_HISTOGRAM, bounds);
}

void metrics_inc(struct metrics_series *counter) {
        metrics_add(counter, 1);
}

void metrics_add(struct metrics_series *counter, uint64_t n) {
        assert(counter->kind == KIND_COUNTER);
        (void)atomic_fetch_add_explicit(&counter->count, n, memory_order_relaxed);
}

void metrics_set(struct metrics_series *gauge, double value) {
        assert(gauge->kind == KIND_GAUGE);
        atomic_store_explicit(&gauge->f64, value, memory_order_relaxed);
}

void metrics_observe(struct metrics_series *histogram, double value) {
        assert(histogram->kind == KIND_HISTOGRAM);
        if (isnan(value))
                return; /* the sum would stay NaN */
        size_t bucket = 0;
        while (bucket < histogram->bounds->count && value > histogram->bounds->values[bucket])
                bucket++;
        (void)atomic_fetch_add_explicit(&histogram->buckets[bucket], 1, memory_order_relaxed);
        double old = atomic_load_explicit(&histogram->f64, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&histogram->f64, &old, old + value,
                                                      memory_order_relaxed, memory_order_relaxed))
                ; /* `old` has the new value */
}

double metrics_value(const struct metrics_series *series) {
        return series->kind == KIND_COUNTER
                       ? (double)atomic_load_explicit(&series->count, memory_order_relaxed)
                       : atomic_load_explicit(&series->f64, memory_order_relaxed);
}

static void append_f64(struct buf *out, double value) {
        char text[NUMBER_TEXT_MAX];

        if (isnan(value)) {
                buf_puts(out, "NaN");
        } else if (isinf(value)) {
                buf_puts(out, value > 0 ? "+Inf" : "-Inf");
        } else {
                number_format(value, text);
                buf_puts(out, text);
        }
}

/* name[suffix]{labels} and a space */
static void append_series_name(struct buf *out, const struct family *family, const char *suffix,
                               const struct metrics_series *series) {
        buf_printf(out, "%s%s", family->name, suffix);
        if (*series->labels)
                buf_printf(out, "{%s}", series->labels);
        buf_putc(out, ' ');
}

static void render_histogram(struct buf *out, const struct family *family,
                             const struct metrics_series *series) {
        uint64_t cumulative = 0;

        for (size_t i = 0; i <= series->bounds->count; i++) {
                cumulative += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
                buf_printf(out, "%s_bucket{%s%sle=\"", family->name, series->labels,
                           *series->labels ? "," : "");
                append_f64(out, i < series->bounds->count ? series->bounds->values[i]
                                                          : (double)INFINITY);
                buf_printf(out, "\"} %llu\n", (unsigned long long)cumulative);
        }
        append_series_name(out, family, "_sum", series);
        append_f64(out, metrics_value(series));
        buf_putc(out, '\n');
        /* From the buckets, so that it equals the +Inf bucket while other threads update. */
        append_series_name(out, family, "_count", series);
        buf_printf(out, "%llu\n", (unsigned long long)cumulative);
}

static void append_head(struct buf *out, const char *name, const char *type, const char *help) {
        buf_printf(out, "# HELP %s ", name);
        append_escaped(out, help, false);
        buf_printf(out, "\n# TYPE %s %s\n", name, type);
}

static void render_family(struct buf *out, const struct family *family) {
        static const char *const type_names[] = {
                [KIND_COUNTER] = "counter", [KIND_GAUGE] = "gauge", [KIND_HISTOGRAM] = "histogram"};

        append_head(out, family->name, type_names[family->kind], family->help);
        for (size_t i = 0; i < family->count; i++) {
                const struct metrics_series *series = family->series[i];
                if (series->kind == KIND_HISTOGRAM) {
                        render_histogram(out, family, series);
                        continue;
                }
                append_series_name(out, family, "", series);
                if (series->kind == KIND_COUNTER)
                        buf_printf(out, "%llu",
                                   (unsigned long long)atomic_load_explicit(&series->count,
                                                                            memory_order_relaxed));
                else
                        append_f64(out, metrics_value(series));
                buf_putc(out, '\n');
        }
}

static void render_process(double started_unix_s, struct buf *out) {
        struct process_stat stats[PROCESS_STAT_COUNT];

        process_stats_read(started_unix_s, stats);
        for (size_t i = 0; i < PROCESS_STAT_COUNT; i++) {
                append_head(out, stats[i].name, stats[i].type, stats[i].help);
                buf_printf(out, "%s ", stats[i].name);
                append_f64(out, stats[i].value);
                buf_putc(out, '\n');
        }
}

void metrics_append_label(struct buf *out, const char *value) {
        append_escaped(out, value, true);
}

void metrics_set_section(struct metrics *metrics, metrics_section_fn *fn, void *userdata) {
        metrics->section = fn;
        metrics->section_userdata = userdata;
}

void metrics_render(const struct metrics *metrics, struct buf *out) {
        (void)pthread_mutex_lock(metrics->lock);
        for (size_t i = 0; i < metrics->count; i++)
                render_family(out, metrics->families[i]);
        (void)pthread_mutex_unlock(metrics->lock);
        double started_unix_s = atomic_load(&metrics->started_unix_s);
        if (started_unix_s > 0)
                render_process(started_unix_s, out);
        if (metrics->section)
                metrics->section(metrics->section_userdata, out);
}

void metrics_register_process(struct metrics *metrics, const char *program) {
        metrics_set(metrics_gauge(metrics, "plimsoll_build_info",
                                  "Always 1; program and version are labels.",
                                  LABELS("program", program, "version", PLIMSOLL_VERSION)),
                    1);
        atomic_store(&metrics->started_unix_s, (double)clock_wall_unix_ms() / (double)MS_PER_S);
}
