#include "controller/exposition/node_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* Counters have a resolution of 10 ms and are added in floating point: a smaller step backwards is
 * ignored. */
static const double STILL_S = 1e-3;

/* No counter advances by more than this in one interval: 115 days. A larger step is nonsense. A
 * smaller one may come from an exporter whose clock is much faster than ours. */
static const double ABSURD_S = 1e7;

/* A CPU's idle time and I/O wait may go back by a few ticks of 10 ms, when the kernel corrects the
 * time of a CPU that did not sleep after all. */
static const double BACK_S = 0.1;

/* The minimum share of the time that passed on a node's CPUs; see the header. */
static const double KNOWN_SHARE = 0.45;

/* How far the time of a CPU may differ from ours: expositions can overtake each other, and kernels
 * lose ticks. */
static const double SLACK_S = 2, SLACK = 0.1;

static void forget_series(struct node_state *state, unsigned begin) {
        for (unsigned r = begin; state->series && r < WINDOW_MAX_CHANNELS; r++) {
                free(TAKE_PTR(state->series->series[r]));
                state->series->counts[r] = 0;
        }
}

void node_state_forget_own(struct node_state *state) {
        forget_series(state, METRIC_RESOURCE_COUNT);
        state->usable &= NODE_READING_RESOURCES;
}

void node_state_done(struct node_state *state) {
        forget_series(state, 0);
        free(state->series);
        free(state->cpus);
        free(state->links);
        *state = NODE_STATE_NULL;
}

/* The advance of a counter; false if it went backwards or too far. */
static bool advance(double before_s, double after_s, double max_s, double *ret_s) {
        double delta_s = after_s - before_s;

        if (delta_s < -STILL_S || delta_s > max_s)
                return false;
        *ret_s = fmax(delta_s, 0);
        return true;
}

static const char not_comparable[] = "its counters are new or were reset since the last scrape";

/* Two readings of a node. */
struct interval {
        const struct node_state *before;
        const struct node_reading *after;
        const struct node_wants *wants;
        double wall_s;
};

/* The step_* functions return NULL, or why there is no value. */

/* A CPU that was switched off stays on the page. Its counters stand still, in all modes; those of a
 * CPU that runs never do, since they include idle time. */
static bool is_still(const struct node_cpu *before, const struct node_cpu *after) {
        return before->id == after->id && before->modes == after->modes &&
               before->idle_s >= after->idle_s && before->idle_s <= after->idle_s &&
               before->busy_s >= after->busy_s && before->busy_s <= after->busy_s;
}

/* How many of the reading's CPUs are on. */
static size_t count_running(const struct node_state *state, const struct node_reading *reading) {
        size_t count = reading->cpu_count;

        for (size_t i = 0, b = 0; i < reading->cpu_count && b < state->cpu_count; b++) {
                while (i < reading->cpu_count && reading->cpus[i].id < state->cpus[b].id)
                        i++;
                count -= i < reading->cpu_count && is_still(&state->cpus[b], &reading->cpus[i]);
        }
        return count;
}

/* CPUs are not clamped individually: a small step backwards corrects an earlier value, so the sums
 * are right. */
static const char *step_cpu(const struct interval *interval, double *ret_busy_s,
                            double *ret_total_s) {
        const struct node_state *state = interval->before;
        const struct node_reading *reading = interval->after;
        double busy_s = 0, total_s = 0;

        for (size_t i = 0, b = 0; i < reading->cpu_count; i++) {
                const struct node_cpu *after = &reading->cpus[i];
                while (b < state->cpu_count && state->cpus[b].id < after->id)
                        b++;
                if (b == state->cpu_count)
                        break;
                const struct node_cpu *before = &state->cpus[b];
                double busy = after->busy_s - before->busy_s;
                double idle = after->idle_s - before->idle_s;
                if (before->id != after->id || before->modes != after->modes ||
                    fmin(busy, idle) < -BACK_S || fmax(busy, idle) > ABSURD_S)
                        continue;
                busy_s += busy;
                total_s += busy + idle;
        }
        size_t running = count_running(state, reading);
        if (running == 0 || total_s < KNOWN_SHARE * interval->wall_s * (double)running)
                return "its CPU time does not add up to the time between two scrapes";
        *ret_busy_s = fmax(busy_s, 0);
        *ret_total_s = total_s;
        return NULL;
}

/* Do both readings have CPUs, and the same number? */
static bool has_as_many_cpus(const struct node_state *state, const struct node_reading *reading) {
        return (state->usable & reading->usable & NODE_RESOURCE_BIT(METRIC_CPU)) &&
               state->cpu_count == reading->cpu_count;
}

bool node_state_is_repeated(const struct node_state *state, const struct node_reading *reading) {
        return has_as_many_cpus(state, reading) && count_running(state, reading) == 0;
}

bool node_state_is_continued(const struct node_state *state, const struct node_reading *reading,
                             int64_t now_mono_ms) {
        double wall_s = (double)(now_mono_ms - state->at_mono_ms) / (double)MS_PER_S;

        if (!has_as_many_cpus(state, reading))
                return false;
        for (size_t i = 0; i < reading->cpu_count; i++) {
                double idle_s = reading->cpus[i].idle_s - state->cpus[i].idle_s;
                double busy_s = reading->cpus[i].busy_s - state->cpus[i].busy_s;
                if (is_still(&state->cpus[i], &reading->cpus[i]))
                        continue;
                if (idle_s < -SLACK_S || busy_s < -SLACK_S ||
                    fabs(idle_s + busy_s - wall_s) > SLACK_S + SLACK * wall_s)
                        return false;
        }
        return true;
}

/* The seconds that the busiest device would need at full speed. */
static const char *step_network(const struct node_state *state, const struct node_reading *reading,
                                unsigned resource, double *ret_busiest_s) {
        double received_s = -1, sent_s = -1;

        for (size_t i = 0, b = 0; i < reading->link_count; i++) {
                const struct node_link *after = &reading->links[i];
                while (b < state->link_count && state->links[b].id < after->id)
                        b++;
                if (b == state->link_count)
                        break;
                const struct node_link *before = &state->links[b];
                double speed_bytes = after->speed_bytes, received = 0, sent = 0;
                if (before->id != after->id ||
                    !advance(before->received_bytes / speed_bytes,
                             after->received_bytes / speed_bytes, ABSURD_S, &received) ||
                    !advance(before->sent_bytes / speed_bytes, after->sent_bytes / speed_bytes,
                             ABSURD_S, &sent))
                        continue;
                received_s = fmax(received_s, received);
                sent_s = fmax(sent_s, sent);
        }
        if (received_s < 0)
                return not_comparable;
        *ret_busiest_s = resource == METRIC_NET_RX   ? received_s
                         : resource == METRIC_NET_TX ? sent_s
                                                     : fmax(received_s, sent_s);
        return NULL;
}

/* The advances of the series that can be compared. Built-in series count seconds. Return: how many
 * there are */
static size_t series_deltas(const struct interval *interval, unsigned resource,
                            struct node_device *ret_deltas) {
        const struct node_series_state *state = interval->before->series;
        const struct series_list *after = interval->after->series[resource];
        double most = resource < METRIC_RESOURCE_COUNT ? ABSURD_S : INFINITY;
        size_t count = 0;

        for (size_t i = 0; state && i < after->count; i++) {
                const struct series_list before = {.count = state->counts[resource],
                                                   .items = state->series[resource]};
                const double *value = series_list_find(&before, after->items[i].id);
                if (value && advance(*value, after->items[i].value, most, &ret_deltas[count].value))
                        count++;
        }
        return count;
}

/* A built-in resource is the busiest series' share of the time. */
static const char *step_series(const struct interval *interval, unsigned resource,
                               double *ret_used_s) {
        size_t all = interval->after->series[resource]->count;
        _cleanup_(freep) struct node_device *deltas = xreallocarray(NULL, all, sizeof(*deltas));
        const struct series_list list = {.count = series_deltas(interval, resource, deltas),
                                         .items = deltas};
        double ratio = 0;

        if (list.count == 0)
                return not_comparable;
        if (resource < METRIC_RESOURCE_COUNT) {
                *ret_used_s = node_resource_reduce(POLICY_REDUCE_MAX, &list);
                return NULL;
        }
        unsigned i = resource - METRIC_RESOURCE_COUNT;
        double delta = node_resource_reduce(interval->wants->own[i].reduce, &list);
        if (!node_resource_ratio(delta / interval->wall_s, interval->after->capacities[i], &ratio))
                return "its rate exceeds its capacity by far";
        *ret_used_s = ratio * interval->wall_s;
        return NULL;
}

/* How long a counter was busy in the interval, and the maximum. */
static const char *step_counter(const struct interval *interval, unsigned resource,
                                double *ret_used_s, double *ret_total_s) {
        *ret_total_s = interval->wall_s;
        if (interval->after->series[resource])
                return step_series(interval, resource, ret_used_s);
        if (resource == METRIC_CPU)
                return step_cpu(interval, ret_used_s, ret_total_s);
        return step_network(interval->before, interval->after, resource, ret_used_s);
}

static bool is_gauge(const struct node_wants *wants, unsigned resource) {
        return resource < METRIC_RESOURCE_COUNT
                       ? metric_resource_is_gauge(resource)
                       : wants->own[resource - METRIC_RESOURCE_COUNT].type == POLICY_GAUGE;
}

static double gauge_of(const struct interval *interval, unsigned resource) {
        double value = interval->after->values[resource];
        size_t running = count_running(interval->before, interval->after);

        if (resource >= METRIC_RESOURCE_COUNT ||
            metric_resource_rows[resource].kind != METRIC_KIND_PER_CPU)
                return value;
        return fmin(value / (double)(running > 0 ? running : interval->after->cpu_count), 1);
}

/* Copy @items into @kept, an array of *@count. Its length changes only on hotplug, so it has no
 * spare room. Return: the new @kept */
static void *keep(void *kept, uint32_t *count, const void *items, size_t new_count,
                  size_t item_bytes) {
        if (*count != new_count)
                kept = xreallocarray(kept, new_count, item_bytes);
        if (new_count > 0)
                memcpy(kept, items, new_count * item_bytes);
        *count = (uint32_t)new_count;
        return kept;
}

static void remember_series(struct node_state *state, const struct node_reading *reading) {
        for (unsigned r = 0; r < WINDOW_MAX_CHANNELS; r++) {
                const struct series_list *series = reading->usable >> r & 1 ? reading->series[r]
                                                                            : NULL;
                if (!series && !state->series)
                        continue;
                if (!state->series)
                        state->series = xcalloc(1, sizeof(*state->series));
                state->series->series[r] = keep(state->series->series[r], &state->series->counts[r],
                                                series ? series->items : NULL,
                                                series ? series->count : 0,
                                                sizeof(struct node_device));
        }
}

static void remember(struct node_state *state, const struct node_reading *reading,
                     int64_t now_mono_ms) {
        uint32_t usable = reading->usable;

        state->cpus = keep(state->cpus, &state->cpu_count, reading->cpus,
                           usable & (NODE_RESOURCE_BIT(METRIC_CPU) | NODE_RESOURCE_BIT(METRIC_LOAD))
                                   ? reading->cpu_count
                                   : 0,
                           sizeof(*state->cpus));
        state->links = keep(state->links, &state->link_count, reading->links,
                            usable & NODE_NETWORK_RESOURCES ? reading->link_count : 0,
                            sizeof(*state->links));
        remember_series(state, reading);
        state->usable = usable;
        state->at_mono_ms = now_mono_ms;
}

void node_state_step(struct node_state *state, const struct node_wants *wants,
                     struct node_reading *reading, int64_t now_mono_ms,
                     struct window_step *ret_step) {
        const struct interval interval = {
                .before = state,
                .after = reading,
                .wants = wants,
                .wall_s = (double)(now_mono_ms - state->at_mono_ms) / (double)MS_PER_S,
        };
        double used_s = 0, total_s = 0;

        ret_step->at_mono_ms = now_mono_ms;
        ret_step->counters = ret_step->gauges = ret_step->means = 0;
        for (unsigned r = 0; reading->usable >> r != 0; r++) {
                uint32_t bit = NODE_RESOURCE_BIT(r);
                if (!(reading->usable & bit))
                        continue;
                if (is_gauge(wants, r)) {
                        ret_step->gauges |= bit;
                        ret_step->num[r] = gauge_of(&interval, r);
                } else if (state->usable & bit && interval.wall_s > 0) {
                        reading->why[r] = step_counter(&interval, r, &used_s, &total_s);
                        if (reading->why[r])
                                continue;
                        ret_step->counters |= bit;
                        ret_step->num[r] = fmin(used_s, total_s);
                        ret_step->den[r] = total_s;
                }
        }
        remember(state, reading, now_mono_ms);
}
