/*
 * Koordinator's koord-descheduler with LowNodeLoad, as its code has it
 * (pkg/descheduler/framework/plugins/loadaware at 5e79a288 and 0d5f65b9, what is configured by
 * default in apis/config/v1alpha2/defaults.go at 038060a0):
 *
 *     when   once a minute (https://koordinator.sh/docs/user-manuals/load-aware-descheduling). Some
 *            node is at or below the low threshold but not all are
 *     nodes  above the high threshold in more than 5 cycles (utils/anomaly). A cycle between the
 *            thresholds does not reset that, 5 minutes between them do. Most used first, while the
 *            nodes below the low threshold have room up to the high one
 *     pods   that fit on a node below the low threshold, by requests and by usage; each pod that is
 *            looked at takes its usage from that node's room. Pods without requests first, then
 *            those that best cover what is above the threshold (utils/sorter at 298ae4c9, 68526fc9)
 *     stop   when the node is at or below the high threshold. The next pod needs 6 cycles again
 *     never  the only pod of a workload; more than 10% of a workload within 5 minutes (2 of 4 to 10
 *            pods, 1 of fewer), or while as many of its pods do not run
 *            (controllers/migration/util/util.go at 4f16162d, arbitrator/filter.go at 0a30c7ba)
 *
 * koordlet reports means of 5 minutes for nodes and pods, which expire after 180 s. The thresholds
 * are 45% and 65% of the CPU; its scheduler has the same 65%. Koordinator reserves room before it
 * evicts. Here the pod is evicted, and then the scheduler places its successor.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "evictor.h"
#include "meters.h"
#include "present.h"

enum {
        EXPIRES_S = 180,
        CYCLES = 5,
        FORGOTTEN_S = 300,
        LIMITED_S = 300, /* what a workload may lose in that time */
        POD_WINDOW_S = 300,
        REPORT_S = 60, /* a pod that runs for less time is in no report */
};

static const double LOW_RATIO = 0.45, HIGH_RATIO = 0.65;

/* A node, in a cycle. */
struct target {
        enum { LEVEL_UNKNOWN, LEVEL_LOW, LEVEL_NORMAL, LEVEL_HIGH } level;
        double used_cores, high_cores;
        double used_ratio; /* of CPU and memory, their mean */
};

/* How long a node has been above the high threshold. */
struct suspicion {
        size_t cycles;
        int64_t last_s;
};

/* A pod that may be evicted. */
struct choice {
        struct pod *pod;
        double used_cores, score;
};

struct low_node_load {
        const struct world *world;
        struct meters *meters;
        struct suspicion *suspicions; /* [node] */
        double *limited_s;            /* [workload]: when all that it has lost has worn off */
        struct target *nodes;         /* [node] */
        size_t *sources;
        /* of the cycle */
        struct present present;
        size_t *leaving;   /* [workload]: pods that are evicted */
        double room_cores; /* of the nodes below the low threshold */
};

static void *new (const struct evictor *evictor, const struct world *world) {
        struct low_node_load *load = xcalloc(1, sizeof(*load));

        (void)evictor;
        load->world = world;
        load->meters = meters_new(world, METERS_KOORDLET);
        load->suspicions = xcalloc(world->node_count, sizeof(*load->suspicions));
        load->limited_s = xcalloc(world->workload_count, sizeof(*load->limited_s));
        load->nodes = xcalloc(world->node_count, sizeof(*load->nodes));
        load->sources = xcalloc(world->node_count, sizeof(*load->sources));
        return load;
}

static void free_low_node_load(void *self) {
        struct low_node_load *load = self;

        meters_free(load->meters);
        free(load->suspicions);
        free(load->limited_s);
        free(load->nodes);
        free(load->sources);
        free(load);
}

static void on_second(void *self) {
        const struct low_node_load *load = self;

        meters_step(load->meters);
}

static struct target look_at(const struct low_node_load *load, size_t n) {
        const struct meter meter = meters_get(load->meters, n);
        double cores = load->world->nodes[n].cores, cpu = meter.ratio[METER_CPU];
        struct target target = {
                .used_cores = cpu * cores,
                .high_cores = HIGH_RATIO * cores,
                .used_ratio = (cpu + meter.ratio[METER_MEM]) / 2,
        };

        if (meter.is_known && load->world->now_s - meter.at_s < EXPIRES_S)
                target.level = cpu > HIGH_RATIO  ? LEVEL_HIGH
                               : cpu > LOW_RATIO ? LEVEL_NORMAL
                                                 : LEVEL_LOW;
        return target;
}

/* Return: whether it has been above the high threshold for long enough */
static bool suspect(struct low_node_load *load, size_t n) {
        struct suspicion *suspicion = &load->suspicions[n];
        int64_t now_s = load->world->now_s;

        if (now_s - suspicion->last_s > FORGOTTEN_S)
                suspicion->cycles = 0;
        suspicion->last_s = now_s;
        if (++suspicion->cycles <= CYCLES)
                return false;
        suspicion->cycles = 0;
        return true;
}

static void find_levels(struct low_node_load *load, size_t *ret_low, size_t *ret_present) {
        *ret_low = *ret_present = 0;
        load->room_cores = 0;
        for (size_t n = 0; n < load->world->node_count; n++) {
                struct target *node = &load->nodes[n];
                bool is_there = world_has_node(load->world, n);
                *node = is_there ? look_at(load, n) : (struct target){0};
                *ret_present += is_there;
                if (node->level != LEVEL_LOW)
                        continue;
                ++*ret_low;
                load->room_cores += node->high_cores - node->used_cores;
        }
}

/* Return: how many nodes pods are to leave, the most used first */
static size_t find_sources(struct low_node_load *load) {
        size_t low = 0, present = 0, count = 0;

        find_levels(load, &low, &present);
        for (size_t n = 0; n < load->world->node_count; n++) {
                if (low > 0 && load->nodes[n].level == LEVEL_LOW)
                        load->suspicions[n].cycles = 0;
                if (low == 0 || low == present || load->nodes[n].level != LEVEL_HIGH ||
                    !suspect(load, n))
                        continue;
                size_t at = count++;
                for (; at > 0 &&
                       load->nodes[load->sources[at - 1]].used_ratio < load->nodes[n].used_ratio;
                     at--)
                        load->sources[at] = load->sources[at - 1];
                load->sources[at] = n;
        }
        return count;
}

/* On a node below the low threshold, which is left with so much less room for the next. */
static bool finds_room(struct low_node_load *load, const struct pod *pod, double used_cores) {
        const struct pod_request request = pod_request(pod);

        for (size_t n = 0; n < load->world->node_count; n++) {
                struct target *node = &load->nodes[n];
                if (node->level != LEVEL_LOW || node->used_cores + used_cores > node->high_cores ||
                    !world_has_room(load->world, n, &request))
                        continue;
                node->used_cores += used_cores;
                return true;
        }
        return false;
}

static double score_of(const struct pod *pod, double used_cores, double excess_cores) {
        enum { WITHOUT_REQUESTS = 10 }; /* above any other */
        double ratio = used_cores / excess_cores;

        return (pod->request_cores > 0 || pod->request_bytes > 0 ? 0 : WITHOUT_REQUESTS) +
               (ratio < 1 ? ratio : 1 + 1 / ratio);
}

static int compare_choices(const void *a, const void *b) {
        const struct choice *left = a, *right = b;

        return (left->score < right->score) - (left->score > right->score);
}

static size_t find_choices(struct low_node_load *load, size_t n, struct choice *ret) {
        const struct target *node = &load->nodes[n];
        size_t count = 0;

        for (size_t i = 0; i < load->present.count; i++) {
                struct pod *pod = load->present.pods[i];
                if ((size_t)pod->node != n || load->world->now_s - pod->starts_s < REPORT_S ||
                    !present_may_go(&load->present, pod))
                        continue;
                double used_cores = present_used_cores(&load->present, pod, POD_WINDOW_S);
                if (finds_room(load, pod, used_cores))
                        ret[count++] = (struct choice){
                                pod, used_cores,
                                score_of(pod, used_cores, node->used_cores - node->high_cores)};
        }
        if (count > 0)
                qsort(ret, count, sizeof(*ret), compare_choices);
        return count;
}

static size_t most_leaving(size_t replicas) {
        return replicas > 10 ? replicas / 10 : replicas >= 4 ? 2 : 1;
}

/* A token bucket: what the workload has lost wears off evenly. */
static bool may_lose(struct low_node_load *load, uint32_t workload) {
        const struct present_workload *pods = &load->present.workloads[workload];
        size_t most = most_leaving(pods->running + pods->waiting);
        double now_s = (double)load->world->now_s;
        double until_s = fmax(now_s, load->limited_s[workload]) + (double)LIMITED_S / (double)most;

        if (pods->waiting + load->leaving[workload] >= most || until_s > now_s + LIMITED_S)
                return false;
        load->limited_s[workload] = until_s;
        load->leaving[workload]++;
        return true;
}

/* A pod whose workload is at its limit stays, but counts as if it left: its migration waits, and is
 * given up. */
static size_t relieve(struct low_node_load *load, size_t n, struct pod **ret, size_t most) {
        _cleanup_(freep) struct choice *choices = xcalloc(load->present.count + 1,
                                                          sizeof(*choices));
        size_t found = find_choices(load, n, choices), count = 0;
        struct target *node = &load->nodes[n];

        for (size_t i = 0; i < found && count < most && load->room_cores > 0 &&
                           node->used_cores > node->high_cores;
             i++) {
                if (may_lose(load, choices[i].pod->workload))
                        ret[count++] = choices[i].pod;
                node->used_cores -= choices[i].used_cores;
                load->room_cores -= choices[i].used_cores;
        }
        return count;
}

static size_t choose(const struct situation *situation, void *self,
                     struct pod *ret[static EVICTOR_MAX]) {
        struct low_node_load *load = self;
        size_t sources = find_sources(load), count = 0;
        _cleanup_(freep)
                size_t *leaving = xcalloc(situation->world->workload_count, sizeof(*leaving));

        if (sources == 0)
                return 0;
        load->present = present_list(situation->world);
        load->leaving = leaving;
        for (size_t i = 0; i < sources; i++)
                count += relieve(load, load->sources[i], &ret[count], EVICTOR_MAX - count);
        present_done(&load->present);
        return count;
}

const struct evictor evictor_low_node_load = {
        .name = "low-node-load",
        .about = "Koordinator's LowNodeLoad: from 65% to below 45%",
        .every_s = 60,
        .new = new,
        .free = free_low_node_load,
        .on_second = on_second,
        .choose = choose,
};
