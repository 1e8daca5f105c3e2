/*
 * What has been measured on one node: windows, and the values that a source delivers ready-made.
 * Pure: the clock is an argument.
 *
 * The sources in order of preference share one store of a node: the source that serves the node
 * fills it, so the windows go on when another one takes over. Each exporter has its own
 * (compiled_policy.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/source/source.h"
#include "controller/window/window.h"
#include "policy/policy.h"

struct measurements {
        struct window_store *windows;
        size_t source;         /* number of the source of the last reading; SIZE_MAX: none */
        double *ready_ratio;   /* [metric]; NULL: no ready-made value yet */
        uint64_t ready;        /* metrics that the last reading had, a bit each */
        int64_t ready_mono_ms; /* time of that reading */
        const char **why;      /* [channel] as in source_reading; NULL: no reasons */
};

/** measurements_init() - empty; @plan is borrowed */
void measurements_init(struct measurements *store, const struct window_plan *plan);
/** measurements_done() - a zero-initialised store is fine */
void measurements_done(struct measurements *store);
/** measurements_replan() - the windows keep their history; ready-made values are dropped until the
 * next reading */
void measurements_replan(struct measurements *store, const struct window_plan *plan,
                         const struct window_renumbering *renumbering);

/**
 * measurements_take() - store a reading from source number @source
 *
 * When the source changes, counters of the first reading are ignored: part of their interval has
 * been counted already. With spec.idle the means of CPU restart, since kubelets leave batch pods
 * out of the CPU and other sources do not.
 * @reading: with a step or ready-made values
 */
void measurements_take(struct measurements *store, size_t source,
                       const struct source_reading *reading, const struct policy *policy,
                       int64_t now_mono_ms);

/** measurements_value() - the value of @metric, which is number @index in the policy */
struct window_reading measurements_value(const struct measurements *store,
                                         const struct policy_metric *metric, size_t index,
                                         int64_t now_mono_ms);
