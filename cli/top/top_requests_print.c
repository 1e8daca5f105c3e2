/* The two forms of `top --requests`. */
#include <string.h>

#include "cli/top/top_requests.h"
#include "codec/json.h"

enum { NAME_MIN = 9, NAME_MAX_COLUMNS = 40, WHOLE_WIDTH = 130, GIB = 1 << 30 };

static const char *const headings[] = {[ESTIMATE_CPU] = "CPUS", [ESTIMATE_MEM] = "MEM GiB"};

static size_t longest(const struct top_requests_row *rows, size_t count, size_t width) {
        for (size_t i = 0; i < count; i++)
                width = size_max(width, strlen(rows[i].name));
        return size_min(width, NAME_MAX_COLUMNS);
}

static double shown(double amount, int resource) {
        return resource == ESTIMATE_MEM ? amount / GIB : amount;
}

static void put_amount(double amount, int resource, FILE *out) {
        if (amount < 0)
                (void)fprintf(out, "  %8s", "-");
        else
                (void)fprintf(out, "  %8.2f", shown(amount, resource));
}

static void put_share(double amount, double capacity, FILE *out) {
        if (amount < 0 || capacity <= 0)
                (void)fprintf(out, " %4s", "");
        else
                (void)fprintf(out, " %3.0f%%", amount / capacity * 100);
}

static void put_name(const char *name, size_t width, FILE *out) {
        size_t columns = output_text(name, width, out);

        (void)fprintf(out, "%*s", (int)(width - columns), "");
}

static void put_row(const struct top_requests_row *row, const char *name, size_t width,
                    bool is_whole, FILE *out) {
        put_name(name, width, out);
        (void)fprintf(out, "  %5zu", row->pods);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                if (is_whole)
                        (void)fprintf(out, "  %8.1f", shown(row->capacity.of[r], r));
                put_amount(row->requested.of[r], r, out);
                if (is_whole)
                        put_share(row->requested.of[r], row->capacity.of[r], out);
                put_amount(row->used.of[r], r, out);
                if (is_whole)
                        put_share(row->used.of[r], row->capacity.of[r], out);
                put_amount(row->unused.of[r], r, out);
        }
        (void)fputc('\n', out);
}

static void put_heading(size_t width, bool is_whole, const struct output_style *style, FILE *out) {
        (void)fprintf(out, "%s%-*s   PODS", style->bold, (int)width, "NODE");
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (is_whole)
                        (void)fprintf(out, "  %8s  %13s  %13s  %8s", headings[r], "REQUESTED",
                                      "USED", "UNUSED");
                else
                        (void)fprintf(out, "  %8s  %8s  %8s",
                                      r == ESTIMATE_MEM ? "MEM REQ" : "CPU REQ", "USED", "UNUSED");
        (void)fprintf(out, "%s\n", style->off);
}

void top_requests_print(const struct top_requests_sum *sum, const struct output_style *style,
                        FILE *out) {
        size_t width = longest(sum->nodes, sum->node_count,
                               longest(sum->spaces, sum->space_count, NAME_MIN));
        bool is_whole = style->width >= WHOLE_WIDTH;

        put_heading(width, is_whole, style, out);
        for (size_t i = 0; i < sum->node_count; i++)
                put_row(&sum->nodes[i], sum->nodes[i].name, width, is_whole, out);
        put_row(&sum->total, "all nodes", width, is_whole, out);
        (void)fprintf(out, "\n%s%-*s   PODS  %8s  %8s%s\n", style->bold, (int)width, "NAMESPACE",
                      headings[ESTIMATE_CPU], headings[ESTIMATE_MEM], style->off);
        for (size_t i = 0; i < sum->space_count; i++) {
                const struct top_requests_row *row = &sum->spaces[i];
                put_name(row->name, width, out);
                (void)fprintf(out, "  %5zu", row->pods);
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        put_amount(row->requested.of[r], r, out);
                (void)fputc('\n', out);
        }
}

/* NULL, and so left out: not known. */
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

json_t *top_requests_json(const struct top_requests_sum *sum) {
        json_t *nodes = json_array(), *spaces = json_array();

        for (size_t i = 0; i < sum->node_count; i++)
                json_array_append_new(nodes, row_json("node", &sum->nodes[i], true));
        for (size_t i = 0; i < sum->space_count; i++)
                json_array_append_new(spaces, row_json("namespace", &sum->spaces[i], false));
        return json_pack("{s:o, s:o, s:o}", "nodes", nodes, "namespaces", spaces, "all",
                         row_json("node", &sum->total, true));
}
