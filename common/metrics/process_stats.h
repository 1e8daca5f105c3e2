/*
 * Prometheus' process_* metrics of this process, read from /proc. Private to the metrics module.
 */
#pragma once

enum { PROCESS_STAT_COUNT = 6 };

struct process_stat {
        const char *name, *type, *help;
        double value; /* NaN: it cannot be read */
};

/** process_stats_read() - read all, sorted by name */
void process_stats_read(struct process_stat ret_stats[static PROCESS_STAT_COUNT]);
