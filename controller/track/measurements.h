/*
 * What has been measured on one node: windows, and the values that a source delivers ready-made.
 * Pure: the clock is an argument.
 *
 * A node has one store for all sources in order of preference: the source that serves the node
 * fills it, so its windows go on when another source takes over. Each exporter has a store of its
 * own (compiled_policy.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/source/source.h"
#include "controller/window/window.h"
#include "policy/policy.h"

struct measurements {
        struct window_store *windows;
        size_t source;         /* number of the source whose reading was the last; SIZE_MAX: none */
        double *ready_ratio;   /* [metric]; NULL: no value was ever delivered ready-made */
        uint64_t ready;        /* the metrics of the last reading that are in it, a bit each */
        int64_t ready_mono_ms; /* time of that reading */
        const char **why; /* [channel] of the last reading, see source_reading; NULL: no reasons */
};

/** measurements_init() - empty; @plan is borrowed */
void measurements_init(struct measurements *store, const struct window_plan *plan);
/** measurements_done() - also of a zero-initialised one */
void measurements_done(struct measurements *store);
/** measurements_replan() - the windows keep their history; ready-made values are dropped until the
 * next reading */
void measurements_replan(struct measurements *store, const struct window_plan *plan,
                         const struct window_renumbering *renumbering);

/**
 * measurements_take() - store a reading from source number @source
 *
 * The first reading after one from another source has no counters: part of their interval has been
 * counted. With spec.idle the CPU's windows of means restart then, since a kubelet leaves batch
 * pods out of the CPU and other sources do not.
 * @reading: with a step or ready-made values
 */
void measurements_take(struct measurements *store, size_t source,
                       const struct source_reading *reading, const struct policy *policy,
                       int64_t now_mono_ms);

/** measurements_value() - of @metric, number @index of the policy */
struct window_reading measurements_value(const struct measurements *store,
                                         const struct policy_metric *metric, size_t index,
                                         int64_t now_mono_ms);
