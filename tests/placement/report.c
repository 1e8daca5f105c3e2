#include "report.h"

#include <math.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/mem.h"
#include "usage.h"

static const struct {
        const char *name, *head;
        int decimals;
} metrics[] = {
        [HOT_NODE_MINUTES] = {"hotNodeMinutes", "hot>65%", 1},
        [HOT_CORE_MINUTES] = {"hotCoreMinutes", "cores", 0},
        [VERY_HOT_NODE_MINUTES] = {"veryHotNodeMinutes", ">80%", 1},
        [THROTTLED_CORE_S] = {"throttledCoreSeconds", "throttled", 0},
        [FULL_NODE_MINUTES] = {"fullNodeMinutes", "mem>90%", 1},
        [USAGE_STDDEV] = {"usageStddev", "stddev", 3},
        [BUSIEST_P99] = {"busiestP99", "busiest", 3},
        [MEAN_UTILISATION] = {"meanUtilisation", "mean", 3},
        [PENDING_PODS] = {"pendingPods", "pending", 0},
        [MEAN_PODS] = {"meanPods", "pods", 0},
        [PATCHES_PER_NODE_MINUTE] = {"patchesPerNodeMinute", "patches", 2},
        [ESTIMATE_ERROR_PERCENT] = {"estimateErrorPercent", "est. err", 2},
        [EVICTIONS_PER_1000_POD_HOURS] = {"evictionsPer1000PodHours", "evicted", 2},
        [REPEATED_EVICTIONS_RATIO] = {"repeatedEvictionsRatio", "again", 2},
        [TRIAL_RATIO] = {"trialRatio", "trial", 2},
        [TRIAL_LOW] = {"trialLow", "low", 2},
        [TRIAL_HIGH] = {"trialHigh", "high", 2},
};

/* A mean and its standard error over seeds, which is 0 for one seed. */
struct measured {
        double mean, error;
};

static struct measured mean_of(const struct result *result, enum metric metric) {
        double count = (double)result->count, sum = 0, squares = 0;

        for (size_t i = 0; i < result->count; i++)
                sum += result->outcomes[i].of[metric];
        for (size_t i = 0; i < result->count; i++)
                squares += pow(result->outcomes[i].of[metric] - sum / count, 2);
        return (struct measured){sum / count, count > 1 ? sqrt(squares / (count - 1) / count) : 0};
}

/* To @base; error by leaving out one seed after the other (jackknife). Return: false when @base is
 * 0 or has none */
static bool relative_to(const struct result *result, const struct result *base, enum metric metric,
                        struct measured *ret) {
        double count = (double)result->count, sum = 0, base_sum = 0, squares = 0;

        for (size_t i = 0; i < result->count; i++) {
                sum += result->outcomes[i].of[metric];
                base_sum += base->outcomes[i].of[metric];
        }
        if (isnan(base_sum) || base_sum <= 0)
                return false;
        for (size_t i = 0; i < result->count; i++) {
                double rest = base_sum - base->outcomes[i].of[metric];
                double without = rest > 0 ? (sum - result->outcomes[i].of[metric]) / rest : 0;
                squares += pow(without - sum / base_sum, 2);
        }
        *ret = (struct measured){sum / base_sum,
                                 count > 1 ? sqrt(squares * (count - 1) / count) : 0};
        return true;
}

void report_table_head(void) {
        (void)printf("%-14s %-26s %-12s", "scenario", "algorithm", "hot, rel.");
        for (size_t m = 0; m < METRICS_IN_TABLE; m++)
                (void)printf(" %9s", metrics[m].head);
        (void)printf("\n");
}

static void report_cell(double value, int decimals) {
        if (isnan(value))
                (void)printf(" %9s", "-");
        else
                (void)printf(" %9.*f", decimals, value);
}

void report_table_row(const struct result *result, const struct result *base) {
        struct measured relative;
        char text[32] = "-";

        if (base && relative_to(result, base, HOT_NODE_MINUTES, &relative))
                (void)snprintf(text, sizeof(text), "%.2f +- %.2f", relative.mean, relative.error);
        (void)printf("%-14s %-26s %-12s", result->scenario, result->algorithm, text);
        for (size_t m = 0; m < METRICS_IN_TABLE; m++)
                report_cell(mean_of(result, (enum metric)m).mean, metrics[m].decimals);
        (void)printf("\n");
        (void)fflush(stdout);
}

void report_json(const struct result *result, const struct result *base) {
        (void)printf("{\"scenario\": \"%s\", \"algorithm\": \"%s\"", result->scenario,
                     result->algorithm);
        for (size_t m = 0; m < METRIC_KINDS; m++) {
                struct measured mean = mean_of(result, (enum metric)m), relative;
                if (isnan(mean.mean))
                        continue;
                (void)printf(",\n  \"%s\": {\"mean\": %.9g, \"error\": %.4g", metrics[m].name,
                             mean.mean, mean.error);
                if (base && relative_to(result, base, (enum metric)m, &relative))
                        (void)printf(", \"relative\": %.6g, \"relativeError\": %.4g", relative.mean,
                                     relative.error);
                (void)printf(", \"seeds\": [");
                for (size_t i = 0; i < result->count; i++)
                        (void)printf("%s%.9g", i > 0 ? ", " : "", result->outcomes[i].of[m]);
                (void)printf("]}");
        }
        (void)printf("}");
        (void)fflush(stdout);
}

/* What a pod that replays a recording uses: [seconds after its arrival, cores from then on]. */
static void report_uses(const struct pod *pod, int64_t end_s) {
        struct pod running = *pod;
        int64_t at_s = pod->arrives_s;

        running.starts_s = pod->arrives_s;
        if (pod->arrives_s + pod->life_s < end_s)
                end_s = pod->arrives_s + pod->life_s;
        for (const char *before = ", \"uses\": ["; at_s < end_s; before = ",") {
                (void)printf("%s[%lld, %.6g]", before, (long long)(at_s - pod->arrives_s),
                             usage_cores_at(&running, at_s));
                at_s = usage_next_change_s(&running, at_s);
        }
        (void)printf(at_s > pod->arrives_s ? "]" : "");
}

void report_world(const struct scenario *scenario, uint64_t seed) {
        _cleanup_(world_freep) struct world *world = world_new(scenario, seed);

        (void)printf("{\"warmUpSeconds\": %lld, \"measuredSeconds\": %lld,\n\"nodes\": [",
                     (long long)scenario->warm_up_s, (long long)scenario->measured_s);
        for (size_t n = 0; n < world->node_count; n++)
                (void)printf("%s\n{\"cores\": %g, \"base\": %.6g, \"losesExporter\": %s}",
                             n > 0 ? "," : "", world->nodes[n].cores, world_base_ratio(world, n),
                             world_loses_exporter(world, n) ? "true" : "false");
        (void)printf("],\n\"pods\": [");
        for (size_t p = 0; p < world->pod_count; p++) {
                const struct pod *pod = &world->pods[p];
                (void)printf("%s\n{\"workload\": %u, \"request\": %g, \"cores\": %.6g, "
                             "\"spikeFactor\": %g, \"spikeSeconds\": %g, \"arrives\": %lld, "
                             "\"life\": %lld",
                             p > 0 ? "," : "", pod->workload, pod->request_cores, pod->cores,
                             pod->spike_factor, pod->spike_s, (long long)pod->arrives_s,
                             (long long)pod->life_s);
                if (pod->series)
                        report_uses(pod, scenario->warm_up_s + scenario->measured_s);
                (void)printf("}");
        }
        (void)printf("]}\n");
}
