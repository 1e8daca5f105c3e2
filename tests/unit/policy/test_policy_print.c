/* Printing policies: what is printed reads back as it was, odd texts and random policies too. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy_text.h"
#include "tests/crane_policy.h"

/* Texts that are read as another kind of value, or not at all, when they stand without quotes. */
TEST(odd_texts_are_printed_in_quotes) {
        static const struct {
                const char *series, *exporter;
                const char *printed;
        } rows[] = {
                {"abc:", "dcgm", "\n    exporter: dcgm\n    series: \"abc:\"\n"},
                {":", "dcgm", "\n    series: \":\"\n"},
                {":a:b", "dcgm", "\n    series: :a:b\n"},
                {"null", "on", "\n    exporter: \"on\"\n    series: \"null\"\n"},
                {"True", "n", "\n    exporter: \"n\"\n    series: \"True\"\n"},
                {"truth", "nn", "\n    exporter: nn\n    series: truth\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf(
                        HEAD "spec:\n"
                             "  metrics: [{name: gpu, series: \"%s\", exporter: \"%s\", "
                             "kind: gauge, capacity: 1}]\n"
                             "  syncPolicy: [{name: gpu_usage_avg_5m, period: 3m}, "
                             "{name: 5, period: 3m}]\n",
                        rows[i].series, rows[i].exporter);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                _cleanup_(buf_done) struct buf printed = BUF_INIT(1 << 20);
                assert_round_trip(policy);
                policy_print(policy, &printed);
                assert_non_null(strstr(printed.data, rows[i].printed));
                assert_non_null(strstr(printed.data, "{name: \"5\","));
        }
}

static double draw(unsigned short seed[3]) {
        return erand48(seed);
}

static size_t draw_below(unsigned short seed[3], size_t end) {
        return (size_t)(erand48(seed) * (double)end);
}

static int64_t draw_duration_ms(unsigned short seed[3]) {
        static const int64_t units_ms[] = {1, MS_PER_S, MS_PER_MIN, MS_PER_HOUR, 12345678};

        return (int64_t)(1 + draw_below(seed, 2000)) * units_ms[draw_below(seed, 5)];
}

/* A random policy as text, through the parser, since only that completes it. */
static struct policy *random_policy(unsigned short seed[3]) {
        static const char *const resources[] = {"cpu", "mem", "net_rx", "psi_io", "gpu"};
        static const char *const statistics[] = {"avg", "max_avg", "p95"};
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 16);
        size_t metrics = draw_below(seed, 12);

        buf_printf(&text, HEAD "metadata: {name: n%zu}\nspec:\n", draw_below(seed, 1000));
        if (draw(seed) < 0.3)
                buf_printf(
                        &text,
                        "  metrics: [{name: gpu, series: s:%zu, kind: %s, match: {a: \"\\\"%zu\"}, "
                        "capacity: %.17g}]\n",
                        draw_below(seed, 9), draw(seed) < 0.5 ? "gauge" : "counter",
                        draw_below(seed, 9), pow(10, draw(seed) * 40 - 20));
        buf_puts(&text, "  syncPolicy:\n");
        for (size_t i = 0; i < metrics; i++)
                buf_printf(&text, "  - {name: %s_usage_%s_%zum, period: %lldms}\n",
                           resources[draw_below(seed, 5)], statistics[draw_below(seed, 3)], i + 1,
                           (long long)draw_duration_ms(seed));
        _cleanup_(policy_freep) struct policy *names = parse(text.data, true);
        buf_puts(&text, "  predicate:\n");
        for (size_t i = 0; i < metrics; i++)
                if (draw(seed) < 0.5)
                        buf_printf(&text, "  - {name: %s, maxLimitPecent: %.17g}\n",
                                   names->metrics[i].name,
                                   draw(seed) * (draw(seed) < 0.5 ? 1 : 100));
        buf_puts(&text, "  priority:\n");
        for (size_t i = 0; i < metrics; i++)
                if (draw(seed) < 0.5)
                        buf_printf(&text, "  - {name: %s, weight: %.17g%s}\n",
                                   names->metrics[i].name, pow(10, draw(seed) * 40 - 20),
                                   draw(seed) < 0.5 ? ", scale: relative" : "");
        buf_puts(&text, "  hotValue:\n");
        for (size_t i = draw_below(seed, 4); i > 0; i--)
                buf_printf(&text, "  - {timeRange: %lldms, count: %zu}\n",
                           (long long)draw_duration_ms(seed), 1 + draw_below(seed, 100));
        if (draw(seed) < 0.8)
                buf_printf(&text,
                           "  extender: {scoring: %s, whenAllOver: %s, shortlist: %s, "
                           "shortlistFor: %s}\n",
                           policy_scoring_names[draw_below(seed, 3)],
                           (const char *[]){"", "reject", "pass"}[draw_below(seed, 3)],
                           (const char *[]){"", "auto", "0", "64"}[draw_below(seed, 4)],
                           policy_shortlist_for_names[draw_below(seed, 2)]);
        _cleanup_(policy_freep) struct policy *whole = parse(text.data, true);
        if (whole->priority_count > 0 && draw(seed) < 0.3)
                buf_printf(&text, "  taints: {levels: [%.17g, 1]}\n", 0.01 + draw(seed) / 2);
        for (size_t i = 0; i < whole->metric_count; i++)
                if (strncmp(whole->metrics[i].name, POLICY_IDLE_PEAK_PREFIX,
                            strlen(POLICY_IDLE_PEAK_PREFIX)) == 0 &&
                    whole->metrics[i].period_ms > 0) {
                        buf_printf(&text, "  idle: {line: %.17g, peak: %s}\n",
                                   0.01 + draw(seed) / 2,
                                   whole->metrics[i].name + strlen(POLICY_IDLE_PEAK_PREFIX));
                        break;
                }
        return parse(text.data, true);
}

/* What follows a name is in one column, however long the names are. */
TEST(names_are_aligned) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD "spec:\n"
                     "  syncPolicy: [{name: cpu_usage_max_avg_1h, period: 15m}, "
                     "{name: load, period: 3m}]\n",
                true);
        _cleanup_(buf_done) struct buf printed = BUF_INIT(1 << 20);

        policy_print(policy, &printed);
        assert_non_null(strstr(printed.data, "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                                             "  - {name: load,                 period: 3m}\n"));
}

TEST(round_trip) {
        enum { ROUNDS = 2000 };
        unsigned short seed[3] = {7, 8, 9};
        _cleanup_(policy_freep) struct policy *builtin = policy_default();
        _cleanup_(policy_freep) struct policy *crane = crane_policy();
        /* Names that YAML would take for something else. */
        _cleanup_(policy_freep) struct policy *odd = parse(
                HEAD "metadata: {name: \"null\"}\n"
                     "spec:\n"
                     "  syncPolicy: [{name: \"NULL\", period: 1ms}, {name: 1e5, period: 2h}]\n"
                     "  priority: [{name: \"NULL\", weight: 5e-324}, "
                     "{name: 1e5, weight: 1e300}]\n",
                true);

        assert_round_trip(builtin);
        assert_round_trip(crane);
        assert_round_trip(odd);
        for (int round = 0; round < ROUNDS; round++) {
                _cleanup_(policy_freep) struct policy *policy = random_policy(seed);
                assert_round_trip(policy);
        }
}
