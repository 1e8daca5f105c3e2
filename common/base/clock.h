/*
 * The two clocks. Intervals, timeouts and expiry of what we hold are measured on the monotonic
 * clock, which also counts the time that the machine is suspended: others age in it, and a lease
 * runs out. The wall clock is for annotations and logs alone. Only mains and the event loop read
 * them: everything below takes the time as an argument, so that a test can run a day in
 * milliseconds.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define MS_PER_S INT64_C(1000)
#define MS_PER_MIN (60 * MS_PER_S)
#define MS_PER_HOUR (60 * MS_PER_MIN)
#define MS_PER_DAY (24 * MS_PER_HOUR)

/** clock_wall_unix_ms() - milliseconds since the Unix epoch */
int64_t clock_wall_unix_ms(void);
/** clock_mono_ms() - milliseconds since some fixed point; never goes back */
int64_t clock_mono_ms(void);
/** clock_mono_ns() - the same in nanoseconds, for measuring durations */
int64_t clock_mono_ns(void);

/** clock_cond_init() - a condition for clock_cond_wait() */
void clock_cond_init(pthread_cond_t *cond);
/** clock_cond_wait() - at most until @until_mono_ms; false when it was that long. May wake early.
 */
bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_mono_ms);
