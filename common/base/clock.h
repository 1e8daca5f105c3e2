/*
 * The two clocks. The monotonic clock (CLOCK_BOOTTIME) measures intervals and timeouts, such as how
 * long a lease is held. It also counts the time that the machine is suspended, in which a lease
 * runs out as well. The wall clock is for times that other programs write or read: of annotations,
 * bindings, certificates, logs. Nearly all code takes the time as an argument, so that a test can
 * run a day in milliseconds.
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
/** clock_mono_ms() - milliseconds since boot; never goes back */
int64_t clock_mono_ms(void);
/** clock_mono_ns() - the same in nanoseconds, for measuring durations */
int64_t clock_mono_ns(void);
/** clock_thread_cpu_ns() - processor time that the calling thread has used */
int64_t clock_thread_cpu_ns(void);

/** clock_cond_init() - pthread_cond_init() of a condition for clock_cond_wait() */
void clock_cond_init(pthread_cond_t *cond);
/** clock_cond_wait() - pthread_cond_timedwait() until @until_mono_ms, less any time suspended
 *
 * Return: false after the time-out; true when woken, which may also happen spuriously
 */
bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_mono_ms);
