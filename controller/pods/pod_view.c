#include <math.h>

#include "base/json_write.h"
#include "controller/pods/pod_set.h"

/* False: there is no recent mean of the pod. */
static bool recent_mean(const struct measured_pod *pod, int64_t now_mono_ms, struct pod_load *ret) {
        return workload_meter_pod_mean(&pod->meter, ret) &&
               now_mono_ms - pod->page.listed_mono_ms <= POD_SET_MEASURED_MS;
}

struct pod_count pod_view_count(const struct pod_node *node, int64_t now_mono_ms) {
        struct pod_count count = {0};
        const struct measured_pod *pod;

        for (pod = node ? LIST_FIRST(&node->pods) : NULL; pod; pod = LIST_NEXT(pod, entry)) {
                struct pod_load mean;
                count.bound++;
                count.measured += recent_mean(pod, now_mono_ms, &mean);
                count.mixed += pod->idle_milli > 0 && pod->request.of[ESTIMATE_CPU] > 0;
        }
        return count;
}

struct pod_count pod_view_count_all(const struct pod_set *set, int64_t now_mono_ms) {
        struct pod_count count = {0};
        const struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &set->nodes) {
                struct pod_count own = pod_view_count(entry->value, now_mono_ms);
                count.bound += own.bound;
                count.measured += own.measured;
                count.mixed += own.mixed;
        }
        return count;
}

/* How far a pod is from what its workload's pods use, as a share of the node. Of a pod without a
 * workload nothing else is known. */
static double deviation_of(const struct measured_pod *pod, const struct pod_load *mean,
                           const struct kubelet_capacity *capacity) {
        const double of[ESTIMATE_RESOURCE_COUNT] = {capacity->cpu_cores, capacity->memory_bytes};
        struct pod_load expected;
        double deviation = 0;

        if (!workload_meter_mean(pod->workload, &expected))
                expected = (struct pod_load){0};
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (of[r] > 0)
                        deviation = fmax(deviation, fabs(mean->of[r] - expected.of[r]) / of[r]);
        return deviation;
}

bool pod_view_list(const struct pod_node *node, const struct kubelet_capacity *capacity,
                   int64_t now_mono_ms, struct pod_usage_list *ret) {
        double deviations[POD_USAGE_MAX];
        const struct measured_pod *pod;
        bool is_known = false;

        ret->count = 0;
        LIST_FOREACH (pod, &node->pods, entry) {
                struct pod_load mean;
                if (!pod->has_uid || !recent_mean(pod, now_mono_ms, &mean))
                        continue;
                is_known = true;
                double deviation = deviation_of(pod, &mean, capacity);
                size_t at = ret->count;
                if (deviation < POD_VIEW_MIN_SHARE)
                        continue;
                while (at > 0 && deviations[at - 1] < deviation)
                        at--;
                if (at == POD_USAGE_MAX)
                        continue;
                ret->count = size_min(ret->count + 1, POD_USAGE_MAX);
                for (size_t i = ret->count - 1; i > at; i--) {
                        ret->pods[i] = ret->pods[i - 1];
                        deviations[i] = deviations[i - 1];
                }
                ret->pods[at] = (struct pod_usage){.uid = pod->uid, .load = mean};
                deviations[at] = deviation;
        }
        return is_known;
}

static void write_load(struct buf *out, const char *key, const struct pod_load *load) {
        json_write_object(out, key);
        json_write_number(out, "cpuCores", load->of[ESTIMATE_CPU], 6);
        json_write_number(out, "memoryBytes", load->of[ESTIMATE_MEM], 6);
        json_write_object_end(out);
}

void pod_view_page(const struct pod_set *set, const char *name, int64_t now_mono_ms,
                   struct buf *out) {
        const struct pod_node *node = pod_set_node(set, name);
        const struct measured_pod *pod;

        json_write_object(out, NULL);
        json_write_text(out, "node", name);
        json_write_array(out, "pods");
        for (pod = node ? LIST_FIRST(&node->pods) : NULL; pod; pod = LIST_NEXT(pod, entry)) {
                struct pod_load mean, usual;
                json_write_object(out, NULL);
                json_write_text(out, "name", pod->name);
                if (pod->workload)
                        json_write_text_len(out, "workload", pod->workload->name,
                                            pod->workload->name_len);
                write_load(out, "request", &pod->request);
                if (recent_mean(pod, now_mono_ms, &mean))
                        write_load(out, "mean", &mean);
                if (workload_meter_mean(pod->workload, &usual))
                        write_load(out, "workloadMean", &usual);
                json_write_object_end(out);
        }
        json_write_array_end(out);
        json_write_object_end(out);
        (void)buf_putc(out, '\n');
}
