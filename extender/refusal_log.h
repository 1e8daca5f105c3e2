/*
 * When to log that requests are refused, and that they are accepted again. Whoever reaches the port
 * can send garbage between good requests, as fast as the network allows: so there is at most one
 * line a minute of either kind, with the number of requests refused since the line before.
 *
 * Any thread may call these. Zero-initialised; the clock is an argument.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct refusal_log {
        atomic_bool is_refusing;          /* the last line was about a refusal */
        atomic_int_fast64_t next_mono_ms; /* no line before this */
        atomic_uint_fast64_t refused;     /* since the last line */
};

/**
 * refusal_log_refused() - a request was refused
 * Return: the number of requests refused since the last line, if a line is due; else 0
 */
uint64_t refusal_log_refused(struct refusal_log *log, int64_t now_mono_ms);

/** refusal_log_is_refusing() - whether refusal_log_accepted() needs to be called; cheap */
static inline bool refusal_log_is_refusing(struct refusal_log *log) {
        return atomic_load_explicit(&log->is_refusing, memory_order_relaxed);
}

/**
 * refusal_log_accepted() - a request was accepted
 * @ret_refused: requests refused since the last line
 * Return: whether a line is due
 */
bool refusal_log_accepted(struct refusal_log *log, int64_t now_mono_ms, uint64_t *ret_refused);
