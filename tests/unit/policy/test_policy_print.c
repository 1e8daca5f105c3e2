/* Random policies that are printed read back as they were. By example: test_policy.c. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy_text.h"

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

TEST(random) {
        enum { ROUNDS = 2000 };
        unsigned short seed[3] = {7, 8, 9};

        for (int round = 0; round < ROUNDS; round++) {
                _cleanup_(policy_freep) struct policy *policy = random_policy(seed);
                assert_round_trip(policy);
        }
}
