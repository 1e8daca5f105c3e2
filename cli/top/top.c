/* `top`: usage, limits, verdict and score of every node. */
#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "cli/top/top_view.h"
#include "cli/verb/verb.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"

static struct {
        const char *sort, *selector;
        int64_t interval_ms;
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
        VERB_OUTPUT_ROW,
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

static void begin_screen(const struct style *style) {
        /* Clear the screen. */
        if (settings.is_watching && style->is_terminal)
                (void)fputs("\033[H\033[2J", stdout);
}

/* The extender does not keep labels. @ret: not touched: all nodes */
static int read_selected(struct cluster *cluster, json_t **ret, struct error *err) {
        json_auto_t *nodes = NULL;
        const json_t *node;
        size_t i;

        if (!settings.selector)
                return 0;
        _cleanup_(freep) char *escaped = kube_escape(settings.selector);
        _cleanup_(freep) char *path = xasprintf(KUBE_NODES "?labelSelector=%s", escaped);
        if (cluster_list_all(cluster, path, &kube_proto_node, &nodes, err) != KUBE_OK)
                return err->code;
        *ret = json_object();
        json_array_foreach (nodes, i, node)
                json_object_set_new(*ret, json_string_at(node, "metadata", "name", NULL),
                                    json_true());
        return 0;
}

static int show_view(const json_t *page, const json_t *selected, const char *from,
                     struct error *err) {
        struct style style = style_of(stdout);
        _cleanup_(top_view_done) struct top_view view;
        bool is_wide = verb_flags.output == OUTPUT_WIDE;

        top_view_init(&view, page, selected, from, is_wide, !style.is_terminal);
        if (view.node_count == 0 && settings.selector)
                (void)fprintf(stderr, "kubectl plimsoll top: no node has the labels %s\n",
                              settings.selector);
        int r = top_view_sort(&view, settings.sort, err);
        if (r < 0)
                return r;
        if (verb_is_document()) {
                verb_document(top_view_json(&view));
                return 0;
        }
        begin_screen(&style);
        top_view_print(&view, &style, is_wide, settings.no_headers, stdout);
        return 0;
}

static int top_look(struct cluster *cluster, struct error *err) {
        json_auto_t *page = NULL, *selected = NULL;
        _cleanup_(freep) char *from = NULL;

        int r = read_selected(cluster, &selected, err);
        if (r == 0)
                r = cluster_ask(cluster, "nodes", NULL, "nodes", &page, &from, err);
        return r < 0 ? r : show_view(page, selected, from, err);
}

static int top_check(struct error *err) {
        if (settings.is_watching && verb_is_document())
                return error_set(err, EX_USAGE, "--watch: expected with -o table or wide");
        return 0;
}

static int run_top(struct cluster *cluster, struct error *err) {
        int r = top_look(cluster, err);

        while (r == 0 && settings.is_watching && fflush(stdout) == 0 && !ferror(stdout)) {
                cluster_pause(cluster, settings.interval_ms);
                r = cluster_check(cluster, err);
                if (r < 0)
                        break;
                r = top_look(cluster, err);
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
                 "score that the node would get now for a pod without requests, as a running\n"
                 "extender answers.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll top --sort-by=cpu\n"
                 "  kubectl plimsoll top --watch\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .check = top_check,
        .run = run_top,
};
