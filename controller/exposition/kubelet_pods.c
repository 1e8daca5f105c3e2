#include "controller/exposition/kubelet_pods.h"

#include <math.h>

#include "controller/exposition/series_list.h"

enum { FAMILY_CPU, FAMILY_MEMORY };

void kubelet_pods_take(struct kubelet_pod *pod, const struct kubelet_sample *taken) {
        if (pod->is_known && pod->listed_mono_ms == taken->seen_mono_ms)
                return;
        pod->listed_mono_ms = taken->seen_mono_ms;
        pod->step_s = 0;
        if (pod->is_known && taken->at_unix_ms == pod->cpu.at_unix_ms)
                return;
        double wall_s = pod->is_known ? kubelet_interval_s(&pod->cpu, taken) : 0;
        double used_s = taken->value - pod->cpu.value;
        bool is_rate = wall_s > 0 && used_s >= 0;
        pod->cores = is_rate ? (float)(used_s / wall_s) : 0;
        pod->step_s = is_rate ? (float)wall_s : 0;
        pod->is_rated |= pod->is_known;
        pod->cpu = *taken;
        pod->is_known = true;
}

/* False if it is not usable. */
static bool take_cpu(struct kubelet_pod *pod, const struct exposition_sample *sample,
                     const struct kubelet_clocks *clocks) {
        struct kubelet_sample taken = {.value = sample->value,
                                       .at_unix_ms = clocks->now_unix_ms,
                                       .seen_mono_ms = clocks->now_mono_ms};

        if (sample->timestamp_len > 0 && !exposition_timestamp(sample, &taken.at_unix_ms))
                return false;
        kubelet_pods_take(pod, &taken);
        return true;
}

size_t kubelet_pods_read(const char *text, size_t text_bytes, bool is_complete,
                         const struct kubelet_clocks *clocks, kubelet_pods_find_fn *find,
                         void *userdata) {
        static const char *const names[] = {
                [FAMILY_CPU] = "pod_cpu_usage_seconds_total",
                [FAMILY_MEMORY] = "pod_memory_working_set_bytes",
        };
        struct exposition_set set;
        struct exposition skim;
        struct exposition_sample sample;
        size_t malformed = 0;

        exposition_set_init(&set, names, ARRAY_LEN(names));
        exposition_begin(&skim, &set, text, text_bytes, is_complete);
        while (exposition_next(&skim, &sample)) {
                const struct exposition_label *namespace = exposition_label(&sample, "namespace");
                const struct exposition_label *name = exposition_label(&sample, "pod");
                /* Kubernetes names need no escapes: a name with escapes is not a pod's. */
                struct kubelet_pod *pod = namespace && name ? find(userdata, namespace->value,
                                                                   namespace->value_len,
                                                                   name->value, name->value_len)
                                                            : NULL;
                if (!pod)
                        continue;
                if (!series_value_is_within(sample.value, NODE_COUNTER_MAX))
                        malformed++;
                else if (sample.family == FAMILY_CPU)
                        malformed += !take_cpu(pod, &sample, clocks);
                else
                        pod->memory_bytes = (float)sample.value;
        }
        return malformed + skim.malformed;
}

double kubelet_pods_rate(const struct kubelet_pod *pod, const struct kubelet_clocks *clocks) {
        bool is_stale = pod->listed_mono_ms != clocks->now_mono_ms ||
                        clocks->now_mono_ms - pod->cpu.seen_mono_ms > KUBELET_STALE_MS;

        return is_stale ? 0 : (double)pod->cores;
}

double kubelet_pods_leave_out(double cores, double cpu_cores, struct window_step *step) {
        double *num = &step->num[METRIC_CPU];
        double left_out = fmin(cores * step->den[METRIC_CPU] / cpu_cores, *num);

        *num -= left_out;
        return left_out * cpu_cores / step->den[METRIC_CPU];
}
