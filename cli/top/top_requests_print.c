/* The two forms of `top --requests`. */
#include <stdint.h>

#include "cli/top/top_requests.h"
#include "program/table.h"

enum {
        NAME_MAX_COLUMNS = 40,
        WHOLE_WIDTH = 130,
        IDLE_WIDTH = 20,
        IDLE_COLUMNS = 2,
        GIB = 1 << 30,
};

/* Titles are as wide as their columns: an amount, or an amount and its share of the capacity. */
static const struct table_column some[] = {
        {"NODE", .max_width = NAME_MAX_COLUMNS, .is_left = true},
        {" PODS"},
        {" CPU REQ"},
        {"    USED"},
        {"  UNUSED"},
        {" MEM REQ"},
        {"    USED"},
        {"  UNUSED"},
};
/* In as many columns of a terminal: without what is unused. */
static const struct table_column some_with_idle[] = {
        {"NODE", .max_width = NAME_MAX_COLUMNS, .is_left = true},
        {" PODS"},
        {" CPU REQ"},
        {"    USED"},
        {" MEM REQ"},
        {"    USED"},
        {"    IDLE"},
        {"   TAKEN"},
};
/* Without spec.idle the last IDLE_COLUMNS are left out. */
static const struct table_column whole[] = {
        {"NODE", .max_width = NAME_MAX_COLUMNS, .is_left = true},
        {" PODS"},
        {"    CPUS"},
        {"    REQUESTED"},
        {"         USED"},
        {"  UNUSED"},
        {" MEM GiB"},
        {"    REQUESTED"},
        {"         USED"},
        {"  UNUSED"},
        {"    IDLE"},
        {"   TAKEN"},
};
static const struct table_column namespaces[] = {
        {"NAMESPACE", .max_width = NAME_MAX_COLUMNS, .is_left = true},
        {" PODS"},
        {"    CPUS"},
        {" MEM GiB"},
};

/* @capacity: also show the amount as a share of it; negative: do not */
static void requests_put(struct table *to, double amount, double capacity, int resource) {
        double shown = resource == ESTIMATE_MEM ? amount / GIB : amount;

        if (amount < 0)
                table_cell(to, "", capacity < 0 ? "-" : "-     ");
        else if (capacity > 0)
                table_cell(to, "", "%.2f %3.0f%%", shown, amount / capacity * 100);
        else
                table_cell(to, "", capacity < 0 ? "%.2f" : "%.2f     ", shown);
}

static struct table *requests_table_new(const struct style *style, bool is_whole, bool has_idle) {
        if (is_whole)
                return table_new(style, whole, ARRAY_LEN(whole) - (has_idle ? 0 : IDLE_COLUMNS));
        return has_idle ? table_new(style, some_with_idle, ARRAY_LEN(some_with_idle))
                        : table_new(style, some, ARRAY_LEN(some));
}

static void requests_put_row(struct table *to, const struct top_requests_row *row, const char *name,
                             bool is_whole, bool has_idle) {
        table_row(to);
        table_cell(to, "", "%s", name);
        table_cell(to, "", "%zu", row->pods);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double capacity = is_whole ? row->capacity.of[r] : -1;
                if (is_whole)
                        table_cell(to, "", "%.1f", r == ESTIMATE_MEM ? capacity / GIB : capacity);
                requests_put(to, row->requested.of[r], capacity, r);
                requests_put(to, row->used.of[r], capacity, r);
                if (is_whole || !has_idle)
                        requests_put(to, row->unused.of[r], -1, r);
        }
        if (has_idle) {
                requests_put(to, row->idle_offered_cores, -1, ESTIMATE_CPU);
                requests_put(to, row->idle_taken_cores, -1, ESTIMATE_CPU);
        }
}

void top_requests_print(const struct top_requests_sum *sum, const struct style *style,
                        bool no_headers, FILE *out) {
        bool is_whole = style->width >= WHOLE_WIDTH + (sum->has_idle ? IDLE_WIDTH : 0);
        _cleanup_(table_freep) struct table *by_node = requests_table_new(style, is_whole,
                                                                          sum->has_idle);
        _cleanup_(table_freep) struct table *by_space = table_new(style, namespaces,
                                                                  ARRAY_LEN(namespaces));

        if (no_headers) {
                table_hide_titles(by_node);
                table_hide_titles(by_space);
        }
        for (size_t i = 0; i < sum->nodes.count; i++)
                requests_put_row(by_node, &sum->nodes.items[i], sum->nodes.items[i].name, is_whole,
                                 sum->has_idle);
        requests_put_row(by_node, &sum->total, "all nodes", is_whole, sum->has_idle);
        (void)table_print(by_node, SIZE_MAX, out);
        for (size_t i = 0; i < sum->spaces.count; i++) {
                const struct top_requests_row *row = &sum->spaces.items[i];
                table_row(by_space);
                table_cell(by_space, "", "%s", row->name);
                table_cell(by_space, "", "%zu", row->pods);
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        requests_put(by_space, row->requested.of[r], -1, r);
        }
        (void)fputc('\n', out);
        (void)table_print(by_space, SIZE_MAX, out);
}

/* NULL if it is unknown, which leaves out the key. */
static json_t *known(double amount) {
        return amount >= 0 ? json_real(amount) : NULL;
}

static json_t *resource_json(const struct top_requests_row *row, int resource, bool has_capacity) {
        json_t *capacity = has_capacity ? json_real(row->capacity.of[resource]) : NULL;

        return json_pack("{s:o*, s:f, s:o*, s:o*}", "capacity", capacity, "requested",
                         row->requested.of[resource], "used", known(row->used.of[resource]),
                         "reclaimable", known(row->unused.of[resource]));
}

static json_t *row_json(const char *key, const struct top_requests_row *row, bool has_capacity) {
        return json_pack("{s:s*, s:i, s:o, s:o}", key, row->name, "pods", (int)row->pods, "cpu",
                         resource_json(row, ESTIMATE_CPU, has_capacity), "memory",
                         resource_json(row, ESTIMATE_MEM, has_capacity));
}

static json_t *node_json(const struct top_requests_row *row, bool has_idle) {
        json_t *json = row_json("node", row, true);

        if (has_idle) {
                json_object_set_new(json, "offeredIdleCores", json_real(row->idle_offered_cores));
                json_object_set_new(json, "takenIdleCores", json_real(row->idle_taken_cores));
        }
        return json;
}

json_t *top_requests_json(const struct top_requests_sum *sum) {
        json_t *nodes = json_array(), *spaces = json_array();

        for (size_t i = 0; i < sum->nodes.count; i++)
                json_array_append_new(nodes, node_json(&sum->nodes.items[i], sum->has_idle));
        for (size_t i = 0; i < sum->spaces.count; i++)
                json_array_append_new(spaces, row_json("namespace", &sum->spaces.items[i], false));
        return json_pack("{s:o, s:o, s:o}", "nodes", nodes, "namespaces", spaces, "all",
                         node_json(&sum->total, sum->has_idle));
}
