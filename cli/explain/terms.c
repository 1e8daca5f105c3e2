#include "cli/explain/terms.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "codec/json.h"

enum { BAR_CELLS = 20 };

#define NAME "%-26s "
#define MIB (1.0 / (1 << 20)) /* of a byte */

/* ---- Members of an object. */

struct style_plain terms_text(const json_t *object, const char *key) {
        const char *text = json_string_at(object, key, NULL);

        return style_plain(text ? text : "?");
}

/* In two or three digits, and an integer in full. */
static struct terms_number terms_amount(const json_t *object, const char *key, double factor) {
        const json_t *number = json_at(object, key, NULL);
        double value = json_number_value(number) * factor, size = fabs(value);
        struct terms_number ret = {"?"};

        if (json_is_number(number))
                (void)snprintf(ret.text, sizeof(ret.text),
                               size < 1                     ? "%.2g"
                               : size < 1000 || size >= 1e9 ? "%.3g"
                                                            : "%.0f",
                               value);
        return ret;
}

struct terms_number terms_number(const json_t *object, const char *key) {
        return terms_amount(object, key, 1);
}

static const char *cpus_word(struct terms_number count) {
        return strcmp(count.text, "1") == 0 ? "CPU" : "CPUs";
}

/* An annotation may contain 1e300: do not print 300 digits. */
struct terms_number terms_scaled(const json_t *object, const char *key, double factor) {
        const json_t *number = json_at(object, key, NULL);
        double value = json_number_value(number) * factor;
        struct terms_number ret = {"?"};

        if (fabs(value) < 0.05)
                value = 0; /* not -0.0 */
        if (json_is_number(number))
                (void)snprintf(ret.text, sizeof(ret.text), fabs(value) < 1e5 ? "%.1f" : "%.2g",
                               value);
        return ret;
}

static struct terms_number terms_percent(const json_t *object, const char *key) {
        return terms_scaled(object, key, 100);
}

/* 0 if it is not a number. */
static double number_of(const json_t *object, const char *key) {
        return json_number_value(json_at(object, key, NULL));
}

/* Is the member true, or text that is not empty? */
static bool has_member(const json_t *object, const char *key) {
        const char *text = json_string_at(object, key, NULL);

        return (text && *text) || json_is_true(json_at(object, key, NULL));
}

/* ---- A reading: "state", and unless it is missing or malformed, "value" and "ageSeconds". */

static bool has_state(const json_t *reading, const char *state) {
        return json_is_at(state, reading, "state", NULL);
}

static bool is_usable(const json_t *reading) {
        return json_is_number(json_at(reading, "value", NULL)) && has_state(reading, "usable");
}

/* "30s old". @key: the age in seconds; a negative age is in the future */
static void print_ago(const json_t *reading, const char *key, const char *before, const char *ago,
                      const char *after, FILE *out) {
        double ago_s = number_of(reading, key);
        char text[DURATION_TEXT_MAX];

        if (!json_is_number(json_at(reading, key, NULL)) || fabs(ago_s) > INT32_MAX)
                return;
        duration_format((int64_t)fabs(ago_s) * MS_PER_S, text);
        (void)fprintf(out, "%s%s %s%s", before, text, ago_s < 0 ? "in the future" : ago, after);
}

static void print_age(const json_t *reading, const char *before, const char *after, FILE *out) {
        print_ago(reading, "ageSeconds", before, "old", after, out);
}

/* Why there is no usable value. */
static void print_unusable(const json_t *reading, const struct style *style, FILE *out) {
        (void)fputs(style->yellow, out);
        if (has_state(reading, "missing")) {
                (void)fputs("missing: no such annotation", out);
        } else if (has_state(reading, "malformed")) {
                (void)fputs("malformed: the annotation is not VALUE,TIME", out);
        } else if (has_state(reading, "expired")) {
                print_ago(reading, "expiredSeconds", "expired ", "ago", "", out);
                (void)fprintf(out, " (%s%%", terms_percent(reading, "value").text);
                print_age(reading, ", ", "", out);
                (void)fputc(')', out);
        } else {
                (void)fputs("no reading", out);
        }
        (void)fputs(style->off, out);
}

/* ---- The lines of a node. */

/* Nothing without colours. */
static void print_bar(double ratio, double limit_ratio, const struct style *style, FILE *out) {
        if (style->off[0] == '\0')
                return;
        style_bar(ratio, limit_ratio, BAR_CELLS, style, out);
        (void)fputc(' ', out);
}

static void print_limit(const json_t *limit, const struct style *style, FILE *out) {
        double value = number_of(limit, "value"), limit_ratio = number_of(limit, "limit");
        bool is_over = value > limit_ratio;

        (void)fprintf(out, "  limit  " NAME, terms_text(limit, "metric").text);
        if (limit_ratio <= 0) {
                (void)fprintf(out, "%sswitched off%s\n", style->dim, style->off);
                return;
        }
        if (!is_usable(limit)) {
                (void)fprintf(out, "     -  of %5s%%  ", terms_percent(limit, "limit").text);
                print_unusable(limit, style, out);
                (void)fputs(", so it rejects nothing\n", out);
                return;
        }
        (void)fprintf(out, "%s%6s of %5s%%%s  ", is_over ? style->red : "",
                      terms_percent(limit, "value").text, terms_percent(limit, "limit").text,
                      style->off);
        print_bar(value, limit_ratio, style, out);
        print_age(limit, style->dim, style->off, out);
        if (is_over)
                (void)fprintf(out, "  %sABOVE%s", style->red, style->off);
        (void)fputc('\n', out);
}

static void print_term(const json_t *term, const struct style *style, FILE *out) {
        (void)fprintf(out, "  term   " NAME "%6s of %5s points  ", terms_text(term, "metric").text,
                      terms_scaled(term, "points", 1).text,
                      terms_scaled(term, "mostPoints", 1).text);
        if (!is_usable(term)) {
                print_unusable(term, style, out);
                (void)fputc('\n', out);
                return;
        }
        print_bar(number_of(term, "points") / number_of(term, "mostPoints"), 0, style, out);
        (void)fprintf(out, "%s%% used", terms_percent(term, "value").text);
        if (number_of(term, "target") > 0)
                (void)fprintf(out, " of %.4g%%", number_of(term, "target") * 100);
        if (number_of(term, "full") != 1)
                (void)fprintf(out, " next to %s%%", terms_percent(term, "full").text);
        (void)fprintf(out, ", weight %s", terms_number(term, "weight").text);
        print_age(term, ", ", "", out);
        (void)fputc('\n', out);
}

/* What pods have added or left since the reading: ", +3.2 since then (0.32 of 10 CPUs)", if the
 * capacity is known. */
static void print_since(const json_t *usage, bool is_memory, FILE *out) {
        double unit = is_memory ? 1 << 30 : 1, capacity = number_of(usage, "capacity");
        double ratio = number_of(usage, "inFlight");
        struct terms_number of = terms_amount(usage, "capacity", 1 / unit);
        bool is_read = json_is_number(json_at(usage, "reading", NULL));

        if (fabs(ratio) < 0.0005)
                return;
        (void)fprintf(out, ", %s%s %s", ratio > 0 ? "+" : "", terms_percent(usage, "inFlight").text,
                      is_read ? "since then" : "of its pods");
        if (capacity > 0)
                (void)fprintf(out, " (%s of %s %s)",
                              terms_amount(usage, "inFlight", capacity / unit).text, of.text,
                              is_memory ? "GiB" : cpus_word(of));
}

static void print_usage(const json_t *estimate, const char *resource, const struct style *style,
                        FILE *out) {
        const json_t *usage = json_at(estimate, resource, NULL);

        if (!json_is_object(usage))
                return;
        (void)fprintf(out, "  use    " NAME "%6s%%  ", resource,
                      terms_percent(usage, "expected").text);
        print_bar(number_of(usage, "expected"), 0, style, out);
        if (json_is_null(json_at(usage, "reading", NULL)))
                (void)fputs("nothing read", out);
        else
                (void)fprintf(out, "%s read", terms_percent(usage, "reading").text);
        print_age(usage, " (", ")", out);
        print_since(usage, strcmp(resource, "mem") == 0, out);
        if (json_at(usage, "margin", NULL))
                (void)fprintf(out, ", %s margin", terms_percent(usage, "margin").text);
        (void)fprintf(out, ", %s for the pod (counted twice)", terms_percent(usage, "pod").text);
        if (number_of(usage, "reserved") > 0)
                (void)fprintf(out, ", %s reserved", terms_percent(usage, "reserved").text);
        (void)fprintf(out, ", weight %s\n", terms_number(usage, "weight").text);
}

static void print_estimate(const json_t *estimate, const struct style *style, FILE *out) {
        print_usage(estimate, "cpu", style, out);
        print_usage(estimate, "mem", style, out);
        if (number_of(estimate, "other") > 0)
                (void)fprintf(out, "  use    " NAME "%6s%%  the largest of them, weighted\n",
                              "other priorities", terms_percent(estimate, "other").text);
        if (json_is_number(json_at(estimate, "headroom", NULL)))
                (void)fprintf(out, "  room   " NAME "%6s of 100\n", "headroom",
                              terms_scaled(estimate, "headroom", 1).text);
}

static void print_hot(const json_t *node, FILE *out) {
        double value = number_of(node, "hotValue"), points = trunc(10 * value);

        (void)fprintf(out, "  recent " NAME "%6.3g, %.3g point%s off\n", "node_hot_value", value,
                      points, points == 1 ? "" : "s");
}

static void print_verdict(const json_t *node, const struct style *style, FILE *out) {
        bool is_rejected = has_member(node, "rejectedBy");
        bool is_last = has_member(node, "lastBy") || has_member(node, "last");

        if (has_member(node, "closedBy")) {
                (void)fprintf(out, "%s%s%s: %stakes no pods without a toleration: %s%s\n",
                              style->bold, terms_text(node, "node").text, style->off, style->yellow,
                              terms_text(node, "closedBy").text, style->off);
                return;
        }
        (void)fprintf(out, "%s%s%s: ", style->bold, terms_text(node, "node").text, style->off);
        (void)fprintf(out, "%s%s", is_rejected || is_last ? style->red : style->green,
                      is_rejected ? "rejected"
                      : is_last   ? "passes last"
                                  : "passes");
        if (has_member(node, "reason"))
                (void)fprintf(out, ": %s", terms_text(node, "reason").text);
        (void)fputs(style->off, out);
        if (json_is_false(json_at(node, "known", NULL)))
                (void)fputs(", not in the extender's table", out);
        if (json_is_null(json_at(node, "score", NULL)))
                (void)fputs(is_rejected ? "" : "; no score", out);
        else if (!is_rejected)
                (void)fprintf(out, "; score %s of 10", terms_number(node, "score").text);
        if (!is_rejected && json_at(node, "score100", NULL) && !json_at(node, "estimate", NULL))
                (void)fprintf(out, " (%s of 100)", terms_number(node, "score100").text);
        (void)fputc('\n', out);
}

void terms_print(const json_t *node, const struct style *style, FILE *out) {
        const json_t *limits = json_at(node, "predicates", NULL);
        const json_t *terms = json_at(node, "priorities", NULL);

        print_verdict(node, style, out);
        if (number_of(node, "pool") > 0)
                (void)fprintf(out, "  pool   number %s of spec.pools\n",
                              terms_number(node, "pool").text);
        for (size_t i = 0; i < json_array_size(limits); i++)
                print_limit(json_array_get(limits, i), style, out);
        if (json_at(node, "estimate", NULL)) {
                print_estimate(json_at(node, "estimate", NULL), style, out);
        } else if (terms) {
                for (size_t i = 0; i < json_array_size(terms); i++)
                        print_term(json_array_get(terms, i), style, out);
                print_hot(node, out);
        }
        if (json_at(node, "taintLevel", NULL))
                (void)fprintf(out, "  taint  level %s of %s\n",
                              terms_number(node, "taintLevel").text,
                              terms_number(node, "taintLevels").text);
}

/* ---- The pod. */

/* A factor is what all pods use, as a share of what they request. */
void terms_print_expected(const json_t *expected, FILE *out) {
        const json_t *workload = json_at(expected, "workload", NULL);
        struct terms_number cores = terms_amount(expected, "loadCores", 1);
        struct terms_number mib = terms_amount(expected, "loadBytes", MIB);
        struct style_plain name = terms_text(expected, "workload");

        if (!json_is_object(expected))
                return;
        (void)fprintf(out, "  expected: %s %s and %s MiB, ", cores.text, cpus_word(cores),
                      mib.text);
        if (json_is_true(json_at(expected, "measured", NULL))) {
                (void)fprintf(out, "as measured of %s\n", name.text);
                return;
        }
        (void)fprintf(out, "by the cluster's factors %s and %s",
                      terms_amount(expected, "clusterFactorCpu", 1).text,
                      terms_amount(expected, "clusterFactorMem", 1).text);
        if (json_is_null(workload))
                (void)fputs("; it has no workload", out);
        else if (workload)
                (void)fprintf(out, "; %s is not measured", name.text);
        (void)fputc('\n', out);
}
