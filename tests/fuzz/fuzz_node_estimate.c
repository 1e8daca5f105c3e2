/*
 * Pods that come, start, are measured and go on one node, readings and capacities, in any order and
 * at any time: no usage is negative or not a number, and pods that every window has whole add
 * nothing to their reading.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/attributes.h"
#include "policy/estimate/node_estimate.h"

enum { PODS = 16, WORKLOADS = 3, OP_BYTES = 6, MINUTE_MS = 60000 };

static const double amounts[] = {0, 0.001, 0.1, 1, 2.5, 64, 10000};

struct world {
        struct node_estimate node;
        struct workload_set *workloads;
        struct cluster_load cluster;
        uint64_t pods[PODS]; /* ids; 0: none */
        uint64_t ids;
};

static double amount(uint8_t byte) {
        return amounts[byte % ARRAY_LEN(amounts)];
}

static struct pod_load load_of(const uint8_t *op) {
        return (struct pod_load){{amount(op[2]), amount(op[3]) * 1e9}};
}

static const char *workload_of(const uint8_t *op) {
        static const char *const names[WORKLOADS] = {"d/Job/a", "d/Job/b", "d/Job/c"};

        return names[op[1] % WORKLOADS];
}

static void bind(struct world *world, uint64_t *pod, const uint8_t *op, int64_t at) {
        const struct pod_load load = load_of(op), request = pod_load_counted(&load);
        const char *name = workload_of(op);

        *pod = ++world->ids;
        node_estimate_bind(&world->node,
                           &(struct node_pod){
                                   .id = *pod,
                                   .workload = workload_key(name, op[1] & 0x80 ? strlen(name) : 0),
                                   .runs_unix_ms = op[1] & 0x40 ? NODE_POD_NEVER : at,
                                   .gone_unix_ms = NODE_POD_NEVER,
                                   .request = {(float)request.of[0], (float)request.of[1]},
                                   .own = {-1},
                                   .uid = (uint32_t)*pod,
                           });
}

static void end(struct world *world, uint64_t *pod, int64_t at) {
        node_estimate_end(&world->node, node_estimate_find(&world->node, *pod), at);
        *pod = 0;
}

static void read_node(struct world *world, const uint8_t *op, int64_t at) {
        int64_t window_ms = (1 + op[3] % 9) * MINUTE_MS;
        const struct mean_reading reading = {op[2] / 100.0, at - window_ms, at, window_ms};

        node_estimate_read(&world->node, op[1] % ESTIMATE_RESOURCE_COUNT, &reading);
}

static void measure(struct world *world, uint64_t pod, const uint8_t *op) {
        const struct pod_load load = load_of(op);
        const struct workload_measure measure = {.mean = load, .spread = load, .request = load};

        if (op[1] & 0x80)
                node_estimate_measure(&world->node, (uint32_t)pod, &load);
        else if (op[1] & 0x40)
                node_estimate_forget_measured(&world->node);
        else
                workload_set_measure(world->workloads, 0, workload_of(op), strlen(workload_of(op)),
                                     &measure);
}

/* The first four bytes choose, the last two are a time in minutes: 45 days around the epoch. */
static void step(struct world *world, const uint8_t *op) {
        int64_t at = (int64_t)(int16_t)((op[4] << 8) | op[5]) * MINUTE_MS;
        uint64_t *pod = &world->pods[(op[0] >> 4) % PODS];

        switch (op[0] % 5) {
        case 0:
                if (*pod != 0)
                        end(world, pod, at);
                else
                        bind(world, pod, op, at);
                break;
        case 1:
                node_estimate_set_back(&world->node, op[1] * MINUTE_MS, at);
                break;
        case 2:
                read_node(world, op, at);
                break;
        case 3:
                measure(world, *pod, op);
                break;
        default:
                world->node.capacity = load_of(op);
                break;
        }
}

static bool is_whole(const struct world *world, int r) {
        const struct mean_reading *reading = &world->node.readings[r];
        bool is_whole = reading->window_ms > 0;

        for (size_t i = 0; is_whole && i < world->node.pod_count; i++) {
                const struct node_pod *pod = &world->node.pods[i];
                double overlap = node_pod_overlap(pod, reading->begins_unix_ms,
                                                  reading->ends_unix_ms);
                is_whole = pod->gone_unix_ms == NODE_POD_NEVER ? overlap >= 1 : overlap <= 0;
        }
        return is_whole;
}

static void check(const struct world *world) {
        struct node_usage usage[ESTIMATE_RESOURCE_COUNT];

        node_estimate_usage(&world->node, world->workloads, &world->cluster, usage);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                require(isfinite(usage[r].ratio) && usage[r].ratio >= 0);
                require(isfinite(usage[r].margin_ratio) && usage[r].margin_ratio >= 0);
                require(isfinite(usage[r].base_ratio));
                if (world->node.capacity.of[r] > 0 && is_whole(world, r))
                        require(!(usage[r].ratio < world->node.readings[r].ratio ||
                                  usage[r].ratio > world->node.readings[r].ratio));
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
                if (world.pods[i] != 0)
                        end(&world, &world.pods[i], 0);
        node_estimate_done(&world.node);
        workload_set_free(world.workloads);
        return 0;
}
