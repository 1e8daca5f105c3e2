/*
 * Pages to windows. The input is a sequence of pages, each ended by a NUL: they are scraped 15 s
 * apart. Whatever they say: usable values are in range, ratios of windows in [0, 1], what a cut
 * page says is what the whole page says, and memory stays within the arrays' ceilings.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/node_step.h"
#include "fuzz.h"

static const char *const ready[] = {"my_metric", "load5"};

static void check(bool condition) {
        if (!condition)
                abort();
}

static bool in_unit(double ratio) {
        return ratio >= 0 && ratio <= 1;
}

static void check_reading(const struct node_reading *reading) {
        check((reading->usable & ~NODE_READING_RESOURCES) == 0);
        check(reading->cpu_count <= NODE_MAX_CPUS && reading->disk_count <= NODE_MAX_DEVICES);
        for (size_t i = 1; i < reading->cpu_count; i++)
                check(reading->cpus[i - 1].id < reading->cpus[i].id);
        for (size_t i = 1; i < reading->disk_count; i++)
                check(reading->disks[i - 1].id < reading->disks[i].id);
        if (reading->usable & NODE_RESOURCE_BIT(METRIC_MEM))
                check(in_unit(reading->mem_ratio));
        if (reading->usable & NODE_RESOURCE_BIT(METRIC_LOAD))
                check(in_unit(reading->load_ratio));
        for (size_t i = 0; i < ARRAY_LEN(ready); i++)
                check(!(reading->ready_usable >> i & 1) || reading->ready[i] >= 0);
}

/* A cut page can lack what the whole page has, and cannot differ from it. */
static void check_cut(struct node_reading *whole, struct node_reading *cut,
                      const struct node_wants *wants, const char *page, size_t page_bytes) {
        size_t cut_bytes = page_bytes > 0 ? (size_t)(unsigned char)page[0] * page_bytes / 256 : 0;
        _cleanup_(freep) char *copy = xmalloc(cut_bytes);

        if (cut_bytes > 0)
                memcpy(copy, page, cut_bytes);
        node_reading_parse(cut, wants, copy, cut_bytes, false);
        check_reading(cut);
        check(!(cut->usable & (NODE_RESOURCE_BIT(METRIC_CPU) | NODE_RESOURCE_BIT(METRIC_LOAD) |
                               NODE_RESOURCE_BIT(METRIC_DISK))));
        uint32_t both = whole->usable & cut->usable;
        if (both & NODE_RESOURCE_BIT(METRIC_MEM))
                check(whole->mem_ratio == cut->mem_ratio);
        for (unsigned i = 0; i < 3; i++)
                check(!(both & NODE_RESOURCE_BIT(METRIC_PSI_CPU + i)) ||
                      whole->psi_s[i] == cut->psi_s[i]);
        for (size_t i = 0; i < ARRAY_LEN(ready); i++)
                check(!(whole->ready_usable & cut->ready_usable & 1u << i) ||
                      whole->ready[i] == cut->ready[i]);
}

static void check_windows(const struct window_store *store, const struct metric_query *queries,
                          size_t count, int64_t now_mono_ms) {
        for (size_t i = 0; i < count; i++) {
                struct window_reading reading = window_read(store, &queries[i], now_mono_ms);
                check(in_unit(reading.ratio) && in_unit(reading.fullness));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct metric_query queries[METRIC_RESOURCE_COUNT * 2];
        for (unsigned i = 0; i < ARRAY_LEN(queries); i++) {
                queries[i] = (struct metric_query){
                        .resource = (enum metric_resource)(i / 2),
                        .statistic = i % 2 ? METRIC_MAX_AVG : METRIC_AVG,
                        .window_ms = 5 * MS_PER_MIN,
                };
        }
        _cleanup_(window_plan_freep) struct window_plan *plan = window_plan_new(
                queries, ARRAY_LEN(queries), 15 * MS_PER_S);
        _cleanup_(window_store_freep) struct window_store *store = window_store_new(plan);
        _cleanup_(node_reading_freep) struct node_reading *reading = node_reading_new();
        _cleanup_(node_reading_freep) struct node_reading *cut = node_reading_new();
        struct node_state before = NODE_STATE_NULL;
        struct node_wants wants;
        int64_t now_mono_ms = 0;

        node_wants_init(&wants, UINT32_MAX, ready, ARRAY_LEN(ready));
        while (size > 0) {
                const uint8_t *nul = memchr(data, '\0', size);
                size_t page_bytes = nul ? (size_t)(nul - data) : size;
                _cleanup_(freep) char *page = xmalloc(page_bytes);
                struct window_step step;

                if (page_bytes > 0)
                        memcpy(page, data, page_bytes);
                node_reading_parse(reading, &wants, page, page_bytes, true);
                check_reading(reading);
                check_cut(reading, cut, &wants, page, page_bytes);
                (void)node_step_take(&before, reading, now_mono_ms, &step);
                uint32_t counted = window_store_add(store, &step);
                check((counted & ~(step.counters | step.gauges)) == 0);
                now_mono_ms += 15 * MS_PER_S;
                check_windows(store, queries, ARRAY_LEN(queries), now_mono_ms);

                data += page_bytes + (nul ? 1 : 0);
                size -= page_bytes + (nul ? 1 : 0);
        }
        node_state_done(&before);
        return 0;
}
