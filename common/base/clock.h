/*
 * The two clocks. The monotonic clock (CLOCK_BOOTTIME) is for intervals and timeouts, such as the
 * term of a lease. It goes on while the machine is suspended, as leases do. The wall clock is for
 * times that other programs read or write: in annotations, bindings, certificates and logs. Nearly
 * all code takes the time as an argument: a test can run a day in milliseconds.
 */
#pragma once

#include <stdint.h>

#define MS_PER_S INT64_C(1000)
#define MS_PER_MIN (60 * MS_PER_S)
#define MS_PER_HOUR (60 * MS_PER_MIN)
#define MS_PER_DAY (24 * MS_PER_HOUR)

/** clock_wall_unix_ms() - milliseconds since the Unix epoch */
int64_t clock_wall_unix_ms(void);
/** clock_mono_ms() - milliseconds since boot; never goes backwards */
int64_t clock_mono_ms(void);
/** clock_mono_ns() - nanoseconds since boot, to measure durations */
int64_t clock_mono_ns(void);
/** clock_thread_cpu_ns() - CPU time of the calling thread */
int64_t clock_thread_cpu_ns(void);
