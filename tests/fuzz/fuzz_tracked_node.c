/*
 * Pods that come, start and go on one node, readings and capacities, in any order and at any time:
 * no usage, base or variance is negative or not a number, and the sums are those of the pods.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/attributes.h"
#include "policy/estimate/tracked_node.h"

enum { PODS = 16, WORKLOADS = 3, OP_BYTES = 6, MINUTE_MS = 60000 };

static const double amounts[] = {0, 0.001, 0.1, 1, 2.5, 64, 10000};

struct bound_pod {
        uint64_t id; /* 0: none */
        struct pod_load request;
};

struct world {
        struct tracked_node node;
        struct workload_set *workloads;
        struct cluster_load cluster;
        struct bound_pod pods[PODS];
        uint64_t ids;
};

static double amount(uint8_t byte) {
        return amounts[byte % ARRAY_LEN(amounts)];
}

static void bind(struct world *world, struct bound_pod *pod, const uint8_t *op, int64_t at) {
        static const char *const names[WORKLOADS] = {"d/Job/a", "d/Job/b", "d/Job/c"};
        const char *name = names[op[1] % WORKLOADS];
        struct workload *workload = NULL;

        *pod = (struct bound_pod){
                .id = ++world->ids,
                .request = {{amount(op[2]), amount(op[3]) * 1e9}},
        };
        if (op[1] & 0x80)
                workload = workload_set_get(world->workloads, name, strlen(name), &pod->request);
        tracked_node_bind(&world->node, pod->id, workload, &pod->request,
                          op[1] & 0x40 ? TRACKED_NEVER : at, &world->cluster);
        workload_unref(world->workloads, workload);
}

static void end(struct world *world, struct bound_pod *pod, int64_t at) {
        tracked_node_end(&world->node, world->workloads, pod->id, &pod->request, at);
        *pod = (struct bound_pod){0};
}

static void read_node(struct world *world, const uint8_t *op, int64_t at) {
        int64_t window_ms = (1 + op[3] % 9) * MINUTE_MS, shorter_ms = (1 + op[3] / 16) * MINUTE_MS;
        const struct tracked_reading reading = {op[2] / 100.0, at - window_ms, at, window_ms},
                                     shorter = {op[1] / 200.0, at - shorter_ms, at, shorter_ms};

        tracked_node_read(&world->node, world->workloads, op[1] % ESTIMATE_RESOURCE_COUNT, &reading,
                          op[1] & 0x80 ? &shorter : NULL, &world->cluster);
}

static void resize(struct world *world, struct bound_pod *pod, const uint8_t *op) {
        const struct pod_load from = pod_load_counted(&pod->request);

        pod->request = (struct pod_load){{amount(op[2]), amount(op[3]) * 1e9}};
        const struct pod_load to = pod_load_counted(&pod->request);
        tracked_node_resize(&world->node, pod->id, &from, &to, &world->cluster);
}

/* The first four bytes choose, the last two are a time in minutes: 45 days around the epoch. */
static void step(struct world *world, const uint8_t *op) {
        int64_t at = (int64_t)(int16_t)((op[4] << 8) | op[5]) * MINUTE_MS;
        struct bound_pod *pod = &world->pods[(op[0] >> 4) % PODS];

        switch (op[0] % 4) {
        case 0:
                if (pod->id != 0)
                        end(world, pod, at);
                else
                        bind(world, pod, op, at);
                break;
        case 1:
                if (op[1] & 0x20)
                        resize(world, pod, op);
                (void)tracked_node_start(&world->node, pod->id, at);
                break;
        case 2:
                read_node(world, op, at);
                break;
        default:
                world->node.capacity = (struct pod_load){{amount(op[2]), amount(op[3]) * 1e9}};
                break;
        }
}

static void check(const struct world *world) {
        struct pod_load used = {0};

        for (size_t i = 0; i < world->node.pod_count; i++)
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                        const struct tracked_pod *pod = &world->node.pods[i];
                        require(isfinite(pod->used[r]) && pod->used[r] >= 0);
                        require(isfinite(pod->variance[r]) && pod->variance[r] >= 0);
                        if (pod->gone_unix_ms == TRACKED_NEVER)
                                used.of[r] += (double)pod->used[r];
                }
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double ratio = tracked_node_usage_ratio(&world->node, r, &world->cluster);
                require(isfinite(ratio) && ratio >= 0);
                require(world->node.base.of[r] >= 0 && world->node.base_variance.of[r] >= 0);
                require(fabs(used.of[r] - world->node.pods_used.of[r]) <= 1e-3 * (1 + used.of[r]));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct world world = {.workloads = workload_set_new()};

        pod_load_factor_init(&world.cluster.factor);
        for (size_t i = 0; i + OP_BYTES <= size; i += OP_BYTES) {
                step(&world, data + i);
                check(&world);
        }
        for (size_t i = 0; i < PODS; i++)
                if (world.pods[i].id != 0)
                        end(&world, &world.pods[i], 0);
        tracked_node_done(&world.node, world.workloads);
        workload_set_free(world.workloads);
        return 0;
}
