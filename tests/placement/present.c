#include "present.h"

#include <stdlib.h>

#include "base/mem.h"
#include "usage.h"

enum { SAMPLE_S = 15 };

static void add(struct present *present, struct pod *pod) {
        struct present_workload *workload = &present->workloads[pod->workload];

        if (pod->has_ended)
                return;
        if (pod->bound_s >= 0 && pod->starts_s <= present->world->now_s)
                workload->running++;
        else
                workload->waiting++;
        if (pod->bound_s >= 0)
                present->pods[present->count++] = pod;
}

struct present present_list(const struct world *world) {
        struct present present = {.world = world};

        present.pods = xcalloc(world->arrived + world->renewed + 1, sizeof(*present.pods));
        present.workloads = xcalloc(world->workload_count, sizeof(*present.workloads));
        for (size_t i = 0; i < world->arrived; i++)
                add(&present, &world->pods[i]);
        for (size_t i = 0; i < world->renewed; i++)
                add(&present, &world->pods[world->pod_count + i]);
        return present;
}

void present_done(struct present *present) {
        free(present->pods);
        free(present->workloads);
}

double present_used_cores(const struct present *present, const struct pod *pod, int64_t window_s) {
        const struct world *world = present->world;
        const struct node *node = &world->nodes[pod->node];
        double sum = 0, samples = 0;

        for (int64_t at_s = world->now_s; at_s > world->now_s - window_s && at_s >= pod->starts_s;
             at_s -= SAMPLE_S, samples++)
                sum += usage_cores_at(pod, at_s);
        return samples > 0 ? sum / samples / node->speed / world_slowdown(world, (size_t)pod->node)
                           : 0;
}
