#include "metrics/process_stats.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/mem.h"
#include "base/number.h"

/* Fields of /proc/self/stat, numbered as in proc(5). */
enum { STAT_STATE = 3, STAT_UTIME = 14, STAT_STIME, STAT_STARTTIME = 22, STAT_VSIZE, STAT_RSS };

static void closep(FILE **file) {
        if (*file)
                (void)fclose(*file);
}

static double unsigned_or_nan(const char *text, size_t len) {
        uint64_t value = 0;

        return number_parse_u64(text, len, &value) ? (double)value : (double)NAN;
}

/* Sets fields[STAT_STATE] to fields[STAT_RSS]; NaN where a field is not a number. */
static bool read_self_stat(double fields[static STAT_RSS + 1]) {
        _cleanup_(closep) FILE *file = fopen("/proc/self/stat", "re");
        char line[1024];

        if (!file || !fgets(line, sizeof(line), file))
                return false;
        /* The second field is the program name in brackets, which can contain spaces and brackets.
         */
        const char *at = strrchr(line, ')');
        if (!at)
                return false;
        at++;
        for (int field = STAT_STATE; field <= STAT_RSS; field++) {
                at += strspn(at, " ");
                size_t len = strcspn(at, " \n");
                fields[field] = unsigned_or_nan(at, len);
                at += len;
        }
        return true;
}

static double boot_time_unix_s(void) {
        _cleanup_(closep) FILE *file = fopen("/proc/stat", "re");
        _cleanup_(freep) char *line = NULL; /* the line of interrupts can have any length */
        size_t cap = 0;

        while (file && getline(&line, &cap, file) > 0)
                if (strncmp(line, "btime ", 6) == 0)
                        return unsigned_or_nan(line + 6, strcspn(line + 6, "\n"));
        return (double)NAN;
}

static double count_fds(void) {
        DIR *directory = opendir("/proc/self/fd");
        double count = -1; /* without the descriptor of the directory itself */

        if (!directory)
                return (double)NAN;
        for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
                if (entry->d_name[0] != '.')
                        count++;
        (void)closedir(directory);
        return count;
}

void process_stats_read(struct process_stat ret_stats[static PROCESS_STAT_COUNT]) {
        double fields[STAT_RSS + 1];
        double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
        double page_bytes = (double)sysconf(_SC_PAGESIZE);
        struct rlimit limit = {0};

        (void)getrlimit(RLIMIT_NOFILE, &limit);
        if (!read_self_stat(fields))
                for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                        fields[i] = (double)NAN;
        const struct process_stat stats[PROCESS_STAT_COUNT] = {
                {"process_cpu_seconds_total", "counter",
                 "User and system CPU time spent in seconds.",
                 (fields[STAT_UTIME] + fields[STAT_STIME]) / ticks_per_s},
                {"process_max_fds", "gauge", "Limit on open file descriptors.",
                 (double)limit.rlim_cur},
                {"process_open_fds", "gauge", "Open file descriptors.", count_fds()},
                {"process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
                 fields[STAT_RSS] * page_bytes},
                {"process_start_time_seconds", "gauge",
                 "Start of the process since the Unix epoch.",
                 boot_time_unix_s() + fields[STAT_STARTTIME] / ticks_per_s},
                {"process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.",
                 fields[STAT_VSIZE]},
        };
        memcpy(ret_stats, stats, sizeof(stats));
}
