/* Pages become readings, and two readings a step: tests/data/node-pages.tsv. What a page may not
 * do. */
#include "tests/unit/fixture/policy.h"
#include "tests/unit/fixture/rows.h"

#include <errno.h>

#include "base/buf.h"
#include "controller/exposition/node_state.h"

#define BIT(resource) NODE_RESOURCE_BIT(METRIC_##resource)
#define NET (BIT(NET) | BIT(NET_RX) | BIT(NET_TX))
#define OWN(i) NODE_RESOURCE_BIT(METRIC_RESOURCE_COUNT + (i))

/* Abbreviations of a page's lines: a word, and lines in which $1 is the first word behind it. */
struct abbreviation {
        const char *word, *lines;
};

struct fixture {
        struct abbreviation abbreviations[16];
        size_t abbreviation_count;
        struct policy *policy; /* the wants borrow its resources */
        struct node_wants wants;
        struct node_reading *reading;
        struct node_state state;
        int64_t now_mono_ms;
        struct buf page, outcome;
};

static void set_wants(struct fixture *f, char *words, const char *metrics) {
        _cleanup_(freep) char *spec = xasprintf(
                "  metrics: [%s]\n"
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n",
                metrics ? metrics : "");
        struct node_network_options network = {0};
        struct node_wants_options options = {.network = &network};
        const char *ready[NODE_MAX_READY];

        policy_free(f->policy);
        f->policy = policy_of(spec);
        options.own = f->policy->resources;
        options.own_count = f->policy->resource_count;
        options.ready = ready;
        for (char *word; (word = strsep(&words, " "));) {
                unsigned resource = 0, count = METRIC_RESOURCE_COUNT + (unsigned)options.own_count;

                while (resource < count &&
                       strcmp(word, policy_resource_name(f->policy, resource)) != 0)
                        resource++;
                if (resource < count)
                        options.resources |= NODE_RESOURCE_BIT(resource);
                else if (strncmp(word, "ready:", 6) == 0)
                        ready[options.ready_count++] = word + 6;
                else if (strncmp(word, "devices:", 8) == 0)
                        assert_int_equal(glob_list_parse(word + 8, &network.devices, NULL), 0);
                else if (strncmp(word, "speed:", 6) == 0)
                        network.speed_bytes = strtod(word + 6, NULL);
                else
                        options.wants_host_name = true;
        }
        node_wants_init(&f->wants, &options);
}

/* One line of an abbreviation; none if a word that it needs is missing, or a "-". */
static void put_line(struct buf *page, const char *line, size_t len, char *const *words) {
        size_t begin = page->len;

        for (size_t i = 0; i < len; i++) {
                if (line[i] != '$') {
                        buf_printf(page, "%c", line[i]);
                        continue;
                }
                const char *word = words[line[++i] - '0'];
                if (!word || strcmp(word, "-") == 0) {
                        page->len = begin;
                        return;
                }
                buf_puts(page, word);
        }
        buf_puts(page, "\n");
}

static void put_entry(struct fixture *f, char *entry) {
        const char *lines = entry;
        char *words[10] = {0};

        for (size_t i = 0; i < f->abbreviation_count; i++) {
                const struct abbreviation *it = &f->abbreviations[i];
                size_t len = strlen(it->word);

                if (strncmp(entry, it->word, len) == 0 && strchr(" ", entry[len])) {
                        lines = it->lines;
                        for (size_t w = 0; entry && w < ARRAY_LEN(words); w++)
                                words[w] = strsep(&entry, " ");
                        break;
                }
        }
        for (size_t len; *lines; lines += len + (lines[len] == ';')) {
                len = strcspn(lines, ";");
                put_line(&f->page, lines, len, words);
        }
}

static void take_page(struct fixture *f, char *entries) {
        buf_clear(&f->page);
        buf_puts(&f->page, "");
        for (char *entry; (entry = strsep(&entries, ";"));)
                put_entry(f, entry + strspn(entry, " "));
}

/* What the page says, in order; nothing of resources whose series are not on it. */
static void tell(struct fixture *f) {
        struct node_reading *page = f->reading;
        struct buf *out = &f->outcome;
        struct window_step step;
        const char *last_why = NULL;

        node_reading_parse(page, &f->wants, f->page.data, f->page.len, true);
        bool is_repeated = node_state_is_repeated(&f->state, page);
        bool is_continued = node_state_is_continued(&f->state, page, f->now_mono_ms);
        node_state_step(&f->state, &f->wants, page, f->now_mono_ms, &step);
        buf_clear(out);
        buf_puts(out, "");
        for (unsigned r = 0; f->wants.resources >> r != 0; r++) {
                const char *name = policy_resource_name(f->policy, r), *why = page->why[r];

                if (!(f->wants.resources >> r & 1) || (why && strstr(why, "no such series")))
                        continue;
                if (step.counters >> r & 1)
                        buf_printf(out, "; %s %.6g", name, step.num[r] / step.den[r]);
                else if (step.gauges >> r & 1)
                        buf_printf(out, "; %s %.6g", name, step.num[r]);
                else
                        buf_printf(out, "; %s: %s", name,
                                   !why              ? "begins"
                                   : why == last_why ? "ditto"
                                                     : why);
                last_why = why;
        }
        for (size_t i = 0; i < NODE_MAX_READY; i++)
                if (page->ready_usable >> i & 1)
                        buf_printf(out, "; %s %.6g", f->wants.ready[i], page->ready[i]);
        if (page->host_name[0] != '\0')
                buf_printf(out, "; host %s", page->host_name);
        if (page->link_count > 0)
                buf_printf(out, "; links %zu", page->link_count);
        if (page->malformed + page->unusable > 0)
                buf_printf(out, "; malformed %zu, unusable %zu", page->malformed, page->unusable);
        buf_puts(out, is_repeated ? "; repeated" : is_continued ? "; continued" : "");
}

/* Of a page that may be cut, a part of a set would look like the whole. */
static void check_cut_page(struct fixture *f) {
        node_reading_parse(f->reading, &f->wants, f->page.data, f->page.len, false);
        for (unsigned r = 0; f->reading->usable >> r != 0; r++)
                if (f->reading->usable >> r & 1)
                        assert_true(r < METRIC_RESOURCE_COUNT &&
                                    (metric_resource_rows[r].kind == METRIC_KIND_SHARE ||
                                     metric_resource_rows[r].kind == METRIC_KIND_TIME));
}

TEST(pages) {
        struct fixture f = {.reading = node_reading_new(),
                            .page = BUF_INIT(1 << 16),
                            .outcome = BUF_INIT(4096)};
        struct rows rows = rows_open("node-pages.tsv");

        while (rows_next(&rows)) {
                char **cells = rows.cells;

                if (strcmp(cells[0], "define") == 0) {
                        f.abbreviations[f.abbreviation_count++] = (struct abbreviation){cells[1],
                                                                                        cells[2]};
                        continue;
                }
                if (strcmp(cells[0], "wants") == 0) {
                        set_wants(&f, cells[1], rows.cell_count > 2 ? cells[2] : NULL);
                        continue;
                }
                f.now_mono_ms += strtol(cells[0], NULL, 10) * 1000;
                if (strcmp(cells[0], "first") == 0)
                        node_state_done(&f.state);
                take_page(&f, cells[1]);
                tell(&f);
                if (strcmp(f.outcome.data + (f.outcome.len > 0 ? 2 : 0), cells[2]) != 0)
                        fail_msg("%s: %s\n%s", rows.place,
                                 f.outcome.data + (f.outcome.len > 0 ? 2 : 0), f.page.data);
                check_cut_page(&f);
        }
        policy_free(f.policy);
        node_state_done(&f.state);
        node_reading_free(f.reading);
        buf_done(&f.page);
        buf_done(&f.outcome);
}

static struct node_reading *reading;

static int set_up(void **state) {
        reading = node_reading_new();
        return 0;
}

static int tear_down(void **state) {
        node_reading_free(reading);
        return 0;
}

static void parse(const struct node_wants *wants, const char *page) {
        node_reading_parse(reading, wants, page, strlen(page), true);
}

/* Another policy's resources are others, and what was a gauge has left nothing to compare a counter
 * with. */
TEST(another_policy) {
        static const struct policy_resource counter = {
                .series = "s", .type = POLICY_COUNTER, .capacity = 100};
        static const struct policy_resource gauge = {.series = "s", .capacity = 100};
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        struct node_wants wants, gauges;
        struct window_step step;

        node_wants_init(&gauges, &(struct node_wants_options){
                                         .resources = OWN(0), .own = &gauge, .own_count = 1});
        node_wants_init(&wants, &(struct node_wants_options){
                                        .resources = OWN(0), .own = &counter, .own_count = 1});
        parse(&gauges, "s 1\n");
        node_state_step(&before, &gauges, reading, 0, &step);
        assert_int_equal(step.gauges, OWN(0));
        assert_null(before.series); /* gauges need no memory */
        parse(&wants, "s 2\n");
        for (int64_t s = 10; s <= 40; s += 10) {
                node_state_step(&before, &wants, reading, s * 1000, &step);
                assert_int_equal(step.counters, s == 20 || s == 40 ? OWN(0) : 0);
                if (s == 20)
                        node_state_forget_own(&before);
        }
}

TEST(speeds) {
        static const struct {
                const char *text;
                double bytes; /* 0: refused */
        } rows[] = {
                {"999999", 0},   {"1000000000", 1.25e8},
                {"1G", 1.25e8},  {"2.5G", 3.125e8},
                {"8000k", 1e6},  {"100M", 1.25e7},
                {"1T", 1.25e11}, {"", 0},
                {"G", 0},        {"0", 0},
                {"-1G", 0},      {"1g", 0},
                {"1GB", 0},      {"1 G", 0},
                {"inf", 0},      {"1e308T", 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct error err = ERROR_NULL;
                double bytes = 0;
                int r = node_network_speed_parse(rows[i].text, &bytes, &err);
                if (r != (rows[i].bytes > 0 ? 0 : -EINVAL) || bytes != rows[i].bytes)
                        fail_msg("%s: %d, %g", rows[i].text, r, bytes);
        }
}

#define CPU0 "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 5\n"

TEST(collectors) {
        const char *names[NODE_MAX_COLLECTORS];
        static const char *const ready[] = {"x"};
        static const struct policy_resource own = {.series = "x", .capacity = 1};
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
        node_wants_init(&some, &(struct node_wants_options){
                                       .resources = OWN(0), .own = &own, .own_count = 1});
        assert_int_equal(node_wants_collectors(&some, names), 0);
        node_wants_init(&some, &(struct node_wants_options){.resources = 0});
        node_reading_parse(reading, &some, CPU0, sizeof(CPU0) - 1, true);
        assert_int_equal(reading->usable, 0);
}

/* As an exporter writes that copies the labels of pods. */
TEST(many_labels) {
        static const struct policy_resource own[] = {
                {.series = "depth", .capacity = 1000, .match_count = 1, .matches = {{"l0", "v"}}}};
        struct node_wants wants;

        node_wants_init(&wants, &(struct node_wants_options){
                                        .resources = OWN(0), .own = own, .own_count = 1});
        for (unsigned labels = 40; labels < 1000; labels += 88) {
                _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 16);

                buf_puts(&page, "depth{");
                for (unsigned i = 0; i < labels; i++)
                        buf_printf(&page, "l%u=\"v\",", i);
                buf_puts(&page, "} 500\n");
                parse(&wants, page.data);
                if (labels <= 128)
                        assert_true(reading->usable == OWN(0) &&
                                    reading->values[METRIC_RESOURCE_COUNT] == 0.5);
                else
                        assert_string_equal(reading->why[METRIC_RESOURCE_COUNT],
                                            "a value on the page is invalid, or a series has more "
                                            "than 128 labels");
        }
}

/* 16 MiB of wanted series that are all different, or all the same: bounded in time and memory. */
TEST(floods) {
        _cleanup_(buf_done) struct buf page = BUF_INIT(EXPOSITION_MAX_BYTES);
        struct node_wants wants;

        node_wants_init(&wants, &(struct node_wants_options){.resources = BIT(CPU) | BIT(DISK)});

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

/* More devices than there can be, and every one of them wanted: bounded, and unusable. */
TEST(too_many_devices) {
        static const struct policy_resource own[] = {{.series = "s", .capacity = 1}};
        _cleanup_(buf_done) struct buf page = BUF_INIT(4 << 20);
        struct node_wants wants;

        for (unsigned i = 0; !page.overflow; i++)
                buf_printf(&page,
                           "node_network_receive_bytes_total{device=\"eth%u\"} 1\n"
                           "node_filesystem_size_bytes{device=\"/dev/a%u\",fstype=\"a\","
                           "mountpoint=\"/%u\"} 1\n"
                           "s{a=\"%u\"} 1\n",
                           i, i, i, i);
        node_wants_init(&wants, &(struct node_wants_options){.resources = NET | BIT(FS) | OWN(0),
                                                             .own = own,
                                                             .own_count = 1});
        node_reading_parse(reading, &wants, page.data, page.len, true);
        assert_int_equal(reading->usable, 0);
        for (unsigned r = 0; r <= METRIC_RESOURCE_COUNT; r++)
                assert_true(!(wants.resources >> r & 1) ||
                            strcmp(reading->why[r], "the page has more than 1024 such series") ==
                                    0);
        assert_true(reading->unusable > NODE_MAX_DEVICES);
}

TEST_GROUP(set_up, tear_down)
