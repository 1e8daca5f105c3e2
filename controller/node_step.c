#include "controller/node_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* Counters are printed with a resolution of 10 ms and added up in floating point: what goes back
 * by less than this has stood still. */
static const double STILL_S = 1e-3;

/* No counter advances by more in one interval: 115 days. Beyond, a page is nonsense; well below,
 * an exporter may run on a clock much faster than ours and still be right. */
static const double ABSURD_S = 1e7;

void node_state_done(struct node_state *state) {
        free(state->cpus);
        free(state->disks);
        *state = NODE_STATE_NULL;
}

size_t node_state_bytes(const struct node_state *state) {
        return sizeof(*state) + state->cpu_count * sizeof(*state->cpus) +
               state->disk_count * sizeof(*state->disks);
}

/* How far a counter went; false when it went back or to absurd places. */
static bool advance(double before_s, double after_s, double *ret_s) {
        double delta_s = after_s - before_s;

        if (delta_s < -STILL_S || delta_s > ABSURD_S)
                return false;
        *ret_s = fmax(delta_s, 0);
        return true;
}

static bool step_cpu(const struct node_state *state, const struct node_reading *reading,
                     double *ret_busy_s, double *ret_total_s) {
        double busy_s = 0, total_s = 0;

        if (state->cpu_count != reading->cpu_count)
                return false;
        for (size_t i = 0; i < reading->cpu_count; i++) {
                const struct node_cpu *before = &state->cpus[i], *after = &reading->cpus[i];
                double busy = 0, idle = 0;
                if (before->id != after->id || before->modes != after->modes ||
                    !advance(before->busy_s, after->busy_s, &busy) ||
                    !advance(before->idle_s, after->idle_s, &idle))
                        return false;
                busy_s += busy;
                total_s += busy + idle;
        }
        *ret_busy_s = busy_s;
        *ret_total_s = total_s;
        return total_s > 0; /* not so when an exporter serves the same page again */
}

static bool step_disk(const struct node_state *state, const struct node_reading *reading,
                      double *ret_busiest_s) {
        double busiest_s = 0;

        if (state->disk_count != reading->disk_count)
                return false;
        for (size_t i = 0; i < reading->disk_count; i++) {
                const struct node_device *before = &state->disks[i], *after = &reading->disks[i];
                double busy_s = 0;
                if (before->id != after->id || !advance(before->value, after->value, &busy_s))
                        return false;
                busiest_s = fmax(busiest_s, busy_s);
        }
        *ret_busiest_s = busiest_s;
        return true;
}

static void set_counter(struct window_step *step, enum metric_resource resource, double num,
                        double den) {
        step->counters |= NODE_RESOURCE_BIT(resource);
        step->num[resource] = fmin(num, den);
        step->den[resource] = den;
}

static void set_gauge(struct window_step *step, enum metric_resource resource, double ratio) {
        step->gauges |= NODE_RESOURCE_BIT(resource);
        step->num[resource] = ratio;
}

static void step_counters(const struct node_state *state, const struct node_reading *reading,
                          int64_t now_mono_ms, struct window_step *step) {
        uint32_t both = state->usable & reading->usable;
        double wall_s = (double)(now_mono_ms - state->at_mono_ms) / (double)MS_PER_S;
        double used_s = 0, total_s = 0;

        if (wall_s <= 0)
                return;
        if (both & NODE_RESOURCE_BIT(METRIC_CPU) && step_cpu(state, reading, &used_s, &total_s))
                set_counter(step, METRIC_CPU, used_s, total_s);
        if (both & NODE_RESOURCE_BIT(METRIC_DISK) && step_disk(state, reading, &used_s))
                set_counter(step, METRIC_DISK, used_s, wall_s);
        for (unsigned i = 0; i < 3; i++) {
                if (both & NODE_RESOURCE_BIT(METRIC_PSI_CPU + i) &&
                    advance(state->psi_s[i], reading->psi_s[i], &used_s))
                        set_counter(step, METRIC_PSI_CPU + i, used_s, wall_s);
        }
}

/* Arrays of a node change their length on hotplug alone, so they are cut to fit. */
static void remember(struct node_state *state, const struct node_reading *reading,
                     int64_t now_mono_ms) {
        size_t cpu_count = reading->usable & NODE_RESOURCE_BIT(METRIC_CPU) ? reading->cpu_count : 0;
        size_t disk_count = reading->usable & NODE_RESOURCE_BIT(METRIC_DISK) ? reading->disk_count
                                                                             : 0;

        if (state->cpu_count != cpu_count)
                state->cpus = xreallocarray(state->cpus, cpu_count, sizeof(*state->cpus));
        if (state->disk_count != disk_count)
                state->disks = xreallocarray(state->disks, disk_count, sizeof(*state->disks));
        if (cpu_count > 0)
                memcpy(state->cpus, reading->cpus, cpu_count * sizeof(*state->cpus));
        if (disk_count > 0)
                memcpy(state->disks, reading->disks, disk_count * sizeof(*state->disks));
        state->cpu_count = (uint32_t)cpu_count;
        state->disk_count = (uint32_t)disk_count;
        memcpy(state->psi_s, reading->psi_s, sizeof(state->psi_s));
        state->usable = reading->usable;
        state->at_mono_ms = now_mono_ms;
}

uint32_t node_step_take(struct node_state *state, const struct node_reading *reading,
                        int64_t now_mono_ms, struct window_step *ret_step) {
        ret_step->at_mono_ms = now_mono_ms;
        ret_step->counters = ret_step->gauges = ret_step->means = 0;
        step_counters(state, reading, now_mono_ms, ret_step);
        if (reading->usable & NODE_RESOURCE_BIT(METRIC_MEM))
                set_gauge(ret_step, METRIC_MEM, reading->mem_ratio);
        if (reading->usable & NODE_RESOURCE_BIT(METRIC_LOAD))
                set_gauge(ret_step, METRIC_LOAD, reading->load_ratio);

        uint32_t dropped = state->usable & ~(ret_step->counters | ret_step->gauges);
        remember(state, reading, now_mono_ms);
        return dropped;
}
