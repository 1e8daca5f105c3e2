/*
 * What a window store remembers of the time up to now, as a series for a sparkline. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/window/window.h"

static const float WINDOW_HISTORY_UNKNOWN = -1;

/**
 * window_history() - usage of @channel over the last @count steps of @step_ms
 *
 * It is read from the window of the channel that reaches back furthest, of equal ones the finest: a
 * step has the mean of its time where means are kept, else the largest 5-minute mean in it. So a
 * policy that keeps no hour gives no hour.
 * @ret_ratio: @count values, the oldest first; WINDOW_HISTORY_UNKNOWN where nothing is known
 * Return: false when nothing is known of any step
 */
bool window_history(const struct window_store *store, unsigned channel, int64_t step_ms,
                    size_t count, int64_t now_mono_ms, float *ret_ratio);
