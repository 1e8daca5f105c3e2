#include "controller/exposition/node_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* Counters are printed with a resolution of 10 ms and added up in floating point: what goes back
 * by less than this has stood still. */
static const double STILL_S = 1e-3;

/* No counter advances by more in one interval: 115 days. Beyond, an exposition is nonsense; well
 * below, an exporter may run on a clock much faster than ours and still be right. */
static const double ABSURD_S = 1e7;

/* How far the time of a CPU may be from ours: expositions overtake each other, and kernels lose
 * ticks. */
static const double SLACK_S = 2, SLACK = 0.1;

void node_state_forget_own(struct node_state *state) {
        for (size_t i = 0; state->own && i < POLICY_MAX_RESOURCES; i++)
                free(state->own->series[i]);
        free(TAKE_PTR(state->own));
        state->usable &= NODE_READING_RESOURCES;
}

void node_state_done(struct node_state *state) {
        node_state_forget_own(state);
        free(state->cpus);
        free(state->disks);
        free(state->links);
        *state = NODE_STATE_NULL;
}

size_t node_state_bytes(const struct node_state *state) {
        size_t bytes = sizeof(*state) + state->cpu_count * sizeof(*state->cpus) +
                       state->disk_count * sizeof(*state->disks) +
                       state->link_count * sizeof(*state->links);

        if (state->own)
                bytes += sizeof(*state->own);
        for (size_t i = 0; state->own && i < POLICY_MAX_RESOURCES; i++)
                bytes += state->own->counts[i] * sizeof(*state->own->series[i]);
        return bytes;
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
        return total_s > 0; /* not so when an exporter serves the same exposition again */
}

bool node_state_is_repeated(const struct node_state *state, const struct node_reading *reading) {
        if (!(state->usable & reading->usable & NODE_RESOURCE_BIT(METRIC_CPU)) ||
            state->cpu_count != reading->cpu_count)
                return false;
        for (size_t i = 0; i < reading->cpu_count; i++) {
                const struct node_cpu *before = &state->cpus[i], *after = &reading->cpus[i];
                if (before->id != after->id || before->modes != after->modes ||
                    before->idle_s < after->idle_s || before->idle_s > after->idle_s ||
                    before->busy_s < after->busy_s || before->busy_s > after->busy_s)
                        return false;
        }
        return true;
}

bool node_state_is_continued(const struct node_state *state, const struct node_reading *reading,
                             int64_t now_mono_ms) {
        double wall_s = (double)(now_mono_ms - state->at_mono_ms) / (double)MS_PER_S;

        if (!(state->usable & reading->usable & NODE_RESOURCE_BIT(METRIC_CPU)) ||
            state->cpu_count != reading->cpu_count)
                return false;
        for (size_t i = 0; i < reading->cpu_count; i++) {
                double idle_s = reading->cpus[i].idle_s - state->cpus[i].idle_s;
                double busy_s = reading->cpus[i].busy_s - state->cpus[i].busy_s;
                if (idle_s < -SLACK_S || busy_s < -SLACK_S ||
                    fabs(idle_s + busy_s - wall_s) > SLACK_S + SLACK * wall_s)
                        return false;
        }
        return true;
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

/* Seconds that the busiest device would have needed at its full speed, by direction. */
static bool step_network(const struct node_state *state, const struct node_reading *reading,
                         double *ret_received_s, double *ret_sent_s) {
        double received_s = 0, sent_s = 0;

        if (state->link_count != reading->link_count)
                return false;
        for (size_t i = 0; i < reading->link_count; i++) {
                const struct node_link *before = &state->links[i], *after = &reading->links[i];
                double speed_bytes = after->speed_bytes, received = 0, sent = 0;
                if (before->id != after->id ||
                    !advance(before->received_bytes / speed_bytes,
                             after->received_bytes / speed_bytes, &received) ||
                    !advance(before->sent_bytes / speed_bytes, after->sent_bytes / speed_bytes,
                             &sent))
                        return false;
                received_s = fmax(received_s, received);
                sent_s = fmax(sent_s, sent);
        }
        *ret_received_s = received_s;
        *ret_sent_s = sent_s;
        return true;
}

/* A counter of the policy's own: used of its capacity, as a share of the time. */
static bool step_own(const struct node_own_state *state, unsigned i,
                     const struct policy_resource *resource, const struct node_own *own,
                     double wall_s, double *ret_ratio) {
        _cleanup_(freep) struct node_device *deltas = NULL;

        if (!state || state->counts[i] != own->series_count)
                return false;
        deltas = xreallocarray(NULL, own->series_count, sizeof(*deltas));
        for (size_t s = 0; s < own->series_count; s++) {
                deltas[s].value = own->series[s].value - state->series[i][s].value;
                if (own->series[s].id != state->series[i][s].id || deltas[s].value < 0)
                        return false;
        }
        double rate = node_resource_reduce(resource->reduce, deltas, own->series_count) / wall_s;
        return node_resource_ratio(rate, own->capacity, ret_ratio);
}

static void set_counter(struct window_step *step, unsigned resource, double num, double den) {
        step->counters |= NODE_RESOURCE_BIT(resource);
        step->num[resource] = fmin(num, den);
        step->den[resource] = den;
}

static void set_gauge(struct window_step *step, unsigned resource, double ratio) {
        step->gauges |= NODE_RESOURCE_BIT(resource);
        step->num[resource] = ratio;
}

/* What all counters of one step share. */
struct interval {
        const struct node_state *state;
        const struct node_reading *reading;
        double wall_s;
};

static bool step_link(const struct interval *interval, unsigned resource, double *ret_used_s) {
        double received_s = 0, sent_s = 0;

        if (!step_network(interval->state, interval->reading, &received_s, &sent_s))
                return false;
        *ret_used_s = resource == METRIC_NET_RX   ? received_s
                      : resource == METRIC_NET_TX ? sent_s
                                                  : fmax(received_s, sent_s);
        return true;
}

static void step_built_in(const struct interval *interval, unsigned resource,
                          struct window_step *step) {
        const struct node_state *state = interval->state;
        const struct node_reading *reading = interval->reading;
        double used_s = 0, total_s = interval->wall_s;
        bool ok;

        switch (metric_resource_rows[resource].kind) {
        case METRIC_KIND_CPU:
                ok = step_cpu(state, reading, &used_s, &total_s);
                break;
        case METRIC_KIND_TIME:
                ok = advance(state->seconds[resource], reading->values[resource], &used_s);
                break;
        case METRIC_KIND_DISK:
                ok = step_disk(state, reading, &used_s);
                break;
        case METRIC_KIND_NETWORK:
                ok = step_link(interval, resource, &used_s);
                break;
        case METRIC_KIND_SHARE:
        case METRIC_KIND_PER_CPU:
        case METRIC_KIND_FILESYSTEM:
        default:
                return;
        }
        if (ok)
                set_counter(step, resource, used_s, total_s);
}

static void step_counters(const struct node_state *state, const struct node_wants *wants,
                          const struct node_reading *reading, int64_t now_mono_ms,
                          struct window_step *step) {
        const struct interval interval = {
                .state = state,
                .reading = reading,
                .wall_s = (double)(now_mono_ms - state->at_mono_ms) / (double)MS_PER_S,
        };
        uint32_t both = state->usable & reading->usable;
        double ratio = 0;

        if (interval.wall_s <= 0)
                return;
        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++)
                if (both & NODE_RESOURCE_BIT(r))
                        step_built_in(&interval, r, step);
        for (unsigned i = 0; i < wants->own_count; i++) {
                if (both >> METRIC_RESOURCE_COUNT >> i & 1 &&
                    wants->own[i].type == POLICY_COUNTER &&
                    step_own(state->own, i, &wants->own[i], &reading->own[i], interval.wall_s,
                             &ratio))
                        set_counter(step, METRIC_RESOURCE_COUNT + i, ratio * interval.wall_s,
                                    interval.wall_s);
        }
}

static void set_gauges(const struct node_wants *wants, const struct node_reading *reading,
                       struct window_step *step) {
        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++)
                if (reading->usable & NODE_RESOURCE_BIT(r) && metric_resource_is_gauge(r))
                        set_gauge(step, r, reading->values[r]);
        for (unsigned i = 0; i < wants->own_count; i++)
                if (reading->usable >> METRIC_RESOURCE_COUNT >> i & 1 &&
                    wants->own[i].type == POLICY_GAUGE)
                        set_gauge(step, METRIC_RESOURCE_COUNT + i, reading->own[i].ratio);
}

static void remember_own(struct node_state *state, const struct node_wants *wants,
                         const struct node_reading *reading) {
        for (unsigned i = 0; i < wants->own_count; i++) {
                bool is_usable = reading->usable >> METRIC_RESOURCE_COUNT >> i & 1;
                size_t count = is_usable ? reading->own[i].series_count : 0;
                if (wants->own[i].type != POLICY_COUNTER || (count == 0 && !state->own))
                        continue;
                if (!state->own)
                        state->own = xcalloc(1, sizeof(*state->own));
                struct node_device **series = &state->own->series[i];
                if (state->own->counts[i] != count)
                        *series = xreallocarray(*series, count, sizeof(**series));
                if (count > 0)
                        memcpy(*series, reading->own[i].series, count * sizeof(**series));
                state->own->counts[i] = (uint32_t)count;
        }
}

/* Arrays of a node change their length only on hotplug, so they are cut to fit. */
static void remember(struct node_state *state, const struct node_wants *wants,
                     const struct node_reading *reading, int64_t now_mono_ms) {
        size_t cpu_count = reading->usable & NODE_RESOURCE_BIT(METRIC_CPU) ? reading->cpu_count : 0;
        size_t disk_count = reading->usable & NODE_RESOURCE_BIT(METRIC_DISK) ? reading->disk_count
                                                                             : 0;
        size_t link_count = reading->usable & NODE_NETWORK_RESOURCES ? reading->link_count : 0;

        if (state->cpu_count != cpu_count)
                state->cpus = xreallocarray(state->cpus, cpu_count, sizeof(*state->cpus));
        if (state->disk_count != disk_count)
                state->disks = xreallocarray(state->disks, disk_count, sizeof(*state->disks));
        if (state->link_count != link_count)
                state->links = xreallocarray(state->links, link_count, sizeof(*state->links));
        if (cpu_count > 0)
                memcpy(state->cpus, reading->cpus, cpu_count * sizeof(*state->cpus));
        if (disk_count > 0)
                memcpy(state->disks, reading->disks, disk_count * sizeof(*state->disks));
        if (link_count > 0)
                memcpy(state->links, reading->links, link_count * sizeof(*state->links));
        state->cpu_count = (uint32_t)cpu_count;
        state->disk_count = (uint32_t)disk_count;
        state->link_count = (uint32_t)link_count;
        remember_own(state, wants, reading);
        memcpy(state->seconds, reading->values, sizeof(state->seconds));
        state->usable = reading->usable;
        state->at_mono_ms = now_mono_ms;
}

uint32_t node_state_step(struct node_state *state, const struct node_wants *wants,
                         const struct node_reading *reading, int64_t now_mono_ms,
                         struct window_step *ret_step) {
        ret_step->at_mono_ms = now_mono_ms;
        ret_step->counters = ret_step->gauges = ret_step->means = 0;
        step_counters(state, wants, reading, now_mono_ms, ret_step);
        set_gauges(wants, reading, ret_step);

        uint32_t dropped = state->usable & ~(ret_step->counters | ret_step->gauges);
        remember(state, wants, reading, now_mono_ms);
        return dropped;
}
