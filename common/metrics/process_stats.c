#include "metrics/process_stats.h"

#include <dirent.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"

enum { STATM_MAX_BYTES = 1024 };

/* The first fields of /proc/self/statm; NaN where one cannot be read. */
struct pages {
        double size, resident;
};

static double take_number(const char **at) {
        size_t len = strcspn(*at, " \n");
        uint64_t value = 0;
        bool is_number = number_parse_u64(*at, len, &value);

        *at += len + strspn(*at + len, " ");
        return is_number ? (double)value : (double)NAN;
}

static struct pages read_pages(void) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        const char *at = file_read("/proc/self/statm", STATM_MAX_BYTES, &text, &len, NULL) == 0
                                 ? text
                                 : "";
        double size = take_number(&at);
        return (struct pages){size, take_number(&at)};
}

static double cpu_seconds(void) {
        struct rusage usage = {0};

        (void)getrusage(RUSAGE_SELF, &usage);
        return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
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

void process_stats_read(double started_unix_s,
                        struct process_stat ret_stats[static PROCESS_STAT_COUNT]) {
        double page_bytes = (double)sysconf(_SC_PAGESIZE);
        struct pages pages = read_pages();
        struct rlimit limit = {0};

        (void)getrlimit(RLIMIT_NOFILE, &limit);
        const struct process_stat stats[PROCESS_STAT_COUNT] = {
                {"process_cpu_seconds_total", "counter",
                 "User and system CPU time spent in seconds.", cpu_seconds()},
                {"process_max_fds", "gauge", "Limit on open file descriptors.",
                 (double)limit.rlim_cur},
                {"process_open_fds", "gauge", "Open file descriptors.", count_fds()},
                {"process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
                 pages.resident * page_bytes},
                {"process_start_time_seconds", "gauge",
                 "Start of the process since the Unix epoch.", started_unix_s},
                {"process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.",
                 pages.size * page_bytes},
        };
        memcpy(ret_stats, stats, sizeof(stats));
}
