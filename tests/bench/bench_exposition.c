/*
 * How fast a node_exporter page is skimmed, against reading every line strictly. The pages are made
 * from a real one: values and their lengths are random, 100 different pages in turn, so that no
 * branch predictor learns them.
 *
 *     bench_exposition                 measure
 *     bench_exposition --write DIR     write the pages there, for a peer to read the same bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/exposition/node_state.h"
#include "tests/bench/bench.h"

/* For the strict measure: the line parser behind the skim, which has no other outside user. */
#include "controller/exposition/exposition.c"

enum { PAGES = 100, ROUNDS = 15, CPUS = 64, VETHS = 40 };
static const char real_page[] = "tests/fuzz/corpus/node_reading/node_exporter-1.5.0";

/* The line with another value: integers, decimals and exponents as exporters print them. */
static void put_line(struct buf *out, const char *line, size_t len) {
        const char *blank = memrchr(line, ' ', len);

        if (len == 0 || line[0] == '#' || !blank) {
                buf_append(out, line, len);
        } else {
                uint64_t random = bench_random();
                buf_append(out, line, (size_t)(blank - line) + 1);
                if (random % 3 == 0)
                        buf_printf(out, "%llu",
                                   (unsigned long long)(random >> (random >> 8) % 40 >> 20));
                else if (random % 3 == 1)
                        buf_printf(out, "%.2f", (double)(random >> 30) / 1e4);
                else
                        buf_printf(out, "%.10ge+%02d", 1 + (double)(random >> 20) / 1e13, 9);
        }
        buf_putc(out, '\n');
}

/* The line once per CPU or device, as a big machine full of pods would have it. */
static void put_series(struct buf *out, const char *line, size_t len, const char *old,
                       const char *replacement, unsigned count) {
        const char *place = memmem(line, len, old, strlen(old));
        struct buf one = BUF_INIT(4096);

        for (unsigned i = 0; i < count; i++) {
                buf_clear(&one);
                buf_append(&one, line, (size_t)(place - line));
                buf_printf(&one, "%s%u\"", replacement, i);
                buf_append(&one, place + strlen(old), len - (size_t)(place - line) - strlen(old));
                put_line(out, one.data, one.len);
        }
        buf_done(&one);
}

static void make_page(const char *real, size_t real_len, bool is_big, struct buf *out) {
        const char *end = real + real_len;

        for (const char *line = real; line < end;) {
                size_t len = (size_t)((char *)memchr(line, '\n', (size_t)(end - line)) - line);
                if (is_big && memmem(line, len, "cpu=\"1\"", 7))
                        ; /* the lines of cpu="0" stand for all */
                else if (is_big && memmem(line, len, "cpu=\"0\"", 7))
                        put_series(out, line, len, "cpu=\"0\"", "cpu=\"", CPUS);
                else if (is_big && memmem(line, len, "device=\"eth0\"", 13))
                        put_series(out, line, len, "device=\"eth0\"", "device=\"veth0000", VETHS);
                else
                        put_line(out, line, len);
                line += len + 1;
        }
}

/* What is measured; each returns something of its work, so that it is not optimised away. */

static bool is_name_char[256];

static size_t strict(const char *page, size_t len) {
        struct exposition_sample sample;
        size_t count = 0;

        for (const char *end = page + len, *line_end; page < end; page = line_end + 1) {
                line_end = memchr(page, '\n', (size_t)(end - page));
                const char *at = page;
                while (at < line_end && is_name_char[(unsigned char)*at])
                        at++;
                if (at > page)
                        count += parse_series(at, line_end, &sample);
        }
        return count;
}

static struct node_wants wants;

static size_t skim(const char *page, size_t len) {
        struct exposition_sample sample;
        struct exposition state;
        size_t samples = 0;

        exposition_begin(&state, &wants.set, page, len, true);
        while (exposition_next(&state, &sample))
                samples++;
        return samples;
}

static const struct {
        const char *name;
        size_t (*run)(const char *page, size_t len);
} kinds[] = {
        {"skim", skim},
        {"every line strictly", strict},
};

static void measure(const char *name, const struct buf *pages) {
        double us[ARRAY_LEN(kinds)][ROUNDS], bytes = 0;
        volatile size_t sink = 0;

        for (size_t i = 0; i < PAGES; i++)
                bytes += (double)pages[i].len / PAGES;
        for (size_t round = 0; round < ROUNDS; round++) {
                for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                        double start_us = bench_cpu_us();
                        for (size_t i = 0; i < PAGES; i++)
                                sink = sink + kinds[k].run(pages[i].data, pages[i].len);
                        us[k][round] = (bench_cpu_us() - start_us) / PAGES;
                }
        }
        (void)printf("page %s, %.1f kB, CPU time, median of %d\n", name, bytes / 1e3, ROUNDS);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                qsort(us[k], ROUNDS, sizeof(us[k][0]), bench_compare);
                double median = us[k][ROUNDS / 2];
                (void)printf("  %-24s %8.1f us %8.0f MB/s\n", kinds[k].name, median,
                             bytes / median);
        }
}

static void write_pages(const char *directory, const char *shape, const struct buf *pages) {
        for (size_t i = 0; i < PAGES; i++) {
                _cleanup_(freep) char *name = xasprintf("%s-%03zu", shape, i);
                bench_write(directory, name, pages[i].data, pages[i].len);
        }
}

int main(int argc, char **argv) {
        static const char *const names[] = {"node2", "k8s64"};
        _cleanup_(freep) char *real = NULL;
        size_t real_len = 0;

        bench_read(real_page, &real, &real_len);
        for (unsigned c = 0; c < 256; c++)
                is_name_char[c] = is_label_char((char)c, false) || c == ':';
        node_wants_init(&wants,
                        &(struct node_wants_options){.resources = NODE_RESOURCE_BIT(METRIC_CPU) |
                                                                  NODE_RESOURCE_BIT(METRIC_MEM)});
        for (size_t shape = 0; shape < ARRAY_LEN(names); shape++) {
                struct buf pages[PAGES];
                for (size_t i = 0; i < PAGES; i++) {
                        pages[i] = BUF_INIT(4 << 20);
                        make_page(real, real_len, shape == 1, &pages[i]);
                }
                if (argc == 3 && strcmp(argv[1], "--write") == 0)
                        write_pages(argv[2], names[shape], pages);
                else
                        measure(names[shape], pages);
                for (size_t i = 0; i < PAGES; i++)
                        buf_done(&pages[i]);
        }
        return 0;
}
