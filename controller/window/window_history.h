/*
 * The recent past of a channel as a series for a sparkline, read from its windows. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/window/window.h"

static const float WINDOW_HISTORY_UNKNOWN = -1;

/**
 * window_history() - usage of @channel in each of the last @count steps of @step_ms
 *
 * The values are from the longest window of the channel, and the finest of equally long ones: the
 * mean of a step if the window has means, else the largest 5-minute mean in it. Without a window of
 * an hour, the series is shorter than an hour.
 * @ret_ratio: @count values, the oldest first; WINDOW_HISTORY_UNKNOWN: not known
 * Return: false: no value is known
 */
bool window_history(const struct window_store *store, unsigned channel, int64_t step_ms,
                    size_t count, int64_t now_mono_ms, float *ret_ratio);
