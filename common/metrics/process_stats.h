/*
 * Statistics of this process from /proc, as Prometheus' process_* metrics. Private to the metrics
 * module, which reads them when it renders.
 */
#pragma once

enum { PROCESS_STAT_COUNT = 6 };

struct process_stat {
        const char *name, *type, *help;
        double value; /* NaN: it cannot be read */
};

/** process_stats_read() - all of them, by name */
void process_stats_read(struct process_stat ret_stats[static PROCESS_STAT_COUNT]);
