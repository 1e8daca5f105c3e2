#include "controller/exposition/kubelet_reading.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "controller/exposition/series_list.h"

static const struct {
        uint8_t resource;
        const char *name, *cadvisor_name; /* NULL: not there */
} families[] = {
        {METRIC_RESOURCE_COUNT, "resource_scrape_error", "container_scrape_error"},
        {METRIC_CPU, "node_cpu_usage_seconds_total", "container_cpu_usage_seconds_total"},
        {METRIC_MEM, "node_memory_working_set_bytes", "container_memory_working_set_bytes"},
        {METRIC_SWAP, "node_swap_usage_bytes", "container_memory_swap"},
        {METRIC_PSI_CPU, NULL, "container_pressure_cpu_waiting_seconds_total"},
        {METRIC_PSI_MEM, NULL, "container_pressure_memory_waiting_seconds_total"},
        {METRIC_PSI_IO, NULL, "container_pressure_io_waiting_seconds_total"},
};
static_assert(ARRAY_LEN(families) <= KUBELET_MAX_FAMILIES, "resource has a place for each");

void kubelet_wants_init(struct kubelet_wants *wants, uint32_t resources) {
        const char *names[KUBELET_MAX_FAMILIES];
        size_t count = 0;

        *wants = (struct kubelet_wants){.resources = resources & KUBELET_RESOURCES,
                                        .is_cadvisor = (resources & KUBELET_PRESSURE) != 0};
        for (size_t i = 0; i < ARRAY_LEN(families); i++) {
                unsigned resource = families[i].resource;
                if (resource != METRIC_RESOURCE_COUNT && !(wants->resources >> resource & 1))
                        continue;
                names[count] = wants->is_cadvisor ? families[i].cadvisor_name : families[i].name;
                wants->resource[count++] = (uint8_t)resource;
        }
        exposition_set_init(&wants->set, names, count);
}

const char *kubelet_wants_path(const struct kubelet_wants *wants, const char *own_path) {
        if (wants->is_cadvisor)
                return "/metrics/cadvisor";
        return own_path ? own_path : "/metrics/resource";
}

/* cadvisor's exposition has lines of every cgroup, and CPU time per CPU if that is enabled. */
static bool is_of_node(const struct kubelet_wants *wants, const struct exposition_sample *sample) {
        const struct exposition_label *cpu = exposition_label(sample, "cpu");

        return !wants->is_cadvisor || (exposition_label_is(exposition_label(sample, "id"), "/") &&
                                       (!cpu || exposition_label_is(cpu, "total")));
}

/* Add a sample of a resource to @page; false if it is not usable. */
static bool take_sample(const struct kubelet_wants *wants, const struct exposition_sample *sample,
                        const struct kubelet_clocks *clocks, struct kubelet_state *page) {
        unsigned resource = wants->resource[sample->family];
        struct kubelet_sample taken = {.value = sample->value,
                                       .at_unix_ms = clocks->now_unix_ms,
                                       .seen_mono_ms = clocks->now_mono_ms};

        if (!is_of_node(wants, sample) || page->known >> resource & 1)
                return true;
        if (!series_value_is_within(sample->value, NODE_COUNTER_MAX) ||
            (sample->timestamp_len > 0 && !exposition_timestamp(sample, &taken.at_unix_ms)))
                return false;
        page->samples[resource] = taken;
        page->known |= UINT32_C(1) << resource;
        return true;
}

/* CPU seconds per second, or bytes. */
static double capacity_of(const struct kubelet_capacity *capacity, unsigned resource) {
        switch (resource) {
        case METRIC_CPU:
                return capacity->cpu_cores;
        case METRIC_MEM:
                return capacity->memory_bytes;
        case METRIC_SWAP:
                return capacity->swap_bytes;
        default:
                return 1;
        }
}

double kubelet_interval_s(const struct kubelet_sample *before, const struct kubelet_sample *after) {
        int64_t by_node_ms = after->at_unix_ms - before->at_unix_ms;
        int64_t by_us_ms = after->seen_mono_ms - before->seen_mono_ms;

        return by_node_ms > 0 && llabs(by_node_ms - by_us_ms) <= KUBELET_MAX_SKEW_MS
                       ? (double)by_node_ms / (double)MS_PER_S
                       : 0;
}

/* The CPU time of a running node always grows, whatever the timestamps say. */
static bool is_repeated(unsigned resource, const struct kubelet_sample *before,
                        const struct kubelet_sample *sample) {
        bool is_same = sample->value <= before->value && sample->value >= before->value;

        return sample->at_unix_ms == before->at_unix_ms || (resource == METRIC_CPU && is_same);
}

/* Add a new sample of a resource. */
static void add_to_step(const struct kubelet_state *state, unsigned resource,
                        const struct kubelet_sample *sample, double capacity,
                        struct window_step *step) {
        const struct kubelet_sample *before = &state->samples[resource];
        uint32_t bit = UINT32_C(1) << resource;

        if (resource == METRIC_MEM || resource == METRIC_SWAP) {
                step->gauges |= bit;
                step->num[resource] = fmin(sample->value / capacity, 1);
                return;
        }
        double used_s = (sample->value - before->value) / capacity;
        double wall_s = state->known & bit ? kubelet_interval_s(before, sample) : 0;
        if (wall_s <= 0 || used_s < 0)
                return;
        step->counters |= bit;
        step->num[resource] = fmin(used_s, wall_s);
        step->den[resource] = wall_s;
}

/* The time of the newest sample on our clock. The timestamps of a node whose clock is far from ours
 * are ignored. */
static int64_t step_mono_ms(int64_t newest_unix_ms, const struct kubelet_clocks *clocks) {
        int64_t age_ms = clocks->now_unix_ms - newest_unix_ms;

        return clocks->now_mono_ms - (age_ms > 0 && age_ms <= KUBELET_STALE_MS ? age_ms : 0);
}

/* From samples to a step; what is new replaces what was before. */
static enum kubelet_outcome compare_samples(struct kubelet_state *state,
                                            const struct kubelet_wants *wants,
                                            const struct kubelet_capacity *capacity,
                                            const struct kubelet_state *page,
                                            const struct kubelet_clocks *clocks,
                                            struct kubelet_reading *ret) {
        int64_t newest_unix_ms = INT64_MIN, youngest_ms = INT64_MAX;
        enum kubelet_outcome outcome = KUBELET_NO_METRICS;

        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++) {
                const struct kubelet_sample *sample = &page->samples[r];
                struct kubelet_sample *before = &state->samples[r];
                uint32_t bit = UINT32_C(1) << r;
                if (!(wants->resources & bit))
                        continue;
                if (!(page->known & bit)) {
                        ret->why[r] = "the page has no such series";
                        continue;
                }
                if (r == METRIC_MEM && sample->value <= 0) {
                        ret->why[r] = "the kubelet reports that no memory is in use";
                        continue;
                }
                if (!(capacity_of(capacity, r) > 0)) {
                        ret->why[r] = "the Node's status has no capacity of it";
                        outcome = outcome == KUBELET_NO_METRICS ? KUBELET_NO_CAPACITY : outcome;
                        continue;
                }
                if (state->known & bit && is_repeated(r, before, sample)) {
                        if (sample->at_unix_ms != before->at_unix_ms)
                                ret->why[r] = "the kubelet's CPU time stands still";
                        int64_t age_ms = clocks->now_mono_ms - before->seen_mono_ms;
                        youngest_ms = age_ms < youngest_ms ? age_ms : youngest_ms;
                        outcome = outcome == KUBELET_NEW ? KUBELET_NEW : KUBELET_REPEATED;
                        continue;
                }
                add_to_step(state, r, sample, capacity_of(capacity, r), &ret->step);
                *before = *sample;
                state->known |= bit;
                if (sample->at_unix_ms > newest_unix_ms)
                        newest_unix_ms = sample->at_unix_ms;
                outcome = KUBELET_NEW;
        }
        if (outcome == KUBELET_NEW)
                ret->step.at_mono_ms = step_mono_ms(newest_unix_ms, clocks);
        return outcome == KUBELET_REPEATED && youngest_ms > KUBELET_STALE_MS ? KUBELET_STALE
                                                                             : outcome;
}

enum kubelet_outcome kubelet_reading_take(struct kubelet_state *state,
                                          const struct kubelet_wants *wants,
                                          const struct kubelet_capacity *capacity, const char *text,
                                          size_t text_bytes, bool is_complete,
                                          const struct kubelet_clocks *clocks,
                                          struct kubelet_reading *ret) {
        struct kubelet_state page = {0};
        struct exposition skim;
        struct exposition_sample sample;
        bool has_error = false;

        *ret = (struct kubelet_reading){0};
        exposition_begin(&skim, &wants->set, text, text_bytes, is_complete);
        while (exposition_next(&skim, &sample)) {
                if (wants->resource[sample.family] == METRIC_RESOURCE_COUNT)
                        has_error |= sample.value != 0;
                else
                        ret->malformed += !take_sample(wants, &sample, clocks, &page);
        }
        ret->malformed += skim.malformed;
        if (has_error)
                return KUBELET_SCRAPE_ERROR;
        return compare_samples(state, wants, capacity, &page, clocks, ret);
}
