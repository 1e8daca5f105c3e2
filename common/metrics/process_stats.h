/*
 * Prometheus' process_* metrics of this process. Private to the metrics module.
 */
#pragma once

enum { PROCESS_STAT_COUNT = 6 };

struct process_stat {
        const char *name, *type, *help;
        double value; /* NaN: it cannot be read */
};

/** process_stats_read() - read all, sorted by name */
void process_stats_read(double started_unix_s,
                        struct process_stat ret_stats[static PROCESS_STAT_COUNT]);
