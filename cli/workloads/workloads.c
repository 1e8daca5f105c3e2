/* `workloads`: what pods of each workload use, and what they should request. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "cli/verb/verb.h"
#include "cli/workloads/workload_list.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "program/table.h"

enum { NAME_MAX_COLUMNS = 60, RESOURCE_COLUMNS = 5 };
enum sort { SORT_CPU, SORT_MEM, SORT_NAME, SORT_PODS, SORT_SINCE };

static struct {
        const char *pod_namespace;
        int64_t limit;
        int sort;
} settings;

static const char *const sorts[] = {"cpu", "mem", "name", "pods", "since", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "sort-by", .type = OPTION_ENUM, .value = &settings.sort, .fallback = "cpu",
         .choices = sorts,
         .help = "Sort by the CPU or memory that all pods of a workload request and do not need, by "
                 "name, by the number of pods, or by the time since when a workload is measured. "
                 "Names from A to Z, the latest time first, otherwise the largest first."},
        {.name = "limit", .type = OPTION_INT, .value = &settings.limit, .fallback = "0",
         .metavar = "COUNT", .min = 0, .max = INT32_MAX,
         .help = "Show only the first COUNT workloads; 0: all."},
        {.name = "namespace", .letter = 'n', .type = OPTION_STRING,
         .value = &settings.pod_namespace, .metavar = "NAME", .variable = "",
         .help = "Show only workloads in this namespace. Default: all."},
        VERB_OUTPUT_ROW,
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

/* ---- Reading. */

/* Return: 0; -ENODATA: there are no ConfigMaps; another negative errno */
static int read_usage(struct cluster *cluster, struct workload_list *list, struct error *err) {
        size_t shards = 1;

        for (size_t shard = 0; shard < shards; shard++) {
                json_auto_t *map = NULL;
                char name[WORKLOADS_CONFIG_MAP_MAX];
                workload_usage_config_map(shard, name);
                _cleanup_(freep) char *path = kube_path(
                        KUBE_CORE, verb_flags.cluster.plimsoll_namespace, "configmaps", name, "");
                enum kube_outcome outcome = cluster_get(cluster, path, &map, err);
                if (outcome == KUBE_NOT_FOUND && shard > 0)
                        continue; /* it is written a moment after the first one */
                if (outcome != KUBE_OK)
                        return outcome == KUBE_NOT_FOUND ? -ENODATA : err->code;
                if (shard == 0)
                        shards = workload_usage_shards(
                                json_string_at(map, "data", WORKLOADS_SHARDS_KEY, NULL));
                workload_list_add(list, map, settings.pod_namespace);
        }
        return 0;
}

/* @ret_why_not: they cannot be listed; code 0: they can */
static void read_autoscalers(struct cluster *cluster, struct workload_list *list,
                             struct error *ret_why_not) {
        _cleanup_(freep) char *path = kube_path(KUBE_AUTOSCALING, settings.pod_namespace,
                                                "horizontalpodautoscalers", NULL, "");
        json_auto_t *autoscalers = NULL;
        const json_t *autoscaler;
        size_t i;

        (void)cluster_list_all(cluster, path, NULL, &autoscalers, ret_why_not);
        json_array_foreach (autoscalers, i, autoscaler)
                workload_list_autoscale(list, autoscaler);
}

/* ---- Order. */

static double sort_key(const struct listed_workload *workload) {
        const double keys[] = {
                [SORT_CPU] = workload->unused[ESTIMATE_CPU],
                [SORT_MEM] = workload->unused[ESTIMATE_MEM],
                [SORT_NAME] = 0,
                [SORT_PODS] = (double)workload->usage.pods,
                [SORT_SINCE] = (double)workload->usage.since_unix_ms,
        };

        return keys[settings.sort];
}

static int compare_workloads(const void *a, const void *b) {
        const struct listed_workload *left = a, *right = b;
        double left_key = sort_key(left), right_key = sort_key(right);

        if (left_key < right_key || left_key > right_key)
                return left_key > right_key ? -1 : 1;
        return strcmp(left->name, right->name);
}

static size_t shown_count(const struct workload_list *list) {
        return settings.limit > 0 ? size_min(list->count, (size_t)settings.limit) : list->count;
}

/* ---- For people. */

static void put_amount(struct table *to, int resource, double amount) {
        if (amount <= 0)
                table_cell(to, "", "-");
        else if (resource == ESTIMATE_CPU)
                table_cell(to, "", "%.3g", amount);
        else
                table_cell(to, "", "%.0fMi", ceil(amount / (1 << 20)));
}

static void put_workload(struct table *to, const struct listed_workload *workload,
                         int64_t now_unix_ms) {
        const struct workload_usage *usage = &workload->usage;
        char since[TIMESTAMP_MAX];

        table_row(to);
        table_cell(to, "", "%s", workload->name);
        table_cell(to, "", "%zu", usage->pods);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                put_amount(to, r, usage->request.of[r]);
                put_amount(to, r, usage->mean.of[r]);
                put_amount(to, r, usage->p95.of[r]);
                put_amount(to, r, usage->max.of[r]);
                put_amount(to, r, workload->wanted.of[r]);
        }
        timestamp_format_s(usage->since_unix_ms, since, sizeof(since));
        table_cell(to, "", "%.16sZ", since);
        const char *notes[] = {
                usage->is_guaranteed ? ", Guaranteed" : "",
                workload->is_autoscaled ? ", HPA" : "",
                now_unix_ms - usage->since_unix_ms < MS_PER_DAY ? ", new" : "",
        };
        char text[32];
        (void)snprintf(text, sizeof(text), "%s%s%s", notes[0], notes[1], notes[2]);
        table_cell(to, "", "%s", text[0] ? text + strlen(", ") : "");
}

/* @why_not: HPAs cannot be listed; code 0: they can */
static void print_notes(const struct workload_list *list, const struct error *why_not) {
        bool has_guaranteed = false, has_autoscaled = false;

        for (size_t i = 0; i < shown_count(list); i++) {
                has_guaranteed |= list->items[i].usage.is_guaranteed;
                has_autoscaled |= list->items[i].is_autoscaled;
        }
        if (has_guaranteed)
                (void)puts("Guaranteed: requests equal limits; change both, or the pods lose their "
                           "QoS class");
        if (has_autoscaled)
                (void)puts("HPA: a target in percent is a share of the request; change it, "
                           "too");
        if (why_not->code)
                (void)printf("HPAs are not marked: %s\n", style_plain(why_not->msg).text);
}

static void print_workloads(const struct workload_list *list, const struct error *why_not) {
        static const char *const titles[ESTIMATE_RESOURCE_COUNT] = {"CPU", "MEMORY"};
        bool is_wide = verb_flags.output == OUTPUT_WIDE;
        size_t count = 2;
        struct table_column columns[4 + RESOURCE_COLUMNS * ESTIMATE_RESOURCE_COUNT] = {
                {"WORKLOAD", .max_width = is_wide ? 0 : NAME_MAX_COLUMNS, .is_left = true},
                {"PODS"},
        };
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                columns[count++] = (struct table_column){titles[r]};
                columns[count++] = (struct table_column){"MEAN", .is_optional = true};
                columns[count++] = (struct table_column){"P95", .is_optional = true};
                columns[count++] = (struct table_column){"MAX", .is_optional = true};
                columns[count++] = (struct table_column){"WANTED"};
        }
        columns[count++] = (struct table_column){"SINCE", .is_left = true, .is_optional = true};
        columns[count++] = (struct table_column){"NOTE", .is_left = true};
        struct style style = style_of(stdout);
        _cleanup_(table_freep) struct table *table = table_new(&style, columns, count);

        for (size_t i = 0; i < shown_count(list); i++)
                put_workload(table, &list->items[i], clock_wall_unix_ms());
        size_t left_out = table_print(table, is_wide ? SIZE_MAX : style.width, stdout);
        (void)printf("\n%zu of %zu measured workload%s", shown_count(list), list->count,
                     number_plural(list->count));
        if (list->malformed > 0)
                (void)printf(", and %zu line%s that cannot be read", list->malformed,
                             number_plural(list->malformed));
        (void)printf("; by ConfigMap %s/%s\n", verb_flags.cluster.plimsoll_namespace,
                     WORKLOADS_CONFIG_MAP);
        print_notes(list, why_not);
        if (left_out > 0)
                (void)printf("%zu more column%s with -o wide\n", left_out, number_plural(left_out));
}

/* ---- For programs. */

static json_t *resource_json(const struct listed_workload *workload, int resource) {
        const struct workload_usage *usage = &workload->usage;

        return json_pack("{s:f, s:f, s:f, s:f, s:f}", "request", usage->request.of[resource],
                         "mean", usage->mean.of[resource], "p95", usage->p95.of[resource], "max",
                         usage->max.of[resource], "wanted", workload->wanted.of[resource]);
}

static json_t *workload_json(const struct listed_workload *workload) {
        const struct workload_usage *usage = &workload->usage;
        char since[TIMESTAMP_MAX], seen[TIMESTAMP_MAX];

        timestamp_format_s(usage->since_unix_ms, since, sizeof(since));
        timestamp_format_s(usage->seen_unix_ms, seen, sizeof(seen));
        return json_pack("{s:s, s:I, s:b, s:b, s:s, s:s, s:o, s:o}", "workload", workload->name,
                         "pods", (json_int_t)usage->pods, "guaranteed", usage->is_guaranteed,
                         "autoscaled", workload->is_autoscaled, "since", since, "seen", seen,
                         "cpuCores", resource_json(workload, ESTIMATE_CPU), "memoryBytes",
                         resource_json(workload, ESTIMATE_MEM));
}

static json_t *workloads_json(const struct workload_list *list, const struct error *why_not) {
        const char *why = why_not->code ? why_not->msg : NULL;
        json_t *items = json_array();

        for (size_t i = 0; i < shown_count(list); i++)
                json_array_append_new(items, workload_json(&list->items[i]));
        return json_pack("{s:{s:I, s:I}, s:s?, s:o}", "summary", "workloads",
                         (json_int_t)list->count, "malformed", (json_int_t)list->malformed,
                         "whyNoAutoscalers", why, "workloads", items);
}

/* ---- The verb. */

static int run_workloads(struct cluster *cluster, struct error *err) {
        _cleanup_(workload_list_done) struct workload_list list = {0};
        struct error why_not = ERROR_NULL;

        read_autoscalers(cluster, &list, &why_not);
        int r = read_usage(cluster, &list, err);
        if (r < 0 && r != -ENODATA)
                return r;
        if (r == -ENODATA || (list.count == 0 && !settings.pod_namespace))
                return error_set(err, ENODATA,
                                 "nothing is measured: the policy must have scoring: estimate, and "
                                 "the controller must read kubelets for some minutes; `kubectl "
                                 "plimsoll doctor` and the controller's log say what fails");
        if (list.count == 0)
                (void)fprintf(stderr,
                              "kubectl plimsoll workloads: no workload in the namespace %s is "
                              "measured; leave out -n for all\n",
                              settings.pod_namespace);
        else
                qsort(list.items, list.count, sizeof(*list.items), compare_workloads);
        if (verb_is_document())
                verb_document(workloads_json(&list, &why_not));
        else
                print_workloads(&list, &why_not);
        return 0;
}

const struct verb workloads_verb = {
        .name = "workloads",
        .summary = "Show the measured usage of each workload next to its requests",
        .usage = "Usage: kubectl plimsoll workloads [FLAG...]\n"
                 "\n"
                 "Show what the pods of each workload use, as the controller measures it at the\n"
                 "kubelets, next to what they request and what they should request: the 95%\n"
                 "quantile of CPU, and the maximum of memory and 15%. All figures are those of\n"
                 "one pod. The policy must have `scoring: estimate`.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll workloads --sort-by=mem --limit=20\n"
                 "  kubectl plimsoll workloads -n shop\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_workloads,
};
