/* The explanation for people. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "extender/explain/explanation.h"
#include "policy/judge/estimate_usage.h"
#include "program/style.h"

enum { NAME_WIDTH = 26, BAR_CELLS = 20, TEXT_MAX_BYTES = 64, NUMBER_MAX = 16 };

static void format_age(int64_t age_ms, char text[static DURATION_TEXT_MAX]) {
        /* Whole seconds. */
        duration_format(age_ms / MS_PER_S * MS_PER_S, text);
}

/* An annotation may contain 1e300: do not print 300 digits. */
static const char *format_number(double value, char text[static NUMBER_MAX]) {
        (void)snprintf(text, NUMBER_MAX, fabs(value) < 1e5 ? "%.1f" : "%.2g", value);
        return text;
}

/* Why there is no value to use. */
static void draw_unusable(const struct reading *reading, int64_t now_unix_ms,
                          const struct style *style, FILE *out) {
        char text[DURATION_TEXT_MAX], number[NUMBER_MAX];

        (void)fputs(style->yellow, out);
        if (reading->state == READING_MISSING) {
                (void)fputs("missing: no such annotation", out);
        } else if (reading->state == READING_MALFORMED) {
                (void)fputs("malformed: '", out);
                (void)style_text(reading->text, TEXT_MAX_BYTES, out);
                (void)fprintf(out, "': %s", reading->err.msg);
        } else {
                format_age(now_unix_ms - reading->expires_unix_ms, text);
                (void)fprintf(out, "expired %s ago", text);
                format_age(now_unix_ms - reading->at_unix_ms, text);
                (void)fprintf(out, " (%s %%, %s old)", format_number(reading->value * 100, number),
                              text);
        }
        (void)fputs(style->off, out);
}

static void draw_age(const struct reading *reading, int64_t now_unix_ms, const struct style *style,
                     FILE *out) {
        char text[DURATION_TEXT_MAX];
        int64_t age_ms = now_unix_ms - reading->at_unix_ms;

        format_age(age_ms < 0 ? -age_ms : age_ms, text);
        (void)fprintf(out, "%s%s %s%s", style->dim, text, age_ms < 0 ? "in the future" : "old",
                      style->off);
}

/* In place of nothing where there are no colours. */
static void draw_bar(double ratio, double limit_ratio, const struct style *style, FILE *out) {
        if (style->off[0] == '\0')
                return;
        style_bar(ratio, limit_ratio, BAR_CELLS, style, out);
        (void)fputc(' ', out);
}

static void draw_predicate(const struct explanation *of, size_t row, size_t i,
                           const struct style *style, FILE *out) {
        const struct policy_predicate *predicate = &of->policy->predicates[i];
        char number[NUMBER_MAX];
        struct reading reading;

        (void)fprintf(out, "  limit  %-*s ", NAME_WIDTH,
                      of->policy->metrics[predicate->metric].name);
        if (predicate->limit_ratio <= 0) {
                (void)fprintf(out, "%sswitched off%s\n", style->dim, style->off);
                return;
        }
        node_table_reading(of->table, row, predicate->metric, of->now_unix_ms, &reading);
        if (reading.state != READING_USABLE) {
                (void)fprintf(out, "     -  of %5.1f %%  ", predicate->limit_ratio * 100);
                draw_unusable(&reading, of->now_unix_ms, style, out);
                (void)fputs(", so it rejects nothing\n", out);
                return;
        }
        bool rejects = reading.value > predicate->limit_ratio;
        (void)fprintf(out, "%s%6s of %5.1f %%%s  ", rejects ? style->red : "",
                      format_number(reading.value * 100, number), predicate->limit_ratio * 100,
                      style->off);
        draw_bar(reading.value, predicate->limit_ratio, style, out);
        draw_age(&reading, of->now_unix_ms, style, out);
        if (rejects)
                (void)fprintf(out, "  %sABOVE%s", style->red, style->off);
        (void)fputc('\n', out);
}

static void draw_priority(const struct explanation *of, size_t row, size_t i, double weights,
                          const struct style *style, FILE *out) {
        const struct policy_priority *priority = &of->policy->priorities[i];
        double share = priority->weight / weights;
        char number[NUMBER_MAX];
        struct reading reading;

        node_table_reading(of->table, row, priority->metric, of->now_unix_ms, &reading);
        (void)fprintf(out, "  term   %-*s ", NAME_WIDTH,
                      of->policy->metrics[priority->metric].name);
        if (reading.state != READING_USABLE) {
                (void)fprintf(out, "   0.0 of %5.1f points  ", share * 100);
                draw_unusable(&reading, of->now_unix_ms, style, out);
                (void)fputc('\n', out);
                return;
        }
        double usage = verdict_usage_share(of->policy, i, reading.value, &of->judge.largest);
        double worth = verdict_worth(of->policy, i, reading.value, &of->judge.largest);
        (void)fprintf(out, "%6s of %5.1f points  ", format_number(worth * share * 100, number),
                      share * 100);
        draw_bar(worth, 0, style, out);
        if (priority->target_ratio > 0)
                (void)fprintf(out, "%s %% used of %.4g %%", format_number(usage * 100, number),
                              priority->target_ratio * 100);
        else
                (void)fprintf(out, "%s %% free", format_number(worth * 100, number));
        if (priority->scale == POLICY_SCALE_RELATIVE) {
                double full = verdict_full_ratio(of->policy, i, reading.value, &of->judge.largest);
                (void)fprintf(out, " next to %s %%", format_number(full * 100, number));
        }
        (void)fprintf(out, ", weight %g, ", priority->weight);
        draw_age(&reading, of->now_unix_ms, style, out);
        (void)fputc('\n', out);
}

static void draw_load(const struct estimate_usage *usage, int resource, FILE *out) {
        static const char *const units[ESTIMATE_RESOURCE_COUNT] = {"CPUs", "GiB"};
        double unit = resource == ESTIMATE_MEM ? 1 << 30 : 1;

        if (usage->capacity > 0)
                (void)fprintf(out, " (%.3g of %.4g %s)",
                              usage->in_flight_ratio * usage->capacity / unit,
                              usage->capacity / unit, units[resource]);
        else
                (void)fputs(" (no capacity known)", out);
}

static void draw_usage(const struct explanation *of, size_t row, int resource,
                       const struct style *style, FILE *out) {
        static const char *const names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};
        char total[NUMBER_MAX], read[NUMBER_MAX], in_flight[NUMBER_MAX], pod[NUMBER_MAX];
        struct estimate_usage usage;

        if (!estimate_usage_get(&of->snapshot->nodes, row, resource, &of->judge.load,
                                of->now_unix_ms, &usage))
                return;
        (void)fprintf(out, "  use    %-*s %6s %%  ", NAME_WIDTH, names[resource],
                      format_number(usage.expected_ratio * 100, total));
        draw_bar(usage.expected_ratio, 0, style, out);
        (void)fprintf(out, "%s read, %s in flight", format_number(usage.reading_ratio * 100, read),
                      format_number(usage.in_flight_ratio * 100, in_flight));
        draw_load(&usage, resource, out);
        (void)fprintf(out, ", %s for the pod twice, weight %g\n",
                      format_number(usage.pod_ratio * 100, pod), usage.weight);
}

static void draw_estimate(const struct explanation *of, size_t row, const struct style *style,
                          FILE *out) {
        double other = of->snapshot->nodes.columns.other[row];
        char number[NUMBER_MAX];

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                draw_usage(of, row, r, style, out);
        if (other > 0)
                (void)fprintf(out, "  use    %-*s %6s %%  weighted, the largest of the others\n",
                              NAME_WIDTH, "other priorities", format_number(other * 100, number));
        if (explanation_score(of, row) >= 0)
                (void)fprintf(out, "  room   %-*s %6s of 100\n", NAME_WIDTH, "headroom",
                              format_number(explanation_fine(of, row), number));
}

static void draw_pod(const struct explanation *of, FILE *out) {
        const struct estimator_expectation *expected = &of->expectation;

        (void)fputs(of->pod ? "pod " : "a pod without requests", out);
        (void)style_text(of->pod ? of->pod : "", TEXT_MAX_BYTES, out);
        (void)fprintf(
                out,
                ": expected to use %.3g CPUs and %.4g MiB; over the cluster pods use %.2f and "
                "%.2f of what they request\n\n",
                expected->load.of[ESTIMATE_CPU], expected->load.of[ESTIMATE_MEM] / (1 << 20),
                expected->factor.ratio[ESTIMATE_CPU], expected->factor.ratio[ESTIMATE_MEM]);
}

static void draw_hot(const struct explanation *of, size_t row, const struct style *style,
                     FILE *out) {
        struct reading reading;

        node_table_hot_reading(of->table, row, of->now_unix_ms, &reading);
        (void)fprintf(out, "  hot    %-*s ", NAME_WIDTH, ANNOTATION_HOT_VALUE);
        if (reading.state == READING_USABLE) {
                (void)fprintf(out, "%6g, %g points off  ", reading.value,
                              trunc(10 * reading.value));
                draw_age(&reading, of->now_unix_ms, style, out);
        } else {
                /* draw_unusable() prints percentages, which a hot value is not. */
                reading.value /= 100;
                (void)fputs("     0  ", out);
                if (reading.state == READING_MISSING)
                        (void)fprintf(out, "%sno such annotation%s", style->dim, style->off);
                else
                        draw_unusable(&reading, of->now_unix_ms, style, out);
        }
        (void)fputc('\n', out);
}

static void draw_verdict(const struct explanation *of, size_t row, const struct style *style,
                         FILE *out) {
        const struct policy_predicate *predicates = of->policy->predicates;
        int by = of->rejected_by[row], last_by = explanation_last_by(of, row);

        if (by >= 0)
                (void)fprintf(out, "%srejected: %s%s", style->red, predicates[by].reason,
                              style->off);
        else if (last_by >= 0)
                (void)fprintf(out, "%spasses last: %s%s", style->red, predicates[last_by].reason,
                              style->off);
        else
                (void)fprintf(out, "%spasses%s", style->green, style->off);
        if (by < 0)
                (void)fprintf(out, "; score %d of 10", explanation_score(of, row));
        if (by < 0 && !explanation_has_estimate(of))
                (void)fprintf(out, " (%d of 100)", (int)explanation_fine(of, row));
        (void)fputc('\n', out);
}

static void draw_node(const struct explanation *of, size_t row, const struct style *style,
                      FILE *out) {
        const struct policy *policy = of->policy;
        double weights = 0;

        (void)fputs(style->bold, out);
        (void)style_text(node_table_name(of->table, row), NODE_NAME_MAX, out);
        (void)fprintf(out, "%s: ", style->off);
        draw_verdict(of, row, style, out);
        size_t pool = node_table_pool(of->table, row);
        size_t limits[POLICY_MAX_TERMS], limit_count = explanation_limits(of, row, limits);
        struct policy_range terms = policy_pool_priorities(policy, pool);
        if (pool > 0)
                (void)fprintf(out, "  pool   number %zu of spec.pools\n", pool);
        for (size_t i = terms.begin; i < terms.end; i++)
                weights += policy->priorities[i].weight;
        for (size_t i = 0; i < limit_count; i++)
                draw_predicate(of, row, limits[i], style, out);
        if (explanation_has_estimate(of)) {
                draw_estimate(of, row, style, out);
                return;
        }
        for (size_t i = terms.begin; i < terms.end; i++)
                draw_priority(of, row, i, weights, style, out);
        draw_hot(of, row, style, out);
}

/* Which limits hold for the pod, if not only those of the nodes. */
static void draw_rule(const struct explanation *of, FILE *out) {
        const struct policy_rule *rule = of->judge.rule;

        if (rule)
                (void)fprintf(out, "rule %zu of the policy holds for the pod: %s\n\n",
                              (size_t)(rule - of->policy->rules) + 1,
                              rule->is_exempt ? "no limit rejects it" : "more limits");
        else if (of->judge.is_exempt)
                (void)fputs("the pod is a DaemonSet's: no limit rejects it\n\n", out);
}

void explanation_print(const struct explanation *explanation, const struct style *style,
                       FILE *out) {
        size_t count = node_table_count(explanation->table), shown = 0;

        if (explanation_has_estimate(explanation))
                draw_pod(explanation, out);
        draw_rule(explanation, out);
        for (size_t place = 0; place < count; place++) {
                size_t row = explanation_row(explanation, place);
                if (!explanation_shows(explanation, row))
                        continue;
                if (shown++ > 0)
                        (void)fputc('\n', out);
                draw_node(explanation, row, style, out);
        }
        if (shown == 0)
                (void)fputs("no nodes\n", out);
}
