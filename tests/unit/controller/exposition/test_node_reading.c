/* Pages become readings, and two readings a step: trust, hotplug, resets, cut pages. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/exposition/node_state.h"
#include "policy/annotation.h"

#define BIT(resource) NODE_RESOURCE_BIT(METRIC_##resource)

/* A page in node_exporter's order and form, from a few numbers. */
struct machine {
        unsigned cpus;
        double idle_s, busy_s; /* per CPU */
        double mem_total, mem_available;
};

static const char *const modes[] = {"idle", "iowait", "irq", "nice", "softirq", "steal", "system"};

static void write_page(const struct machine *machine, struct buf *page) {
        buf_clear(page);
        buf_puts(page, "# HELP go_goroutines Number of goroutines that currently exist.\n"
                       "# TYPE go_goroutines gauge\ngo_goroutines 8\n"
                       "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.\n"
                       "# TYPE node_cpu_seconds_total counter\n");
        for (unsigned cpu = 0; cpu < machine->cpus; cpu++) {
                for (size_t i = 0; i < ARRAY_LEN(modes); i++)
                        buf_printf(page, "node_cpu_seconds_total{cpu=\"%u\",mode=\"%s\"} %.17g\n",
                                   cpu, modes[i], i == 0 ? machine->idle_s : machine->busy_s / 6);
        }
        buf_printf(page,
                   "node_disk_io_time_seconds_total{device=\"sda\"} 10.5\n"
                   "node_disk_io_time_seconds_total{device=\"nvme0n1\"} %.17g\n"
                   "node_filesystem_avail_bytes{device=\"/dev/sda1\",fstype=\"ext4\","
                   "mountpoint=\"/\"} 25\n"
                   "node_filesystem_size_bytes{device=\"/dev/sda1\",fstype=\"ext4\","
                   "mountpoint=\"/\"} 1e+02\n"
                   "node_load1 9\nnode_load15 7\nnode_load5 1.5\n"
                   "node_memory_MemAvailable_bytes %.17g\n"
                   "node_memory_MemFree_bytes 1.5e+09\n"
                   "node_memory_MemTotal_bytes %.17g\n"
                   "node_memory_SwapFree_bytes 3e+09\n"
                   "node_memory_SwapTotal_bytes 4e+09\n"
                   "node_my_metric 0.25\n"
                   "node_network_carrier{device=\"eth0\"} 1\n"
                   "node_network_receive_bytes_total{device=\"eth0\"} %.17g\n"
                   "node_network_speed_bytes{device=\"eth0\"} 1.25e+08\n"
                   "node_network_transmit_bytes_total{device=\"eth0\"} 1e+06\n"
                   "node_pressure_cpu_waiting_seconds_total 4.855241\n"
                   "node_pressure_io_waiting_seconds_total 2.903636\n"
                   "node_pressure_memory_waiting_seconds_total 1\n"
                   "# EOF\n",
                   machine->busy_s, machine->mem_available, machine->mem_total,
                   1e6 * machine->busy_s);
}

static struct node_wants wants;
static struct node_reading *reading;

static int set_up(void **state) {
        static const char *const ready[] = {"my_metric", "other_metric", "load5"};

        node_wants_init(&wants, &(struct node_wants_options){.resources = UINT32_MAX,
                                                             .ready = ready,
                                                             .ready_count = ARRAY_LEN(ready)});
        reading = node_reading_new();
        return 0;
}

static int tear_down(void **state) {
        node_reading_free(reading);
        return 0;
}

static void parse(const char *page, bool is_complete) {
        node_reading_parse(reading, &wants, page, strlen(page), is_complete);
}

TEST(whole_page) {
        struct machine machine = {2, 1000, 60, 8e9, 6e9};
        _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 16);

        write_page(&machine, &page);
        for (int again = 0; again < 2; again++) { /* nothing is left of the page before */
                parse(page.data, true);
                assert_int_equal(reading->usable, NODE_READING_RESOURCES);
                assert_int_equal(reading->cpu_count, 2);
                assert_int_equal(reading->cpus[1].id, 1);
                assert_true(reading->cpus[1].idle_s == 1000);
                assert_true(fabs(reading->cpus[1].busy_s - 60) < 1e-9);
                assert_true(fabs(reading->values[METRIC_MEM] - 0.25) < 1e-12);
                assert_true(reading->values[METRIC_SWAP] == 0.25);
                assert_true(reading->values[METRIC_LOAD] == 0.75);
                assert_true(reading->values[METRIC_PSI_CPU] == 4.855241);
                assert_true(reading->values[METRIC_PSI_MEM] == 1);
                assert_true(reading->values[METRIC_PSI_IO] == 2.903636);
                assert_int_equal(reading->disk_count, 2);
                assert_true(reading->values[METRIC_FS] == 0.75);
                assert_int_equal(reading->link_count, 1);
                assert_true(reading->links[0].received_bytes == 6e7);
                assert_true(reading->links[0].sent_bytes == 1e6);
                assert_true(reading->links[0].speed_bytes == 1.25e8);
                assert_int_equal(reading->ready_usable, 5); /* first and third */
                assert_true(reading->ready[0] == 0.25);
                assert_true(reading->ready[2] == 1.5); /* read for load, and as it stands */
                assert_int_equal(reading->malformed + reading->unusable, 0);
        }
        /* Of a page that may be cut, a part of a set would look like the whole. */
        parse(page.data, false);
        assert_int_equal(reading->usable & (BIT(MEM) | BIT(PSI_CPU)), BIT(MEM) | BIT(PSI_CPU));
        assert_int_equal(reading->usable & (BIT(CPU) | BIT(DISK) | BIT(NET) | BIT(FS)), 0);
}

#define CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 5\n"
#define CPU0_USER "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 1\n"
#define MEM "node_memory_MemAvailable_bytes 25\nnode_memory_MemTotal_bytes 100\n"

TEST(trust) {
        static const struct {
                const char *page;
                uint32_t usable;
                size_t malformed, unusable;
        } rows[] = {
                {"", 0, 0, 0},
                {CPU0 CPU0_USER MEM, BIT(CPU) | BIT(MEM), 0, 0},
                /* first come, first served */
                {CPU0 CPU0_USER CPU0 MEM MEM, BIT(CPU) | BIT(MEM), 0, 0},
                {CPU0 CPU0_USER "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} NaN\n", BIT(CPU),
                 0, 0},
                {CPU0_USER, 0, 0, 0}, /* a CPU without idle */
                {CPU0 "node_cpu_seconds_total{cpu=\"1\",mode=\"user\"} 1\n", 0, 0, 0},
                {CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} NaN\n" MEM, BIT(MEM), 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} -1\n" MEM, BIT(MEM), 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} +Inf\n" MEM, BIT(MEM), 0, 1},
                /* An idle time that stands still forever would be a node at 100%. */
                {CPU0 "node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} 1e300\n" MEM, BIT(MEM), 0,
                 1},
                {"node_disk_io_time_seconds_total{device=\"a\"} 1e300\n", 0, 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 1x\n" MEM, BIT(MEM), 1, 0},
                {CPU0 "node_cpu_seconds_total{cpu=\"x\",mode=\"user\"} 1\n", 0, 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"-1\",mode=\"user\"} 1\n", 0, 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"8192\",mode=\"user\"} 1\n", 0, 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"0\"} 1\n", 0, 0, 1},
                {CPU0 "node_cpu_seconds_total{mode=\"user\"} 1\n", 0, 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"\"} 1\n", 0, 0, 1},
                {CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"a_mode_of_many_letters\"} 1\n", 0, 0,
                 1},
                {CPU0 "node_cpu_seconds_total{mode=\"user\",cpu=\"0\"} 1\n", BIT(CPU), 0, 0},
                {"node_memory_MemAvailable_bytes 25\n", 0, 0, 0},
                {"node_memory_MemTotal_bytes 25\n", 0, 0, 0},
                {"node_memory_MemAvailable_bytes 0\nnode_memory_MemTotal_bytes 0\n", 0, 0, 0},
                {"node_memory_MemAvailable_bytes NaN\n" MEM, 0, 0, 1},
                {"node_memory_MemAvailable_bytes 9\nnode_memory_MemTotal_bytes 8\n", BIT(MEM), 0,
                 0},
                /* Much more than there is: taken for 0% the node would draw every pod. */
                {"node_memory_MemAvailable_bytes 1e300\nnode_memory_MemTotal_bytes 8\n", 0, 0, 0},
                {"node_memory_SwapFree_bytes 1.8e19\nnode_memory_SwapTotal_bytes 8\n", 0, 0, 0},
                {"node_memory_SwapFree_bytes 9\nnode_memory_SwapTotal_bytes 0\n", 0, 0, 0},
                {"node_load5 1\n", 0, 0, 0}, /* over how many CPUs? */
                {"node_load5 1\n" CPU0, BIT(CPU) | BIT(LOAD), 0, 0},
                {"node_load5 -1\n" CPU0, BIT(CPU), 0, 2}, /* wanted for load and as it stands */
                {"node_my_metric -1\n", 0, 0, 1},
                {"node_disk_io_time_seconds_total{device=\"a\"} 1\n", BIT(DISK), 0, 0},
                {"node_disk_io_time_seconds_total 1\n", 0, 0, 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                parse(rows[i].page, true);
                if (reading->usable != rows[i].usable || reading->malformed != rows[i].malformed ||
                    reading->unusable != rows[i].unusable)
                        fail_msg("row %zu: usable %x, malformed %zu, unusable %zu", i,
                                 reading->usable, reading->malformed, reading->unusable);
        }
        parse("node_memory_MemAvailable_bytes 8\nnode_memory_MemTotal_bytes 8\n", true);
        assert_true(reading->usable == BIT(MEM) && reading->values[METRIC_MEM] == 0);
        /* Kernels and lxcfs may count more free bytes than there are: none is used. */
        parse("node_memory_MemAvailable_bytes 9\nnode_memory_MemTotal_bytes 8\n"
              "node_memory_SwapFree_bytes 5\nnode_memory_SwapTotal_bytes 4\n",
              true);
        assert_int_equal(reading->usable, BIT(MEM) | BIT(SWAP));
        assert_true(reading->values[METRIC_MEM] == 0 && reading->values[METRIC_SWAP] == 0);
        /* A node without swap has a reason in place of a value. */
        parse("node_memory_SwapFree_bytes 0\nnode_memory_SwapTotal_bytes 0\n", true);
        assert_int_equal(reading->usable, 0);
        assert_string_equal(reading->why[METRIC_SWAP], "the node has none: its total is 0");
        /* More used than there is cannot be. */
        parse("node_load5 99\n" CPU0, true);
        assert_true(reading->values[METRIC_LOAD] == 1);
}

/* A ready-made value that no annotation would have. */
TEST(large_value) {
        parse("node_my_metric 1e308\n", true);
        assert_int_equal(reading->ready_usable, 1);
        assert_true(reading->ready[0] == ANNOTATION_RATIO_MAX);
}

/* Of two the first counts, whether it is usable or not. */
TEST(repeated_value) {
        parse("node_my_metric 0.25\nnode_my_metric 0.5\n", true);
        assert_int_equal(reading->ready_usable, 1);
        assert_true(reading->ready[0] == 0.25);
        parse("node_my_metric NaN\nnode_my_metric 0.5\nnode_my_metric -1\n", true);
        assert_int_equal(reading->ready_usable, 0);
        assert_int_equal(reading->unusable, 1);
}

TEST(collectors) {
        const char *names[NODE_MAX_COLLECTORS];
        static const char *const ready[] = {"x"};
        struct node_wants some;

        node_wants_init(&some, &(struct node_wants_options){.resources = BIT(CPU) | BIT(MEM)});
        assert_int_equal(node_wants_collectors(&some, names), 2);
        assert_string_equal(names[0], "cpu");
        assert_string_equal(names[1], "meminfo");
        node_wants_init(&some, &(struct node_wants_options){.resources = BIT(CPU),
                                                            .wants_host_name = true});
        assert_int_equal(node_wants_collectors(&some, names), 2);
        assert_string_equal(names[1], "uname");
        node_wants_init(&some, &(struct node_wants_options){.resources = BIT(LOAD) | BIT(PSI_IO) |
                                                                         BIT(PSI_CPU)});
        assert_int_equal(node_wants_collectors(&some, names), 3);
        assert_string_equal(names[2], "pressure");
        node_wants_init(&some, &(struct node_wants_options){.resources = BIT(NET_RX) | BIT(FS)});
        assert_int_equal(node_wants_collectors(&some, names), 3);
        assert_string_equal(names[0], "netdev");
        assert_string_equal(names[1], "netclass");
        assert_string_equal(names[2], "filesystem");
        node_wants_init(&some, &(struct node_wants_options){
                                       .resources = BIT(CPU), .ready = ready, .ready_count = 1});
        assert_int_equal(node_wants_collectors(&some, names), 0);
        node_wants_init(&some, &(struct node_wants_options){.resources = 0});
        node_reading_parse(reading, &some, CPU0, sizeof(CPU0) - 1, true);
        assert_int_equal(reading->usable, 0);
}

#define A_50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UNAME(labels) "node_uname_info{" labels "} 1\n"

/* In lower case; of two the first; none when it is missing, or longer than a host may be called. */
TEST(host_name) {
        static const struct {
                const char *page, *expected;
        } rows[] = {
                {UNAME("nodename=\"Own-1.A\",sysname=\"Linux\""), "own-1.a"},
                {UNAME("nodename=\"own\"") UNAME("nodename=\"other\""), "own"},
                {UNAME("sysname=\"Linux\""), ""},
                {UNAME("nodename=\"" A_50 A_50 A_50 A_50 A_50 A_50 "\""), ""},
        };
        struct node_wants some;

        node_wants_init(&some, &(struct node_wants_options){.resources = BIT(CPU),
                                                            .wants_host_name = true});
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                node_reading_parse(reading, &some, rows[i].page, strlen(rows[i].page), true);
                assert_string_equal(reading->host_name, rows[i].expected);
        }
}

/* Returns the resources that the reading before had, and that this step says nothing of. */
static uint32_t dropped_by_step(struct node_state *state, int64_t now_mono_ms,
                                struct window_step *ret_step) {
        uint32_t usable_before = state->usable;

        node_state_step(state, &wants, reading, now_mono_ms, ret_step);
        return usable_before & ~(ret_step->counters | ret_step->gauges);
}

/* One step from page to page: the CPU ratio, or -1 when the interval is dropped. */
static double step_cpu(struct node_state *state, const char *page, int64_t now_mono_ms,
                       uint32_t *ret_dropped) {
        struct window_step step;

        parse(page, true);
        *ret_dropped = dropped_by_step(state, now_mono_ms, &step);
        if (!(step.counters & BIT(CPU)))
                return -1;
        assert_true(step.num[METRIC_CPU] >= 0 && step.num[METRIC_CPU] <= step.den[METRIC_CPU]);
        return step.num[METRIC_CPU] / step.den[METRIC_CPU];
}

TEST(cpu_steps) {
        static const struct {
                struct machine machine;
                double ratio; /* -1: dropped */
        } rows[] = {
                {{2, 1000, 60, 8e9, 6e9}, -1}, /* the first says nothing yet */
                {{2, 1012, 63, 8e9, 6e9}, 0.2},
                {{2, 1012, 78, 8e9, 6e9}, 1},
                {{2, 1012, 78, 8e9, 6e9}, -1}, /* the same page again */
                {{2, 1027, 78, 8e9, 6e9}, 0},
                {{3, 1039, 81, 8e9, 6e9}, 0.2}, /* a CPU more */
                {{3, 1039 + 7.5, 81 + 7.5, 8e9, 6e9}, 0.5},
                {{1, 1058.5, 91.5, 8e9, 6e9}, 0.2}, /* two less */
                {{3, 1070.5, 94.5, 8e9, 6e9}, -1},  /* two more: most of them have no past */
                {{1, 1082.5, 97.5, 8e9, 6e9}, 0.2},
                {{1, 1082.5 + 3.5, 97.5 + 3.5, 8e9, 6e9}, 0.5}, /* a page that was overtaken */
                {{1, 1086 + 3, 101 + 3.5, 8e9, 6e9}, -1},       /* most of the time is missing */
                {{1, 1089 + 600, 104.5 + 200, 8e9, 6e9}, 0.25}, /* a clock that runs fast */
                {{1, 3, 2, 8e9, 6e9}, -1},                      /* reboot */
                {{1, 9, 8, 8e9, 6e9}, 0.5},
                {{1, 8, 20, 8e9, 6e9}, -1}, /* only idle goes back */
                {{1, 20, 20, 8e9, 6e9}, 0},
                {{1, 21, 19, 8e9, 6e9}, -1}, /* only busy goes back */
                {{1, 21 + 9, 19 + 1, 8e9, 6e9}, 0.1},
                {{1, 21 + 9, 20 - 1e-9, 8e9, 6e9}, -1}, /* standing still */
                {{1, 30 + 9, 20, 8e9, 6e9}, 0},
                {{1, 39 - 0.05, 35.05, 8e9, 6e9}, 1}, /* idle takes back five ticks */
                {{1, 54, 35, 8e9, 6e9}, 0},           /* busy, as iowait does */
                {{1, 69, 1e14, 8e9, 6e9}, -1},        /* absurd */
        };
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 16);
        uint32_t dropped = 0;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                write_page(&rows[i].machine, &page);
                double ratio = step_cpu(&before, page.data, 15000 * (int64_t)i, &dropped);
                if (fabs(ratio - rows[i].ratio) > 1e-6)
                        fail_msg("row %zu: %g", i, ratio);
                assert_int_equal(dropped & BIT(CPU), i > 0 && ratio < 0 ? BIT(CPU) : 0);
        }
}

/* A mode that vanishes and returns would count a whole uptime in one interval. */
TEST(mode_set_changes) {
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        uint32_t dropped = 0;

        step_cpu(&before, CPU0 CPU0_USER, 0, &dropped);
        assert_true(step_cpu(&before, CPU0, 15000, &dropped) == -1);
        assert_int_equal(dropped, BIT(CPU));
        assert_true(step_cpu(&before, CPU0 CPU0_USER, 30000, &dropped) == -1);
        /* An unusable page in between takes both of its intervals with it. */
        assert_true(step_cpu(&before, CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} x\n",
                             45000, &dropped) == -1);
        assert_int_equal(dropped, BIT(CPU));
        assert_true(step_cpu(&before, CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 2\n",
                             60000, &dropped) == -1);
        assert_int_equal(dropped, 0); /* there was nothing to compare with */
        assert_true(step_cpu(&before, CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 17\n",
                             75000, &dropped) == 1);
}

static void write_cpu(struct buf *page, unsigned cpu, double idle_s, double busy_s) {
        buf_printf(page,
                   "node_cpu_seconds_total{cpu=\"%u\",mode=\"idle\"} %.17g\n"
                   "node_cpu_seconds_total{cpu=\"%u\",mode=\"user\"} %.17g\n",
                   cpu, idle_s, cpu, busy_s);
}

/* Every second another CPU's idle time is two ticks less than it was; all CPUs are busy. */
TEST(idle_time_goes_back) {
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 12);
        uint32_t dropped = 0;

        for (unsigned second = 0; second < 5; second++) {
                buf_clear(&page);
                for (unsigned cpu = 0; cpu < 4; cpu++)
                        write_cpu(&page, cpu, 1000 + 0.01 * second - (cpu + 1 == second ? 0.03 : 0),
                                  100 + second);
                double ratio = step_cpu(&before, page.data, 1000 * (int64_t)second, &dropped);
                assert_true(second == 0 ? ratio == -1 : ratio > 0.98);
        }
}

/* CPUs of other ids and modes than before are left out, and one that was reset. */
TEST(odd_cpus) {
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 12);
        uint32_t dropped = 0;

        for (unsigned cpu = 0; cpu < 7; cpu++)
                write_cpu(&page, cpu, 1000, 100);
        assert_true(step_cpu(&before, page.data, 0, &dropped) == -1);
        buf_clear(&page);
        for (unsigned cpu = 1; cpu < 6; cpu++) /* 0 and 6 are gone */
                write_cpu(&page, cpu, cpu == 2 ? 7 : 1006, cpu == 2 ? 8 : 104);
        buf_puts(&page, "node_cpu_seconds_total{cpu=\"3\",mode=\"guest\"} 7777\n");
        write_cpu(&page, 9, 5555, 1);
        assert_true(fabs(step_cpu(&before, page.data, 10000, &dropped) - 0.4) < 1e-9);
}

/* As in a container with lxcfs: the idle time stands still, and 2% of the time is busy. */
TEST(missing_time) {
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 12);
        uint32_t dropped = 0;

        for (unsigned second = 0; second < 3; second++) {
                buf_clear(&page);
                for (unsigned cpu = 0; cpu < 4; cpu++)
                        write_cpu(&page, cpu, 5000, 100 + 0.02 * second);
                assert_true(step_cpu(&before, page.data, 1000 * (int64_t)second, &dropped) == -1);
                const char *why = reading->why[METRIC_CPU];
                assert_true(second == 0 ? !why : why && strstr(why, "does not add up"));
        }
}

/* Whether the CPUs of a page stand still, and whether they may be those of the same machine after
 * 10 s. */
TEST(same_machine) {
        static const struct {
                const char *page;
                bool is_repeated, is_continued;
        } rows[] = {
#define CPU(id, idle, busy)                                                                        \
        "node_cpu_seconds_total{cpu=\"" id "\",mode=\"idle\"} " idle "\n"                          \
        "node_cpu_seconds_total{cpu=\"" id "\",mode=\"user\"} " busy "\n"
                {CPU("0", "100", "50"), true, false},
                {CPU("0", "109", "51"), false, true},
                {CPU("0", "101", "50"), false, false},
                {CPU("0", "100", "60"), false, true},
                {CPU("0", "99", "61"), false, true}, /* idle time may go back a little */
                {CPU("0", "90", "70"), false, false},
                {CPU("0", "100", "49"), false, false},
                {CPU("0", "120", "40"), false, false},
                {CPU("1", "100", "50"), false, false},
                {CPU("0", "100", "50") CPU("1", "100", "50"), false, false},
                {"node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100\n"
                 "node_cpu_seconds_total{cpu=\"0\",mode=\"nice\"} 50\n",
                 false, false},
                {MEM, false, false},
        };
        struct node_state before = NODE_STATE_NULL;
        struct window_step step;

        parse(CPU("0", "100", "50"), true);
        assert_false(node_state_is_repeated(&before, reading));
        assert_false(node_state_is_continued(&before, reading, 10000));
        node_state_step(&before, &wants, reading, 0, &step);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                parse(rows[i].page, true);
                if (node_state_is_repeated(&before, reading) != rows[i].is_repeated ||
                    node_state_is_continued(&before, reading, 10000) != rows[i].is_continued)
                        fail_msg("row %zu", i);
        }
        /* The same number of CPUs is no reason to compare one with another. */
        parse(CPU("1", "109", "51"), true);
        node_state_step(&before, &wants, reading, 10000, &step);
        assert_int_equal(step.counters, 0);
        node_state_done(&before);
#undef CPU
}

TEST(wall_counters) {
        static const char first[] = "node_pressure_cpu_waiting_seconds_total 10\n"
                                    "node_disk_io_time_seconds_total{device=\"a\"} 1\n"
                                    "node_disk_io_time_seconds_total{device=\"b\"} 1\n";
        static const char second[] = "node_pressure_cpu_waiting_seconds_total 13\n"
                                     "node_disk_io_time_seconds_total{device=\"b\"} 7\n"
                                     "node_disk_io_time_seconds_total{device=\"a\"} 2\n";
        static const char third[] = "node_pressure_cpu_waiting_seconds_total 99\n"
                                    "node_disk_io_time_seconds_total{device=\"b\"} 1\n"
                                    "node_disk_io_time_seconds_total{device=\"a\"} 5\n"
                                    "node_disk_io_time_seconds_total{device=\"c\"} 500\n";
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        struct window_step step;

        parse(first, true);
        assert_int_equal(dropped_by_step(&before, 0, &step), 0);
        assert_int_equal(step.counters, 0);
        parse(second, true);
        assert_int_equal(dropped_by_step(&before, 12000, &step), 0);
        assert_int_equal(step.counters, BIT(PSI_CPU) | BIT(DISK));
        assert_true(step.num[METRIC_PSI_CPU] == 3 && step.den[METRIC_PSI_CPU] == 12);
        assert_true(step.num[METRIC_DISK] == 6 && step.den[METRIC_DISK] == 12);
        parse(third, true);
        /* One that was reset, and a new one, are left out. */
        assert_int_equal(dropped_by_step(&before, 24000, &step), 0);
        assert_true(step.num[METRIC_DISK] == 3 && step.den[METRIC_DISK] == 12);
        assert_true(step.num[METRIC_PSI_CPU] == 12); /* no more than all of the time */
        /* A clock that stands still gives no interval. */
        assert_int_equal(dropped_by_step(&before, 24000, &step), BIT(DISK) | BIT(PSI_CPU));
        assert_int_equal(step.counters, 0);
        /* Another disk in their place. */
        parse("node_disk_io_time_seconds_total{device=\"d\"} 3\n", true);
        assert_int_equal(dropped_by_step(&before, 36000, &step), BIT(DISK) | BIT(PSI_CPU));
        assert_int_equal(step.counters, 0);
        assert_string_equal(reading->why[METRIC_DISK],
                            "its counters are new or were reset since the last scrape");
}

/* 16 MiB of wanted series that are all different, or all the same: bounded in time and memory. */
TEST(floods) {
        _cleanup_(buf_done) struct buf page = BUF_INIT(EXPOSITION_MAX_BYTES);

        for (unsigned i = 0; !page.overflow; i++)
                buf_printf(&page,
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"m%u\"} 1\n"
                           "node_disk_io_time_seconds_total{device=\"d%u\"} 1\n",
                           i % 9000, i % 40, i);
        node_reading_parse(reading, &wants, page.data, page.len, true);
        assert_int_equal(reading->usable, 0);
        assert_true(reading->unusable > NODE_MAX_DEVICES);
        assert_true(reading->cpu_count <= NODE_MAX_CPUS);
        buf_clear(&page);
        while (!page.overflow)
                buf_puts(&page, CPU0);
        node_reading_parse(reading, &wants, page.data, page.len, true);
        assert_int_equal(reading->usable, BIT(CPU));
        assert_int_equal(reading->cpu_count, 1);
}

TEST_GROUP(set_up, tear_down)
