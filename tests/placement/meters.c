#include "meters.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
        CELL_S = 15,
        CELLS = 20,       /* 5 minutes */
        LEAST_CELLS = 10, /* half of the window: before that koordlet reports no percentile */
        RECORD_S = 30,    /* Prometheus' recording rules */
        RECORDS_S = 900,
        RECORDS = RECORDS_S / RECORD_S,
        MINUTE_S = 60,
        COLLECTED_S = 30, /* after the fetch */
};

static const double PERCENTILE = 0.95;

struct record {
        int64_t at_s;
        double ratio[METER_RESOURCES];
};

struct node_meters {
        double used_s; /* since the last cell: seconds of the whole node's CPUs */
        double seconds;
        double cells[CELLS][METER_RESOURCES];
        size_t cell_count; /* ever; the latest CELLS are kept */
        struct record records[RECORDS];
        size_t record_count; /* likewise */
        struct meter fetched, shown;
};

struct meters {
        const struct world *world;
        enum meters_kind kind;
        struct node_meters *nodes;
};

struct meters *meters_new(const struct world *world, enum meters_kind kind) {
        struct meters *meters = xcalloc(1, sizeof(*meters));

        meters->world = world;
        meters->kind = kind;
        meters->nodes = xcalloc(world->node_count, sizeof(*meters->nodes));
        return meters;
}

void meters_free(struct meters *meters) {
        if (!meters)
                return;
        free(meters->nodes);
        free(meters);
}

static size_t cells_of(const struct node_meters *node) {
        return node->cell_count < CELLS ? node->cell_count : CELLS;
}

static double mean_of_cells(const struct node_meters *node, int resource) {
        size_t count = cells_of(node);
        double sum = 0;

        for (size_t i = 0; i < count; i++)
                sum += node->cells[i][resource];
        return sum / (double)count;
}

static int compare_ratios(const void *a, const void *b) {
        const double *left = a, *right = b;

        return (*left > *right) - (*left < *right);
}

static double percentile_of_cells(const struct node_meters *node, int resource) {
        size_t count = cells_of(node);
        double sorted[CELLS];

        if (count < LEAST_CELLS)
                return mean_of_cells(node, resource);
        for (size_t i = 0; i < count; i++)
                sorted[i] = node->cells[i][resource];
        qsort(sorted, count, sizeof(*sorted), compare_ratios);
        return sorted[(size_t)ceil(PERCENTILE * (double)count) - 1];
}

static const double *latest_cell(const struct node_meters *node) {
        return node->cells[(node->cell_count - 1) % CELLS];
}

static void add_cell(const struct meters *meters, struct node_meters *node, size_t n) {
        double *cell = node->cells[node->cell_count++ % CELLS];

        cell[METER_CPU] = node->used_s / node->seconds;
        cell[METER_MEM] = world_memory_ratio(meters->world, n);
        node->used_s = node->seconds = 0;
}

static void add_record(const struct meters *meters, struct node_meters *node) {
        node->records[node->record_count++ % RECORDS] = (struct record){
                .at_s = meters->world->now_s,
                .ratio = {mean_of_cells(node, METER_CPU), latest_cell(node)[METER_MEM]},
        };
}

/* The population's deviation, as stddev_over_time(); of what is left of a dead exporter's. */
static void read_records(const struct meters *meters, const struct node_meters *node,
                         struct meter *meter) {
        size_t kept = node->record_count < RECORDS ? node->record_count : RECORDS, count = 0;
        double squares[METER_RESOURCES] = {0};

        for (size_t i = 0; i < kept; i++) {
                if (node->records[i].at_s <= meters->world->now_s - RECORDS_S)
                        continue;
                count++;
                for (int r = 0; r < METER_RESOURCES; r++) {
                        meter->ratio[r] += node->records[i].ratio[r];
                        squares[r] += pow(node->records[i].ratio[r], 2);
                }
        }
        meter->is_known = count > 0;
        for (int r = 0; r < METER_RESOURCES && count > 0; r++) {
                meter->ratio[r] /= (double)count;
                meter->stddev[r] = sqrt(
                        fmax(0, squares[r] / (double)count - pow(meter->ratio[r], 2)));
        }
}

static struct meter read_node(const struct meters *meters, const struct node_meters *node,
                              bool is_read) {
        struct meter meter = {.at_s = meters->world->now_s, .is_known = is_read};

        if (meters->kind == METERS_PROMETHEUS)
                read_records(meters, node, &meter);
        for (int r = 0; r < METER_RESOURCES && is_read; r++)
                switch (meters->kind) {
                case METERS_METRICS_SERVER:
                        meter.ratio[r] = latest_cell(node)[r];
                        break;
                case METERS_KOORDLET:
                        meter.ratio[r] = mean_of_cells(node, r);
                        break;
                case METERS_KOORDLET_P95:
                        meter.ratio[r] = percentile_of_cells(node, r);
                        break;
                case METERS_PROMETHEUS:
                        break;
                }
        return meter;
}

/* koordlet reports by itself, at a second of its own; what it reported stays. */
static void show(const struct meters *meters, struct node_meters *node, size_t n, bool is_read) {
        int64_t second = meters->world->now_s % MINUTE_S;

        if (meters->kind == METERS_KOORDLET || meters->kind == METERS_KOORDLET_P95) {
                if (is_read && second == (int64_t)(n * 7 % MINUTE_S))
                        node->shown = read_node(meters, node, true);
                return;
        }
        if (second == 0)
                node->fetched = read_node(meters, node, is_read);
        if (second == COLLECTED_S)
                node->shown = node->fetched;
}

void meters_step(struct meters *meters) {
        const struct world *world = meters->world;

        for (size_t n = 0; n < world->node_count; n++) {
                struct node_meters *node = &meters->nodes[n];
                if (!world_has_node(world, n)) {
                        *node = (struct node_meters){0};
                        continue;
                }
                bool is_alive = world_has_exporter(world, n);
                node->used_s += world_usage_ratio(world, n);
                node->seconds++;
                if (is_alive && world->now_s % CELL_S == (int64_t)(n % CELL_S))
                        add_cell(meters, node, n);
                bool is_read = is_alive && node->cell_count > 0;
                if (is_read && world->now_s % RECORD_S == 0)
                        add_record(meters, node);
                show(meters, node, n, is_read);
        }
}

struct meter meters_get(const struct meters *meters, size_t node) {
        return meters->nodes[node].shown;
}
