#include "cli/top/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/nodes/node_list.h"
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
        bool is_watching, no_headers;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "sort-by", .type = OPTION_STRING, .value = &settings.sort, .fallback = "name",
         .metavar = "KEY",
         .help = "Sort by name, score, recent, pods, requested, expected, age or a metric of the "
                 "policy, largest first. A prefix such as cpu is the first metric that begins with it."},
        {.name = "selector", .letter = 'l', .type = OPTION_STRING, .value = &settings.selector,
         .metavar = "LABELS", .help = "Show only nodes with these labels, such as pool=batch."},
        {.name = "no-headers", .type = OPTION_BOOL, .value = &settings.no_headers,
         .help = "Print only nodes: neither titles nor totals."},
        {.name = "watch", .letter = 'w', .type = OPTION_BOOL, .value = &settings.is_watching,
         .help = "Repeat until Ctrl-C."},
        {.name = "interval", .type = OPTION_DURATION_MS, .value = &settings.interval_ms,
         .fallback = "10s", .min = 1000, .max = 3600000, .help = "Pause between two updates of --watch."},
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
        /* Clear the screen. */
        if (settings.is_watching && style->is_terminal)
                (void)fputs("\033[H\033[2J", stdout);
}

static int show_view(const struct explanation *explanation, const struct listed_nodes *listed,
                     const char *policy_from, struct error *err) {
        struct style style = style_of(stdout);
        _cleanup_(top_view_done) struct top_view view;
        bool is_wide = settings.output == OUTPUT_WIDE;

        top_view_init(&view, explanation, listed, policy_from, is_wide, !style.is_terminal);
        if (view.node_count == 0 && settings.selector)
                (void)fprintf(stderr, "kubectl plimsoll top: no node has the labels %s\n",
                              settings.selector);
        int r = verb_usage(top_view_sort(&view, settings.sort, err));
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

/* What is kept between the updates of --watch. */
struct session {
        struct cluster *cluster;
        struct node_table_options options;
        struct node_list *nodes; /* NULL before the first update */
        char *policy_from;
};

static void session_done(struct session *session) {
        node_list_free(session->nodes);
        free(session->policy_from);
        cluster_free(session->cluster);
}

static int show_nodes(struct session *session, int64_t now_unix_ms, struct error *err) {
        int r = node_list_update(session->nodes, now_unix_ms, err);
        if (r < 0)
                return r;

        _cleanup_(explanation_done) struct explanation explanation;
        node_list_explain(session->nodes, NULL, now_unix_ms, &explanation);
        return show_view(&explanation, node_list_listed(session->nodes), session->policy_from, err);
}

/* Use @policy from now on; it is consumed. */
static void take_policy(struct session *session, struct policy *policy, int64_t now_unix_ms) {
        if (session->nodes) {
                node_table_set_policy(node_list_table(session->nodes), policy, now_unix_ms);
                return;
        }
        session->nodes = node_list_new(session->cluster, &session->options, policy,
                                       settings.plimsoll_namespace, now_unix_ms);
        node_list_select(session->nodes, settings.selector);
}

static int top_look(struct session *session, struct error *err) {
        int64_t now_unix_ms = clock_wall_unix_ms();
        struct policy *policy = NULL;
        char *from = NULL;

        /* A file may be a pipe: read it only once. */
        if (!session->policy_from || !settings.filename) {
                int r = cluster_policy_load(session->cluster, settings.filename,
                                            settings.plimsoll_namespace, &policy, &from, err);
                if (r < 0)
                        return r;
                free(session->policy_from);
                session->policy_from = from;
                take_policy(session, policy, now_unix_ms);
        }
        return show_nodes(session, now_unix_ms, err);
}

static int check_flags(struct error *err) {
        if (settings.is_watching && output_is_document(settings.output))
                return error_set(err, EX_USAGE, "--watch: expected with -o table or wide");
        return 0;
}

static int run_top(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(session_done) struct session session = {0};

        int r = verb_no_words(count, words, err);
        if (r == 0)
                r = check_flags(err);
        if (r == 0)
                r = verb_usage(annotation_style_init(&style, &settings.shared, settings.unit, err));
        session.options = style.table;
        if (r == 0)
                r = cluster_open(&settings.cluster, &session.cluster, err);
        if (r == 0)
                r = top_look(&session, err);
        while (r == 0 && settings.is_watching && fflush(stdout) == 0 && !ferror(stdout)) {
                cluster_pause(session.cluster, settings.interval_ms);
                r = cluster_check(session.cluster, err);
                if (r < 0)
                        break;
                r = top_look(&session, err);
                if (r < 0) { /* keep the screen; the next update may succeed */
                        (void)fprintf(stderr, "kubectl plimsoll top: %s\n", err->msg);
                        r = 0;
                }
        }
        return r;
}

const struct verb top_verb = {
        .name = "top",
        .summary = "Show usage, limits, verdict and score of every node",
        .usage = "Usage: kubectl plimsoll top [FLAG...]\n"
                 "\n"
                 "Show how busy every node is by the metrics of the policy, and the verdict and\n"
                 "score that the node would get now for a pod without requests. The code that\n"
                 "decides is the extender's. With `scoring: estimate`, a running extender\n"
                 "provides what it knows about the pods.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll top --sort-by=cpu\n"
                 "  kubectl plimsoll top --watch\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_top,
};
