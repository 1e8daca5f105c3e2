/* Recorded series: exact values at given times, and files that are no traces. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "trace.h"

static const double MIB = 1u << 20;

static struct trace *parse(const char *text) {
        struct trace *trace = NULL;
        struct error err = ERROR_NULL;

        if (trace_parse(text, strlen(text), &trace, &err) < 0)
                fail_msg("%s", err.msg);
        return trace;
}

TEST(fields) {
        _cleanup_(trace_freep) struct trace *trace = parse(
                "# two workloads\n"
                "workload=web request=500 step=300 cpu=250,0,1000\n"
                "\n"
                "cpu=7x2 used=512,1024 step=30 lasts=45 arrives=60 memory=2048 request=1 "
                "workload=db\n"
                "workload=web request=500 step=300 cpu=1\n");
        const struct trace_series *web = &trace->series[0], *db = &trace->series[1];

        assert_int_equal(trace->count, 3);
        assert_int_equal(trace->workload_count, 2);
        assert_int_equal(web->workload, 0);
        assert_int_equal(db->workload, 1);
        assert_int_equal(trace->series[2].workload, 0);
        assert_true(web->request_cores == 0.5 && web->request_bytes == 0);
        assert_true(db->request_cores == 0.001 && db->request_bytes == 2048 * MIB);
        assert_int_equal(web->arrives_s, 0);
        assert_int_equal(web->lasts_s, 900); /* its three values */
        assert_int_equal(db->arrives_s, 60);
        assert_int_equal(db->lasts_s, 45);
        assert_int_equal(db->count, 2);
        assert_int_equal(trace->last_arrival_s, 60);
}

TEST(value_at_a_time) {
        static const struct {
                int64_t at_s;
                double cores, bytes;
        } rows[] = {
                {0, 0.25, 512 * (1u << 20)},    {299, 0.25, 512 * (1u << 20)}, {300, 0, 0},
                {600, 1.5, 3 * (1u << 20)},     {1199, 1.5, 3 * (1u << 20)}, /* repeated */
                {1200, 0.25, 512 * (1u << 20)}, /* from the beginning again */
                {1200000000000 + 300, 0, 0},
        };
        _cleanup_(trace_freep) struct trace *trace = parse(
                "workload=a request=1 step=300 cpu=250,0,1500x2 used=512,0,3x2\n"
                "workload=a request=1 step=300 cpu=1\n");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double cores = trace_cores_at(trace, &trace->series[0], rows[i].at_s);
                double bytes = trace_bytes_at(trace, &trace->series[0], rows[i].at_s);
                if (cores != rows[i].cores || bytes != rows[i].bytes)
                        fail_msg("%lld s gave %g, %g", (long long)rows[i].at_s, cores, bytes);
        }
        assert_true(trace_bytes_at(trace, &trace->series[1], 0) == 0);
}

TEST(mean_of_a_time) {
        static const struct {
                int64_t from_s, lasts_s;
                double cores;
        } rows[] = {
                {0, 30, 0.1},   {0, 60, 0.2},   {29, 2, 0.2},  /* a second of each */
                {15, 30, 0.2},  {0, 6000, 0.2}, {45, 30, 0.2}, /* over the end */
                {45, 20, 0.25}, /* 15 s of the last, 5 s of the first */
        };
        _cleanup_(trace_freep) struct trace *trace = parse(
                "workload=a request=1 step=30 cpu=100,300 used=10,30\n");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double cores = trace_mean_cores(trace, &trace->series[0], rows[i].from_s,
                                                rows[i].lasts_s);
                if (fabs(cores - rows[i].cores) > 1e-12) /* wrong rows are wrong by more than .01 */
                        fail_msg("%lld s from %lld s on gave %g", (long long)rows[i].lasts_s,
                                 (long long)rows[i].from_s, cores);
                assert_true(fabs(trace_mean_bytes(trace, &trace->series[0], rows[i].from_s,
                                                  rows[i].lasts_s) -
                                 rows[i].cores * 100 * MIB) < 1);
        }
}

#define GOOD "workload=a request=1 step=30 cpu=1\n"

TEST(what_is_no_trace) {
        static const struct {
                const char *text, *message;
        } rows[] = {
                {"", "no series"},
                {"# only a comment\n\n", "no series"},
                {GOOD "workload=b request=1 step=30 cpu=1,2", "line 2: cut off"},
                {"# a comment that is cut", "line 1: cut off"},
                {GOOD "workload=b request=1 step=30\n", "line 2: cpu is missing"},
                {"workload=b request=1 step=30 cpu=\n", "line 1: cpu is missing"},
                {"workload=b request=1 step=30 cpu=1,2,\n", "line 1: cpu: cut off"},
                {"workload=b request=1 step=30 cpu=1,,2\n", "line 1: cpu: value 2 is none"},
                {"workload=b request=1 step=30 cpu=1,-2\n", "line 1: cpu: value 2 is none"},
                {"workload=b request=1 step=30 cpu=1.5\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=nan\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=1000000001\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=5x3,1x0\n", "line 1: cpu: value 4 is none"},
                {"workload=b request=1 step=30 cpu=1x\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=x2\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=1x-1\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=1x2x3\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=1x1000001\n", "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=1x99999999999999999999\n",
                 "line 1: cpu: value 1 is none"},
                {"workload=b request=1 step=30 cpu=1,2 used=1\n",
                 "line 1: used: 1 values, cpu has 2"},
                {"workload=b request=1 step=30 cpu=1 used=\n", "line 1: used: cut off"},
                {"workload=b request=0 step=30 cpu=1\n",
                 "line 1: request: expected 1 to 1000000000"},
                {"workload=b request=-1 step=30 cpu=1\n",
                 "line 1: request: expected 1 to 1000000000"},
                {"workload=b request=1 step=0 cpu=1\n", "line 1: step: expected 1 to 86400"},
                {"workload=b request=1 step=86401 cpu=1\n", "line 1: step: expected 1 to 86400"},
                {"workload=b request=1 step=30 arrives=-5 cpu=1\n",
                 "line 1: arrives: expected 0 to 1000000000"},
                {"workload=b request=1 step=30 lasts=0 cpu=1\n",
                 "line 1: lasts: expected 1 to 1000000000"},
                {"workload=b request=1 step=30 memory= cpu=1\n",
                 "line 1: memory: expected 0 to 1000000000"},
                {"workload= request=1 step=30 cpu=1\n", "line 1: workload is missing"},
                {"workload=0123456789012345678901234567890123456789012345678901234567890123 "
                 "request=1 step=30 cpu=1\n",
                 "line 1: workload: longer than 63 bytes"},
                {"workload=b request=1 step=30 cpu=1 cpu=2\n", "line 1: cpu: twice"},
                {"workload=b  request=1 step=30 cpu=1\n", "line 1: : unknown field"},
                {"workload=b request=1 step=30 cpu=1 cpuu=1\n", "line 1: cpuu: unknown field"},
                {"20110303,host,slice,1,2,3\n", "line 1: 20110303,host,slice,1,2,3: unknown field"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct trace *trace = NULL;
                struct error err = ERROR_NULL;
                int r = trace_parse(rows[i].text, strlen(rows[i].text), &trace, &err);
                if (r != -EINVAL || strcmp(err.msg, rows[i].message) != 0 || trace)
                        fail_msg("'%s': %d, '%s'", rows[i].text, r, err.msg);
        }
}

/* A few bytes may not ask for all of the memory. */
TEST(many_values) {
        static const char line[] = "workload=b request=1 step=30 cpu=";
        _cleanup_(freep) char *text = xcalloc(1, 2048);
        struct trace *trace = NULL;
        struct error err = ERROR_NULL;
        size_t len = strlen(line);

        memcpy(text, line, len);
        for (unsigned i = 0; i < 17; i++, len += 10)
                memcpy(text + len, "1x1000000,", 10);
        text[len - 1] = '\n';
        assert_int_equal(trace_parse(text, len, &trace, &err), -E2BIG);
        assert_string_equal(err.msg, "line 1: more than 16777216 values");
        assert_null(trace);
}

TEST(files) {
        char path[] = "/tmp/plimsoll-trace-XXXXXX";
        struct error err = ERROR_NULL;
        struct trace *trace = NULL;
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, GOOD, strlen(GOOD)), strlen(GOOD));
        assert_int_equal(close(fd), 0);
        assert_int_equal(trace_load(path, &trace, &err), 0);
        assert_int_equal(trace->count, 1);
        trace_free(trace);
        assert_int_equal(truncate(path, 0), 0);
        assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
        assert_memory_equal(err.msg, path, strlen(path));
        assert_string_equal(err.msg + strlen(path), ": no series");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(trace_load(path, &trace, &err), -ENOENT);
}
