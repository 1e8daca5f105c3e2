/*
 * Pages to windows. The input is a sequence of pages, each ended by a NUL: they are scraped 15 s
 * apart. Whatever they say: usable values are in range, gauges and ratios of windows in [0, 1],
 * what a cut page says is what the whole page says, and memory stays within the arrays' ceilings.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/exposition/node_state.h"
#include "fuzz.h"

static const char *const ready[] = {"my_metric", "load5"};

static const struct policy_resource own[] = {
        {.series = "DCGM_FI_DEV_GPU_UTIL",
         .match_count = 1,
         .matches = {{"pod", ""}},
         .reduce = POLICY_REDUCE_MEAN,
         .capacity = 100},
        {.series = "node_disk_io_time_seconds_total",
         .type = POLICY_COUNTER,
         .reduce = POLICY_REDUCE_SUM,
         .capacity_series = "node_load5"},
};

enum { RESOURCES = METRIC_RESOURCE_COUNT + ARRAY_LEN(own) };

static bool in_unit(double ratio) {
        return ratio >= 0 && ratio <= 1;
}

static void check_series(const struct series_list *series) {
        require(series->count > 0 && series->count <= NODE_MAX_DEVICES);
        for (size_t i = 1; i < series->count; i++)
                require(series->items[i - 1].id < series->items[i].id);
}

static void check_reading(const struct node_reading *reading) {
        require(reading->usable >> RESOURCES == 0);
        for (unsigned r = 0; r < RESOURCES; r++)
                require(!(reading->usable >> r & 1) == (reading->why[r] != NULL));
        for (unsigned i = 0; i < ARRAY_LEN(own); i++)
                if (reading->usable >> METRIC_RESOURCE_COUNT >> i & 1)
                        require(reading->capacities[i] > 0);
        for (unsigned r = 0; r < RESOURCES; r++) {
                if (reading->usable >> r & 1 && reading->series[r])
                        check_series(reading->series[r]);
                if (reading->usable >> r & 1) /* of the load, the step has the ratio */
                        require(r == METRIC_LOAD ? reading->values[r] >= 0
                                                 : in_unit(reading->values[r]));
        }
        require(!(reading->usable & NODE_RESOURCE_BIT(METRIC_NET)) == (reading->link_count == 0));
        for (size_t i = 0; i < reading->link_count; i++) {
                const struct node_link *link = &reading->links[i];
                require(i == 0 || reading->links[i - 1].id < link->id);
                require(link->speed_bytes > 0 && link->received_bytes >= 0 &&
                        link->sent_bytes >= 0);
        }
        require(reading->cpu_count <= NODE_MAX_CPUS);
        for (size_t i = 1; i < reading->cpu_count; i++)
                require(reading->cpus[i - 1].id < reading->cpus[i].id);
        for (size_t i = 0; i < ARRAY_LEN(ready); i++)
                require(!(reading->ready_usable >> i & 1) || reading->ready[i] >= 0);
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
        require(cut->usable >> METRIC_RESOURCE_COUNT == 0);
        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++) {
                enum metric_kind kind = metric_resource_rows[r].kind;
                bool is_set = kind != METRIC_KIND_SHARE && kind != METRIC_KIND_TIME;
                require(!(cut->usable >> r & 1 && is_set));
                require(!(whole->usable & cut->usable & NODE_RESOURCE_BIT(r)) ||
                        whole->values[r] == cut->values[r]);
        }
        for (size_t i = 0; i < ARRAY_LEN(ready); i++)
                require(!(whole->ready_usable & cut->ready_usable & 1u << i) ||
                        whole->ready[i] == cut->ready[i]);
}

static void check_windows(const struct window_store *store, const struct metric_query *queries,
                          size_t count, int64_t now_mono_ms) {
        for (size_t i = 0; i < count; i++) {
                struct window_reading reading = window_read(store, &queries[i], now_mono_ms);
                require(in_unit(reading.ratio) && in_unit(reading.fullness));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct metric_query queries[RESOURCES * 2];
        for (unsigned i = 0; i < ARRAY_LEN(queries); i++) {
                queries[i] = (struct metric_query){
                        .resource = i / 2,
                        .statistic = i % 2 ? METRIC_MAX : METRIC_AVG,
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

        /* The usual rules, unless the page begins otherwise. */
        const struct node_network_options network = {
                .devices = {.count = size > 0 && data[0] == '*', .globs = {"e*"}},
                .speed_bytes = size > 0 && data[0] == '1' ? 1e6 : 0,
        };
        node_wants_init(&wants, &(struct node_wants_options){
                                        .resources = UINT32_MAX,
                                        .ready = ready,
                                        .ready_count = ARRAY_LEN(ready),
                                        .own = own,
                                        .own_count = ARRAY_LEN(own),
                                        .wants_host_name = true,
                                        .network = &network,
                                });
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
                node_state_step(&before, &wants, reading, now_mono_ms, &step);
                uint32_t counted = window_store_add(store, &step);
                require((counted & ~(step.counters | step.gauges)) == 0);
                for (unsigned r = 0; r < RESOURCES; r++)
                        require(!(step.gauges >> r & 1) || in_unit(step.num[r]));
                now_mono_ms += 15 * MS_PER_S;
                check_windows(store, queries, ARRAY_LEN(queries), now_mono_ms);

                data += page_bytes + (nul ? 1 : 0);
                size -= page_bytes + (nul ? 1 : 0);
        }
        node_state_done(&before);
        return 0;
}
