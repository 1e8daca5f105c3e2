#include "cli/workloads/workloads.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/verb/output.h"
#include "extender/estimate_page/estimate_import.h"
#include "program/table.h"

enum { NAME_MAX_COLUMNS = 60 };
enum sort { SORT_NAME, SORT_PODS, SORT_REQUEST, SORT_USES, SORT_RATIO };

static struct {
        struct cluster_options cluster;
        const char *plimsoll_namespace, *pod_namespace;
        int64_t limit;
        int output, sort;
} settings;

static const char *const sorts[] = {"name", "pods", "request", "uses", "ratio", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "sort-by", .type = OPTION_ENUM, .value = &settings.sort, .fallback = "name",
         .choices = sorts,
         .help = "Sort by this column: names from A to Z, otherwise the largest first. ratio is "
                 "the usage divided by the request."},
        {.name = "limit", .type = OPTION_INT, .value = &settings.limit, .fallback = "0",
         .metavar = "COUNT", .min = 0, .max = INT32_MAX,
         .help = "Show only the first COUNT workloads; 0: all."},
        {.name = "namespace", .letter = 'n', .type = OPTION_STRING,
         .value = &settings.pod_namespace, .metavar = "NAME", .variable = "",
         .help = "Show only workloads in this namespace. Default: all."},
        OUTPUT_ROW(settings.output),
        CLUSTER_EXTENDERS_ROW(settings.plimsoll_namespace),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

struct known_workload {
        const char *name; /* borrowed */
        struct workload_measure measure;
        double key; /* the largest comes first */
};

struct known_workloads {
        struct known_workload *items;
        size_t count, cap;
};

static void known_workloads_done(struct known_workloads *known) {
        free(known->items);
}

static double used_of_request(const struct workload_measure *measure) {
        double request_cores = measure->request.of[ESTIMATE_CPU];

        return request_cores > 0 ? measure->mean.of[ESTIMATE_CPU] / request_cores : 0;
}

static double sort_key(const struct workload_measure *measure) {
        switch ((enum sort)settings.sort) {
        case SORT_PODS:
                return (double)measure->pods;
        case SORT_REQUEST:
                return measure->request.of[ESTIMATE_CPU];
        case SORT_USES:
                return measure->mean.of[ESTIMATE_CPU];
        case SORT_RATIO:
                return used_of_request(measure);
        case SORT_NAME:
                break;
        }
        return 0;
}

static bool is_of_namespace(const char *workload, const char *namespace) {
        size_t len = namespace ? strlen(namespace) : 0;

        return !namespace || (strncmp(workload, namespace, len) == 0 && workload[len] == '/');
}

static void know_workload(void *userdata, const char *name, size_t name_len,
                          const struct workload_measure *measure) {
        struct known_workloads *known = userdata;

        (void)name_len;
        if (!is_of_namespace(name, settings.pod_namespace))
                return;
        mem_grow(&known->items, known->count, &known->cap);
        known->items[known->count++] = (struct known_workload){name, *measure, sort_key(measure)};
}

static int compare_known(const void *a, const void *b) {
        const struct known_workload *left = a, *right = b;

        if (left->key != right->key)
                return left->key > right->key ? -1 : 1;
        return strcmp(left->name, right->name);
}

static size_t shown_count(const struct known_workloads *known) {
        return settings.limit > 0 ? size_min(known->count, (size_t)settings.limit) : known->count;
}

static void put_known_workload(struct table *to, const struct known_workload *workload) {
        const struct workload_measure *measure = &workload->measure;

        table_row(to);
        table_cell(to, "", "%s", workload->name);
        table_cell(to, "", "%zu", measure->pods);
        table_cell(to, "", "%.3g", measure->request.of[ESTIMATE_CPU]);
        table_cell(to, "", "%.3g", measure->mean.of[ESTIMATE_CPU]);
        table_cell(to, "", "%.0f%%", used_of_request(measure) * 100);
}

static void print_known(const struct known_workloads *known, const char *from) {
        bool is_wide = settings.output == OUTPUT_WIDE;
        const struct table_column columns[] = {
                {"WORKLOAD", .max_width = is_wide ? 0 : NAME_MAX_COLUMNS, .is_left = true},
                {" PODS"},
                {"REQUEST"},
                {"   USES"},
                {"OF REQUEST"},
        };
        struct style style = style_of(stdout);
        _cleanup_(table_freep) struct table *table = table_new(&style, columns, ARRAY_LEN(columns));

        for (size_t i = 0; i < shown_count(known); i++)
                put_known_workload(table, &known->items[i]);
        (void)table_print(table, SIZE_MAX, stdout);
        (void)printf("\n%zu of %zu measured workload%s; by the estimate of ", shown_count(known),
                     known->count, number_plural(known->count));
        (void)style_text(from, SIZE_MAX, stdout);
        (void)putchar('\n');
}

static json_t *known_json(const struct known_workloads *known, const char *from) {
        json_t *items = json_array();

        for (size_t i = 0; i < shown_count(known); i++) {
                const struct known_workload *workload = &known->items[i];
                const struct workload_measure *measure = &workload->measure;
                json_array_append_new(items,
                                      json_pack("{s:s, s:I, s:f, s:f}", "workload", workload->name,
                                                "pods", (json_int_t)measure->pods, "requestCores",
                                                measure->request.of[ESTIMATE_CPU], "usedCores",
                                                measure->mean.of[ESTIMATE_CPU]));
        }
        return json_pack("{s:s, s:{s:I}, s:o}", "from", from, "summary", "workloads",
                         (json_int_t)known->count, "workloads", items);
}

static int run_workloads(int count, char **words, struct error *err) {
        _cleanup_(known_workloads_done) struct known_workloads known = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        _cleanup_(freep) char *from = NULL;
        json_auto_t *page = NULL;

        int r = verb_no_words(count, words, err);
        if (r == 0)
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r < 0)
                return r;
        page = cluster_estimate(cluster, settings.plimsoll_namespace, &from);
        if (!page)
                return error_set(err, ENODATA, "%s", from);
        r = estimate_import_workloads(page, know_workload, &known, err);
        if (r < 0)
                return error_wrap(err, r, "%s", from);
        if (known.count == 0 && settings.pod_namespace)
                (void)fprintf(stderr,
                              "kubectl plimsoll workloads: no extender knows a workload in the "
                              "namespace %s; leave out -n for all\n",
                              settings.pod_namespace);
        if (known.count > 0)
                qsort(known.items, known.count, sizeof(*known.items), compare_known);
        if (output_is_document(settings.output))
                output_document(known_json(&known, from), settings.output, stdout);
        else
                print_known(&known, from);
        return 0;
}

const struct verb workloads_verb = {
        .name = "workloads",
        .summary = "Show the measured usage of each workload next to its requests",
        .usage = "Usage: kubectl plimsoll workloads [FLAG...]\n"
                 "\n"
                 "Show the CPU usage by which a running extender expects pods of each workload:\n"
                 "how many cores one pod was measured to use, and how many it requests. The\n"
                 "policy must have `scoring: estimate`. Do not size requests by these figures:\n"
                 "they cover only CPU, and only the last minutes.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll workloads --sort-by=ratio --limit=20\n"
                 "  kubectl plimsoll workloads -n shop\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_workloads,
};
