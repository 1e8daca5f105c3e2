#include "controller/track/measurements.h"

#include <string.h>

#include "base/mem.h"

void measurements_init(struct measurements *store, const struct window_plan *plan) {
        *store = (struct measurements){.windows = window_store_new(plan), .source = SIZE_MAX};
}

void measurements_done(struct measurements *store) {
        window_store_free(store->windows);
        free(store->ready_ratio);
        free(store->why);
        *store = (struct measurements){0};
}

void measurements_replan(struct measurements *store, const struct window_plan *plan,
                         const struct window_renumbering *renumbering) {
        store->windows = window_store_replan(store->windows, plan, renumbering);
        /* Their indices have changed; the next reading is seconds away. */
        free(TAKE_PTR(store->why));
        free(TAKE_PTR(store->ready_ratio));
        store->ready = 0;
}

/* Most nodes have no reasons: they take no memory then. */
static void note_reasons(struct measurements *store, const char *const *why) {
        bool has_any = false;

        for (size_t i = 0; why && i < WINDOW_MAX_CHANNELS; i++)
                has_any |= why[i] != NULL;
        if (!has_any) {
                free(TAKE_PTR(store->why));
                return;
        }
        if (!store->why)
                store->why = xcalloc(WINDOW_MAX_CHANNELS, sizeof(*store->why));
        memcpy(store->why, why, WINDOW_MAX_CHANNELS * sizeof(*store->why));
}

static void take_step(struct measurements *store, size_t source, const struct policy *policy,
                      const struct window_step *reading) {
        struct window_step step = *reading;

        if (store->source != source) {
                step.counters = 0;
                if (policy->idle_line_ratio > 0)
                        window_store_restart_means(store->windows, METRIC_CPU);
        }
        (void)window_store_add(store->windows, &step);
}

void measurements_take(struct measurements *store, size_t source,
                       const struct source_reading *reading, const struct policy *policy,
                       int64_t now_mono_ms) {
        if (reading->step)
                take_step(store, source, policy, reading->step);
        store->source = source;
        note_reasons(store, reading->why);
        store->ready = reading->ready;
        store->ready_mono_ms = now_mono_ms;
        if (reading->ready == 0)
                return;
        if (!store->ready_ratio)
                store->ready_ratio = xcalloc(policy->metric_count, sizeof(*store->ready_ratio));
        for (size_t i = 0; i < policy->metric_count; i++)
                if (reading->ready >> i & 1)
                        store->ready_ratio[i] = reading->values_ratio[i];
}

struct window_reading measurements_value(const struct measurements *store,
                                         const struct policy_metric *metric, size_t index,
                                         int64_t now_mono_ms) {
        if (store->ready >> index & 1)
                return (struct window_reading){.status = WINDOW_KNOWN,
                                               .ratio = store->ready_ratio[index],
                                               .fullness = 1,
                                               .age_ms = now_mono_ms - store->ready_mono_ms};
        if (!metric->is_query)
                return (struct window_reading){.status = WINDOW_NOT_PLANNED};
        return window_read(store->windows, &metric->query, now_mono_ms);
}
