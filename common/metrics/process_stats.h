/*
 * Statistics of this process from /proc, in the units of Prometheus' process_* metrics. Private to
 * the metrics module, which reads them when it renders.
 */
#pragma once

struct process_stats {
        double resident_memory_bytes;
        double virtual_memory_bytes;
        double cpu_seconds;
        double start_time_unix_s;
        double open_fds;
        double max_fds;
};

/** process_stats_read() - from /proc; what cannot be read is NaN */
void process_stats_read(struct process_stats *ret_stats);
