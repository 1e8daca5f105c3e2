/*
 * Pods that come and go on one node, readings and capacities, in any order and at any time: what is
 * in flight is kept as it would be counted anew, and no usage is negative or not a number.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/attributes.h"
#include "policy/estimate/inflight.h"

enum { PODS = 16, WORKLOADS = 3, OP_BYTES = 6, MINUTE_MS = 60000 };

#define PROPERTY(holds)                                                                            \
        do {                                                                                       \
                if (!(holds))                                                                      \
                        abort();                                                                   \
        } while (0)

static const double amounts[] = {0, 0.001, 0.1, 1, 2.5, 64, 10000};

struct world {
        struct inflight node;
        struct workload_set *workloads;
        struct load_factor factor;
        struct inflight_pod pods[PODS]; /* bound while gone_unix_ms is INFLIGHT_LIVE */
        uint64_t ids;
};

static double amount(uint8_t byte) {
        return amounts[byte % ARRAY_LEN(amounts)];
}

static void bind(struct world *world, struct inflight_pod *pod, const uint8_t *op, int64_t at) {
        static const char *const names[WORKLOADS] = {"d/Job/a", "d/Job/b", "d/Job/c"};
        const char *name = names[op[1] % WORKLOADS];

        *pod = (struct inflight_pod){
                .id = ++world->ids,
                .request = {{amount(op[2]), amount(op[3]) * 1e9}},
                .bound_unix_ms = at,
                .gone_unix_ms = INFLIGHT_LIVE,
        };
        if (op[1] & 0x80)
                pod->workload = workload_set_get(world->workloads, name, strlen(name),
                                                 &pod->request, &world->factor);
        inflight_bind(&world->node, world->workloads, pod, &world->factor);
}

static void end(struct world *world, struct inflight_pod *pod, int64_t at) {
        pod->gone_unix_ms = at;
        inflight_end(&world->node, world->workloads, pod, &world->factor);
        workload_unref(world->workloads, pod->workload);
        *pod = (struct inflight_pod){0};
}

static bool is_bound(const struct inflight_pod *pod) {
        return pod->id != 0;
}

/* The first four bytes choose, the last two are a time in minutes: 45 days around the epoch. */
static void step(struct world *world, const uint8_t *op) {
        int64_t at = (int64_t)(int16_t)((op[4] << 8) | op[5]) * MINUTE_MS;
        struct inflight_pod *pod = &world->pods[(op[0] >> 4) % PODS];

        switch (op[0] % 4) {
        case 0:
                if (is_bound(pod))
                        end(world, pod, at);
                else
                        bind(world, pod, op, at);
                break;
        case 1:
                if (is_bound(pod))
                        inflight_bind(&world->node, world->workloads, pod,
                                      &world->factor); /* once more */
                break;
        case 2:
                inflight_read(&world->node, world->workloads, op[1] % ESTIMATE_RESOURCE_COUNT,
                              &(struct inflight_reading){.ratio = op[2] / 100.0,
                                                         .ends_unix_ms = at,
                                                         .window_ms = (1 + op[3] % 9) * MINUTE_MS},
                              &world->factor);
                break;
        default:
                world->node.capacity = (struct pod_load){{amount(op[2]), amount(op[3]) * 1e9}};
                break;
        }
}

static void check(const struct world *world) {
        struct inflight anew = world->node; /* its arrays are only read */

        inflight_recount(&anew, &world->factor);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double scale = 1 + fabs(anew.requested.of[r]) + fabs(anew.k.of[r]);
                double used = inflight_usage_ratio(&world->node, r, &world->factor);
                PROPERTY(fabs(anew.k.of[r] - world->node.k.of[r]) <= 1e-6 * scale * PODS);
                PROPERTY(isfinite(used) && used >= 0);
                PROPERTY(world->node.requested.of[r] >= 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct world world = {.workloads = workload_set_new()};

        pod_load_factor_init(&world.factor);
        for (size_t i = 0; i + OP_BYTES <= size; i += OP_BYTES) {
                step(&world, data + i);
                check(&world);
        }
        for (size_t i = 0; i < PODS; i++)
                if (is_bound(&world.pods[i]))
                        end(&world, &world.pods[i], 0);
        inflight_done(&world.node, world.workloads);
        workload_set_free(world.workloads);
        return 0;
}
