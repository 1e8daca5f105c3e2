/*
 * A node's day and a bit more, scrape by scrape, through the whole pipeline (page, reading, step,
 * windows), against a brute-force computation that keeps every raw sample. The node reboots, gains
 * and loses CPUs, is not answered, serves nonsense and stale pages; the controller restarts and
 * seeds its windows from what it had published.
 *
 * What is claimed, and checked at every look:
 *
 *     avg_5m         equals the brute force, which interpolates between scrapes (1e-6: floats)
 *     longer avg_W   within what one cell can hold of what the window holds
 *     max_avg_W      between the brute force over W, and the one over W and a bucket more (1e-6)
 *
 * The mean of fewer than 2.5 minutes of data counts while it is the newest and no maximum above 0
 * is remembered, as the header says.
 */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "controller/exposition/node_state.h"
#include "tests/unit/fixture/full_size.h"

enum { MAX_CPUS = 6, MAX_SAMPLES = 8192, MAX_SEEDS = 4096 };
static const double EPSILON = 1e-6;

static const struct metric_query queries[] = {
        {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN}, {METRIC_CPU, METRIC_AVG, MS_PER_HOUR},
        {METRIC_CPU, METRIC_AVG, MS_PER_DAY},     {METRIC_CPU, METRIC_MAX, MS_PER_HOUR},
        {METRIC_CPU, METRIC_MAX, MS_PER_DAY},     {METRIC_MEM, METRIC_AVG, 5 * MS_PER_MIN},
        {METRIC_MEM, METRIC_AVG, MS_PER_HOUR},    {METRIC_MEM, METRIC_MAX, MS_PER_HOUR},
        {METRIC_MEM, METRIC_MAX, MS_PER_DAY},     {METRIC_MEM, METRIC_MAX, 10 * MS_PER_MIN},
};

static uint64_t random_state;

static double uniform(double low, double high) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

static bool chance(double share) {
        return uniform(0, 1) < share;
}

/* The node. Counters per CPU; a CPU that comes back goes on where it was, as Linux' do. */
struct node {
        unsigned cpus;
        double idle_s[MAX_CPUS], user_s[MAX_CPUS], iowait_s[MAX_CPUS];
        double mem_ratio;
        double load;
};

static void node_run(struct node *node, double seconds) {
        if (chance(0.01))
                node->load = chance(0.2) ? uniform(0.8, 1) : uniform(0, 0.6);
        node->mem_ratio = fmin(fmax(node->mem_ratio + uniform(-0.02, 0.02), 0), 1);
        for (unsigned cpu = 0; cpu < node->cpus; cpu++) {
                double busy = fmin(fmax(node->load + uniform(-0.2, 0.2), 0), 1);
                node->idle_s[cpu] += seconds * (1 - busy);
                node->user_s[cpu] += seconds * busy * 0.75;
                node->iowait_s[cpu] += seconds * busy * 0.25;
        }
}

static void node_reboot(struct node *node) {
        for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
                node->idle_s[cpu] = node->user_s[cpu] = node->iowait_s[cpu] = 0;
}

static void node_page(const struct node *node, bool cpu_is_broken, bool mem_is_broken,
                      struct buf *page) {
        buf_clear(page);
        for (unsigned cpu = 0; cpu < node->cpus; cpu++)
                buf_printf(page,
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"idle\"} %.17g\n"
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"iowait\"} %.17g\n"
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"user\"} %.17g\n",
                           cpu, node->idle_s[cpu], cpu, node->iowait_s[cpu], cpu,
                           cpu == 0 && cpu_is_broken ? (double)NAN : node->user_s[cpu]);
        buf_printf(page, "node_memory_MemAvailable_bytes %.17g\nnode_memory_MemTotal_bytes 1e+10\n",
                   mem_is_broken ? -1 : (1 - node->mem_ratio) * 1e10);
}

/* All that was ever seen. An interval ends at its sample; channel 0 is cpu, 1 is mem. */
struct sample {
        int64_t at_ms, dt_ms;
        double num[2], den[2]; /* den 0: the interval doesn't count */
        double mean[2];        /* 5-minute mean at this sample, negative when there is none */
        bool is_peak[2];       /* with data for half of the 5 minutes */
        struct node node;
        bool has_cpu;
};

struct seed {
        size_t query;
        double ratio;
        int64_t at_ms;
};

static struct brute {
        size_t sample_count; /* since the controller's last start */
        struct sample samples[MAX_SAMPLES];
        size_t seed_count;
        struct seed seeds[MAX_SEEDS];
} brute;

static int channel_of(const struct metric_query *query) {
        return query->resource == METRIC_CPU ? 0 : 1;
}

/* Sums over (end - window, end], the interval across the old edge by its share. */
static double brute_avg(int channel, int64_t end_ms, int64_t window_ms, double *ret_covered_ms,
                        double *ret_den) {
        double num = 0, den = 0, covered_ms = 0;

        for (size_t i = brute.sample_count; i-- > 0;) {
                const struct sample *sample = &brute.samples[i];
                int64_t edge_ms = end_ms - window_ms;
                if (sample->at_ms <= edge_ms)
                        break;
                int64_t begin_ms = sample->at_ms - sample->dt_ms;
                double inside_ms = (double)(sample->at_ms -
                                            (begin_ms > edge_ms ? begin_ms : edge_ms));
                if (sample->den[channel] <= 0)
                        continue;
                num += sample->num[channel] * inside_ms / (double)sample->dt_ms;
                den += sample->den[channel] * inside_ms / (double)sample->dt_ms;
                covered_ms += inside_ms;
        }
        *ret_covered_ms = covered_ms;
        *ret_den = den;
        return den > 0 ? num / den : -1;
}

/* Over @window_ms, seeds of queries that speak for windows up to @query_window_ms included. */
static double brute_max(const struct metric_query *query, int64_t now_ms, int64_t window_ms) {
        int channel = channel_of(query);
        double max = -1;

        for (size_t i = brute.sample_count; i-- > 0;) {
                const struct sample *sample = &brute.samples[i];
                if (sample->at_ms <= now_ms - window_ms)
                        break;
                if (sample->is_peak[channel])
                        max = fmax(max, sample->mean[channel]);
        }
        for (size_t i = 0; i < brute.seed_count; i++) {
                const struct seed *seed = &brute.seeds[i];
                const struct metric_query *of = &queries[seed->query];
                if (of->resource == query->resource && seed->at_ms > now_ms - window_ms &&
                    (of->statistic == METRIC_AVG || of->window_ms <= query->window_ms))
                        max = fmax(max, seed->ratio);
        }
        return max;
}

/* What the CPUs that are in both were busy, and what there was of them; no time when that is less
 * than 45% of what went by. */
static void brute_cpus(const struct node *before, const struct node *after, double wall_s,
                       double *ret_num, double *ret_den) {
        double num = 0, den = 0;

        for (unsigned cpu = 0; cpu < before->cpus && cpu < after->cpus; cpu++) {
                double busy_s = after->user_s[cpu] - before->user_s[cpu] + after->iowait_s[cpu] -
                                before->iowait_s[cpu];
                double idle_s = after->idle_s[cpu] - before->idle_s[cpu];
                if (busy_s < 0 || idle_s < 0)
                        continue;
                num += busy_s;
                den += busy_s + idle_s;
        }
        if (den < 0.45 * wall_s * after->cpus)
                return;
        *ret_num = num;
        *ret_den = den;
}

static void brute_add(const struct node *node, int64_t at_ms, int64_t interval_ms, bool has_cpu,
                      bool has_mem) {
        struct sample *now = &brute.samples[brute.sample_count++];
        const struct sample *before = brute.sample_count > 1 ? now - 1 : NULL;

        *now = (struct sample){
                .at_ms = at_ms,
                .dt_ms = before ? at_ms - before->at_ms : 0,
                .node = *node,
                .has_cpu = has_cpu,
        };
        int64_t gauge_gap_ms = 4 * interval_ms > MS_PER_MIN ? 4 * interval_ms : MS_PER_MIN;
        if (before && has_mem && now->dt_ms <= gauge_gap_ms) {
                now->num[1] = node->mem_ratio * (double)now->dt_ms;
                now->den[1] = (double)now->dt_ms;
        }
        if (before && has_cpu && before->has_cpu && now->dt_ms <= 5 * MS_PER_MIN)
                brute_cpus(&before->node, node, (double)now->dt_ms / 1e3, &now->num[0],
                           &now->den[0]);
        for (int channel = 0; channel < 2; channel++) {
                double covered_ms = 0, den = 0;
                now->mean[channel] = brute_avg(channel, at_ms, 5 * MS_PER_MIN, &covered_ms, &den);
                now->is_peak[channel] = covered_ms >= 2.5 * MS_PER_MIN;
        }
}

static bool brute_has_interval(int channel) {
        for (size_t i = 0; i < brute.sample_count; i++) {
                if (brute.samples[i].den[channel] > 0)
                        return true;
        }
        return false;
}

static size_t looks, known;
static double worst_long_avg;

/* @mono_ms is @now_ms on the clock of the store. */
static void look(const struct window_store *store, size_t q, int64_t now_ms, int64_t mono_ms,
                 int64_t interval_ms) {
        const struct metric_query *query = &queries[q];
        int channel = channel_of(query);
        int64_t resolution_ms = window_resolution_ms(query->window_ms);
        struct window_reading reading = window_read(store, query, mono_ms);
        bool is_known = reading.status == WINDOW_KNOWN;
        double ratio = is_known ? reading.ratio : -1, low, high;

        looks++;
        known += is_known;
        if (is_known && !(ratio >= 0 && ratio <= 1))
                fail_msg("query %zu gave %g", q, ratio);
        if (query->statistic == METRIC_AVG) {
                double covered_ms = 0, den = 0;
                int64_t end_ms = brute.samples[brute.sample_count - 1].at_ms;
                low = high = brute_avg(channel, end_ms, query->window_ms, &covered_ms, &den);
                if (now_ms - end_ms >= query->window_ms)
                        low = high = -1;
                if (is_known && low >= 0 && query->window_ms > 5 * MS_PER_MIN) {
                        /* A cell is closed by the first scrape past its resolution. */
                        double cell = (double)(resolution_ms + interval_ms * 6 / 5);
                        if (channel == 0)
                                cell *= MAX_CPUS / 1e3;
                        if (covered_ms > (double)query->window_ms / 2)
                                worst_long_avg = fmax(worst_long_avg, fabs(ratio - low));
                        low -= cell / den;
                        high += cell / den;
                } else if (is_known != (low >= 0) && covered_ms < 1000) {
                        return; /* a hair of the last interval */
                }
        } else {
                low = brute_max(query, now_ms, query->window_ms);
                high = brute_max(query, now_ms, query->window_ms + resolution_ms);
                const struct sample *newest = &brute.samples[brute.sample_count - 1];
                if (low <= 0 && brute.sample_count > 0 &&
                    newest->at_ms > now_ms - query->window_ms) {
                        low = high > 0 ? low : fmax(low, newest->mean[channel]);
                        high = fmax(high, newest->mean[channel]);
                }
                if (!brute_has_interval(channel))
                        low = high = -1;
        }
        if (!is_known && low < 0)
                return;
        if (is_known != (high >= 0) || ratio < low - EPSILON || ratio > high + EPSILON)
                fail_msg("query %zu at %lld s: %d, %.9g, not in [%.9g, %.9g]", q,
                         (long long)(now_ms / 1000), is_known, ratio, low, high);
}

struct published {
        double ratio;
        int64_t at_ms; /* 0: never */
};

/* What the annotations held becomes the new store's seeds. */
static struct window_store *restart(struct window_store *store, const struct window_plan *plan,
                                    const struct published *published, int64_t now_ms,
                                    int64_t mono_ms) {
        window_store_free(store);
        store = window_store_new(plan);
        brute.sample_count = brute.seed_count = 0;
        for (size_t q = 0; q < ARRAY_LEN(queries); q++) {
                if (published[q].at_ms == 0)
                        continue;
                int64_t age_ms = now_ms - published[q].at_ms;
                if (!window_store_seed(store, &queries[q], published[q].ratio, age_ms, mono_ms))
                        continue;
                brute.seeds[brute.seed_count++] = (struct seed){
                        .query = q,
                        .ratio = published[q].ratio,
                        .at_ms = published[q].at_ms,
                };
        }
        return store;
}

static void run_round(uint64_t number, const struct node_wants *wants,
                      struct node_reading *reading) {
        static const int64_t intervals_ms[] = {15000, 20000, 30000, 60000};
        random_state = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
        int64_t interval_ms = intervals_ms[number % ARRAY_LEN(intervals_ms)];
        struct window_plan *plan = window_plan_new(queries, ARRAY_LEN(queries), interval_ms);
        struct window_store *store = window_store_new(plan);
        struct node_state before = NODE_STATE_NULL;
        struct node node = {.cpus = 4, .load = 0.3, .mem_ratio = 0.5};
        struct published published[ARRAY_LEN(queries)] = {{0}};
        struct buf page = BUF_INIT(1 << 16);
        int64_t now_ms = 1000000, end_ms = now_ms + 27 * MS_PER_HOUR, last_ms = now_ms;
        int64_t mono_offset_ms = (int64_t)uniform(-1e9, 1e12);

        brute.sample_count = brute.seed_count = 0;
        for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
                node.idle_s[cpu] = uniform(0, 1e7);
        for (unsigned scrape = 0; now_ms < end_ms; scrape++) {
                /* At least 0.8 of the interval: above a 5-minute cell's 12 s. */
                now_ms = last_ms + (int64_t)((double)interval_ms * uniform(0.8, 1.2));
                if (chance(0.01)) /* not answered, for a while, or for long */
                        now_ms += (int64_t)(chance(0.1) ? uniform(0, 2e7) : uniform(0, 6e5));
                bool is_stale = chance(0.003);
                if (!is_stale)
                        node_run(&node, (double)(now_ms - last_ms) / 1e3);
                if (chance(0.002))
                        node_reboot(&node);
                if (chance(0.002))
                        node.cpus = (unsigned)uniform(1, MAX_CPUS + 0.99);
                if (chance(0.001)) {
                        mono_offset_ms = (int64_t)uniform(-1e9, 1e12);
                        store = restart(store, plan, published, now_ms, now_ms + mono_offset_ms);
                        node_state_done(&before);
                }
                last_ms = now_ms;

                bool has_cpu = !chance(0.005), has_mem = !chance(0.005);
                bool is_whole = chance(0.98);
                struct window_step step;
                node_page(&node, !has_cpu, !has_mem, &page);
                node_reading_parse(reading, wants, page.data, page.len, is_whole);
                /* Of a page that may be cut nobody knows whether it has all CPUs. */
                has_cpu = has_cpu && is_whole;
                node_state_step(&before, wants, reading, now_ms + mono_offset_ms, &step);
                (void)window_store_add(store, &step);
                brute_add(&node, now_ms, interval_ms, has_cpu, has_mem);

                int64_t look_ms = now_ms + (int64_t)uniform(0, (double)interval_ms);
                for (size_t q = 0; q < ARRAY_LEN(queries); q++) {
                        if (queries[q].window_ms <= 10 * MS_PER_MIN || scrape % 16 == 0)
                                look(store, q, look_ms, look_ms + mono_offset_ms, interval_ms);
                        int64_t period_ms = queries[q].window_ms / 8;
                        struct window_reading now = window_read(store, &queries[q],
                                                                now_ms + mono_offset_ms);
                        if (now_ms - published[q].at_ms >= period_ms && now.status == WINDOW_KNOWN)
                                published[q] = (struct published){now.ratio, now_ms};
                }
        }
        buf_done(&page);
        node_state_done(&before);
        window_store_free(store);
        window_plan_free(plan);
}

TEST(against_brute_force) {
        struct node_reading *reading = node_reading_new();
        struct node_wants wants;

        node_wants_init(&wants,
                        &(struct node_wants_options){.resources = NODE_RESOURCE_BIT(METRIC_CPU) |
                                                                  NODE_RESOURCE_BIT(METRIC_MEM)});
        for (uint64_t round = 0; round < (uint64_t)full_size(96, 24); round++)
                run_round(round, &wants, reading);
        print_message("%zu looks, %zu of them known; fuller longer averages off by up to %.5f\n",
                      looks, known, worst_long_avg);
        assert_true(known > looks / 2);
        node_reading_free(reading);
}
