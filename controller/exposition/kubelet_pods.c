#include "controller/exposition/kubelet_pods.h"

#include <math.h>

#include "controller/exposition/series_list.h"

/* False if it is not usable. */
static bool take_pod_sample(struct kubelet_pod *pod, const struct exposition_sample *sample,
                            const struct kubelet_clocks *clocks) {
        struct kubelet_sample taken = {.value = sample->value,
                                       .at_unix_ms = clocks->now_unix_ms,
                                       .seen_mono_ms = clocks->now_mono_ms};

        if (!series_value_is_within(sample->value, NODE_COUNTER_MAX) ||
            (sample->timestamp_len > 0 && !exposition_timestamp(sample, &taken.at_unix_ms)))
                return false;
        if (pod->is_known && pod->listed_mono_ms == clocks->now_mono_ms)
                return true;
        pod->listed_mono_ms = clocks->now_mono_ms;
        if (!pod->is_known)
                pod->counted = pod->newest = taken;
        else if (taken.at_unix_ms != pod->newest.at_unix_ms)
                pod->newest = taken;
        pod->is_known = true;
        return true;
}

size_t kubelet_pods_read(const char *text, size_t text_bytes, bool is_complete,
                         const struct kubelet_clocks *clocks, kubelet_pods_find_fn *find,
                         void *userdata) {
        static const char *const names[] = {"pod_cpu_usage_seconds_total"};
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
                if (pod)
                        malformed += !take_pod_sample(pod, &sample, clocks);
        }
        return malformed + skim.malformed;
}

double kubelet_pods_rate(struct kubelet_pod *pod, const struct kubelet_clocks *clocks) {
        const struct kubelet_sample *newest = &pod->newest;

        if (pod->is_known && newest->at_unix_ms != pod->counted.at_unix_ms) {
                double wall_s = kubelet_interval_s(&pod->counted, newest);
                double used_s = newest->value - pod->counted.value;
                pod->cores = wall_s > 0 && used_s > 0 ? used_s / wall_s : 0;
                pod->counted = *newest;
                pod->is_rated = true;
        }
        if (pod->listed_mono_ms != clocks->now_mono_ms ||
            clocks->now_mono_ms - newest->seen_mono_ms > KUBELET_STALE_MS)
                pod->cores = 0;
        return pod->cores;
}

double kubelet_pods_leave_out(double cores, double cpu_cores, struct window_step *step) {
        double *num = &step->num[METRIC_CPU];
        double left_out = fmin(cores * step->den[METRIC_CPU] / cpu_cores, *num);

        *num -= left_out;
        return left_out * cpu_cores / step->den[METRIC_CPU];
}
