#include "cli/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/nodes/node_list.h"
#include "cli/top/top_requests.h"
#include "cli/top/top_view.h"
#include "cli/verb/output.h"
#include "extender/table/annotation_style.h"
#include "program/program_options.h"

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        const char *filename, *sort, *selector, *plimsoll_namespace;
        int64_t interval_ms;
        int output, unit;
        bool is_watching, has_requests, no_headers;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "sort-by", .type = OPTION_STRING, .value = &settings.sort, .fallback = "name",
         .metavar = "KEY",
         .help = "name, score, recent, pods, expected, age, or a metric of the policy; cpu is its "
                 "first metric that begins so. The largest comes first."},
        {.name = "selector", .letter = 'l', .type = OPTION_STRING, .value = &settings.selector,
         .metavar = "LABELS", .help = "Show only nodes with these labels, such as pool=batch."},
        {.name = "no-headers", .type = OPTION_BOOL, .value = &settings.no_headers,
         .help = "Print no titles, and no sums after the nodes."},
        {.name = "requests", .type = OPTION_BOOL, .value = &settings.has_requests,
         .help = "Show instead what pods request of each node, what it uses, and what is requested "
                 "and not used; and what the pods of each namespace request. With spec.idle also "
                 "the idle CPU that each node offers, and what its pods take of it; what these use "
                 "is on the controller's status page. --sort-by takes name, cpu or mem."},
        {.name = "watch", .letter = 'w', .type = OPTION_BOOL, .value = &settings.is_watching,
         .help = "List the nodes again and again until Ctrl-C; with --requests watch the pods."},
        {.name = "interval", .type = OPTION_DURATION_MS, .value = &settings.interval_ms,
         .fallback = "10s", .min = 1000, .max = 3600000, .help = "Pause between lists of --watch."},
        OUTPUT_ROW(settings.output),
        CLUSTER_EXTENDERS_ROW(settings.plimsoll_namespace),
        {.help = "Policy and annotations"},
        CLUSTER_POLICY_ROW(settings.filename),
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

static void begin_screen(const struct style *style) {
        /* Begin in the upper left corner of an empty screen. */
        if (settings.is_watching && style->is_terminal)
                (void)fputs("\033[H\033[2J", stdout);
}

static int show_view(const struct explanation *explanation, const struct listed_nodes *listed,
                     const char *policy_from, struct error *err) {
        struct style style = style_of(stdout);
        _cleanup_(top_view_done) struct top_view view;
        bool is_wide = settings.output == OUTPUT_WIDE;

        top_view_init(&view, explanation, listed, policy_from, is_wide, !style.is_terminal);
        int r = top_view_sort(&view, settings.sort, err);
        if (r < 0)
                return r;
        if (output_is_document(settings.output)) {
                output_document(top_view_json(&view), settings.output, stdout);
                return 0;
        }
        begin_screen(&style);
        top_view_print(&view, &style, is_wide, settings.no_headers, stdout);
        return 0;
}

/* What is kept between the looks of --watch. */
struct looking {
        struct cluster *cluster;
        struct node_table_options options;
        struct node_list *load; /* one of these two; NULL before the first update */
        struct top_requests *requests;
        char *policy_from;
};

static void looking_done(struct looking *looking) {
        node_list_free(looking->load);
        top_requests_free(looking->requests);
        free(looking->policy_from);
        cluster_free(looking->cluster);
}

static int show_requests(struct looking *looking, int64_t now_unix_ms, struct error *err) {
        static const char *const keys[] = {[ESTIMATE_CPU] = "cpu", [ESTIMATE_MEM] = "mem"};
        struct style style = style_of(stdout);
        int resource = ESTIMATE_RESOURCE_COUNT - 1;
        const struct top_requests_sum *sum = NULL;

        while (resource >= 0 && strcmp(keys[resource], settings.sort) != 0)
                resource--;
        if (resource < 0 && strcmp(settings.sort, "name") != 0)
                return error_set(err, EINVAL,
                                 "--sort-by: '%.64s': with --requests expected name, cpu or mem",
                                 settings.sort);
        int r = top_requests_update(looking->requests, now_unix_ms, resource, &sum, err);
        if (r < 0)
                return r;
        if (output_is_document(settings.output)) {
                output_document(top_requests_json(sum), settings.output, stdout);
                return 0;
        }
        if (settings.output == OUTPUT_WIDE)
                style.width = SIZE_MAX;
        begin_screen(&style);
        top_requests_print(sum, &style, settings.no_headers, stdout);
        return 0;
}

static int show_load(struct looking *looking, int64_t now_unix_ms, struct error *err) {
        int r = node_list_update(looking->load, now_unix_ms, err);
        if (r < 0)
                return r;

        _cleanup_(explanation_done) struct explanation explanation;
        node_list_explain(looking->load, NULL, now_unix_ms, &explanation);
        return show_view(&explanation, node_list_listed(looking->load), looking->policy_from, err);
}

/* @policy: to judge by from now on; consumed */
static void take_policy(struct looking *looking, struct policy *policy, int64_t now_unix_ms) {
        if (looking->load)
                node_table_set_policy(node_list_table(looking->load), policy, now_unix_ms);
        else if (looking->requests)
                node_table_set_policy(top_requests_table(looking->requests), policy, now_unix_ms);
        else if (settings.has_requests)
                looking->requests = top_requests_new(looking->cluster, &looking->options, policy,
                                                     settings.selector, settings.is_watching,
                                                     now_unix_ms);
        else
                looking->load = node_list_new(looking->cluster, &looking->options, policy,
                                              settings.plimsoll_namespace, now_unix_ms);
        if (looking->load)
                node_list_select(looking->load, settings.selector);
}

static int top_look(struct looking *looking, struct error *err) {
        int64_t now_unix_ms = clock_wall_unix_ms();
        struct policy *policy = NULL;
        char *from = NULL;

        /* A file may be a pipe, so it is read only once. */
        if (!looking->policy_from || !settings.filename) {
                int r = cluster_policy_load(looking->cluster, settings.filename,
                                            settings.plimsoll_namespace, &policy, &from, err);
                if (r < 0)
                        return r;
                free(looking->policy_from);
                looking->policy_from = from;
                take_policy(looking, policy, now_unix_ms);
        }
        return settings.has_requests ? show_requests(looking, now_unix_ms, err)
                                     : show_load(looking, now_unix_ms, err);
}

static int run_top(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(looking_done) struct looking looking = {0};

        int r = verb_no_words(count, words, err);
        if (r == 0 && settings.is_watching && output_is_document(settings.output))
                r = error_set(err, EINVAL, "--watch: expected with -o table or wide");
        if (r == 0)
                r = annotation_style_init(&style, &settings.shared, settings.unit, err);
        looking.options = style.table;
        if (r == 0)
                r = cluster_open(&settings.cluster, &looking.cluster, err);
        if (r == 0)
                r = top_look(&looking, err);
        while (r == 0 && settings.is_watching && fflush(stdout) == 0 && !ferror(stdout)) {
                cluster_pause(looking.cluster, settings.interval_ms);
                r = cluster_check(looking.cluster, err);
                if (r < 0)
                        break;
                r = top_look(&looking, err);
                if (r < 0) { /* what is on the screen stays; the next list may succeed */
                        (void)fprintf(stderr, "kubectl plimsoll top: %s\n", err->msg);
                        r = 0;
                }
        }
        return r;
}

const struct verb top_verb = {
        .name = "top",
        .summary = "the load line of every node: usage, limits, verdict and score",
        .usage = "Usage: kubectl plimsoll top [FLAG...]\n"
                 "\n"
                 "Shows for every node its usage by the metrics of the policy, with the limits\n"
                 "marked, the verdict and the score that it would get now, and why. It is judged\n"
                 "by the extender's own code from the annotations; for a pod without requests.\n"
                 "With scoring: estimate a running extender is asked what it knows of the nodes.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll top --sort-by=cpu\n"
                 "  kubectl plimsoll top --watch\n"
                 "  kubectl plimsoll top --requests --sort-by=mem\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_top,
};
