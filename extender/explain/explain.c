#include "extender/explain/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "extender/explain/explain_estimate.h"
#include "extender/explain/explain_judge.h"
#include "extender/table/annotation_unit.h"
#include "policy/live/policy_options.h"
#include "program/program_options.h"

enum {
        INPUT_MAX_BYTES = 512 << 20, /* 5,000 whole nodes are about 80 MB */
};

enum output { OUTPUT_TABLE, OUTPUT_JSON };

static struct {
        struct program_options shared;
        const char *now, *pod;
        int unit, output;
} settings;

static const char *const outputs[] = {"table", "json", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        PROGRAM_POLICY_ROWS(settings.shared),
        {.name = "now", .type = OPTION_STRING, .value = &settings.now, .metavar = "TIME",
         .help = "Evaluate as of this time, such as 2026-07-23T11:25:54Z. Default: now."},
        {.name = "pod", .type = OPTION_STRING, .value = &settings.pod, .metavar = "NAMESPACE/NAME",
         .help = "Score the nodes for this pod of the input, with scoring: estimate. Default: for "
                 "a pod that uses nothing."},
        {.name = "output", .type = OPTION_ENUM, .value = &settings.output, .fallback = "table",
         .letter = 'o', .choices = outputs, .help = "Output format."},
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
};
/* clang-format on */

/* ---- Input. */

static int read_all(int fd, struct buf *out, struct error *err) {
        enum { CHUNK_BYTES = 1 << 16 };

        for (;;) {
                if (!buf_reserve(out, CHUNK_BYTES))
                        return error_set(err, E2BIG, "more than %d bytes", INPUT_MAX_BYTES);
                ssize_t got = read(fd, out->data + out->len, CHUNK_BYTES);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_set(err, errno, "%s", strerror(errno));
                if (got == 0)
                        break;
                out->len += (size_t)got;
        }
        out->data[out->len] = '\0';
        return 0;
}

static int read_input(const char *path, struct buf *out, struct error *err) {
        if (strcmp(path, "-") == 0)
                return read_all(STDIN_FILENO, out, err);

        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return error_set(err, errno, "%s", strerror(errno));
        int r = read_all(fd, out, err);
        (void)close(fd);
        return r;
}

static struct explained_pod explained;
static bool found_pod;

static int put_node(struct node_table *table, const json_t *node, int64_t now_unix_ms,
                    struct error *err) {
        const char *name = json_string_at(node, "metadata", "name", NULL);
        size_t before = node_table_count(table);

        if (!name)
                return error_set(err, EINVAL, "no metadata.name: not a Node");
        node_table_put(table, name, json_at(node, "metadata", "annotations", NULL), now_unix_ms);
        if (node_table_count(table) != before + 1)
                return error_set(err, EINVAL,
                                 "metadata.name '%.64s' is a duplicate or not a valid node name",
                                 name);
        node_table_set_capacity(table, name, json_at(node, "status", "capacity", NULL),
                                now_unix_ms);
        return 0;
}

static bool is_pod(const json_t *item) {
        const char *kind = json_string_at(item, "kind", NULL);

        return kind && strcmp(kind, "Pod") == 0;
}

/* A NodeList (or kubectl's List, which may hold pods too), or one Node. */
static int put_nodes(struct node_table *table, const json_t *root, int64_t now_unix_ms,
                     struct error *err) {
        const json_t *items = json_at(root, "items", NULL);
        const json_t *node;
        size_t i;

        if (!items)
                return put_node(table, root, now_unix_ms, err);
        if (!json_is_array(items))
                return error_set(err, EINVAL, "items: expected an array");
        /* The readings of the nodes are about the pods. */
        json_array_foreach (items, i, node)
                if (is_pod(node))
                        found_pod |= explain_add_pod(table, node, settings.pod, &explained);
        json_array_foreach (items, i, node) {
                int r = is_pod(node) ? 0 : put_node(table, node, now_unix_ms, err);
                if (r < 0)
                        return error_wrap(err, r, "items[%zu]", i);
        }
        return 0;
}

static int load_nodes(struct node_table *table, const char *path, int64_t now_unix_ms,
                      struct error *err) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(INPUT_MAX_BYTES);
        json_auto_t *root = NULL;

        int r = read_input(path, &text, err);
        if (r == 0)
                r = json_parse(text.data, text.len, &root, err);
        if (r == 0)
                r = put_nodes(table, root, now_unix_ms, err);
        if (r < 0)
                return error_wrap(err, r, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
        return 0;
}

static void print(struct node_table *table, int64_t now_unix_ms) {
        _cleanup_(explain_judged_done) struct explain_judged judged;

        explain_judge(table, &explained, now_unix_ms, &judged);
        if (settings.output == OUTPUT_JSON) {
                explain_print_json(&judged.explanation, stdout);
        } else {
                const char *no_colour = getenv("NO_COLOR");
                bool wants_none = no_colour && no_colour[0] != '\0';
                explain_print_table(&judged.explanation, isatty(STDOUT_FILENO) && !wants_none,
                                    stdout);
        }
}

static int explain(const char *path, struct error *err) {
        _cleanup_(program_annotations_done) struct program_annotations annotations = {0};
        _cleanup_(node_table_freep) struct node_table *table = NULL;
        struct policy *policy = NULL;
        int64_t now_unix_ms = clock_wall_unix_ms();

        if (settings.now && !timestamp_parse(settings.now, strlen(settings.now), &now_unix_ms))
                return error_set(err, EINVAL, "--now: '%.64s': expected YYYY-MM-DDTHH:MM:SSZ",
                                 settings.now);
        int r = program_annotations_init(&annotations, &settings.shared, err);
        if (r < 0)
                return r;
        r = policy_options_load(&settings.shared, &policy, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < policy->warning_count && i < POLICY_MAX_WARNINGS; i++)
                (void)fprintf(stderr, "warning: %s\n", policy->warnings[i]);

        struct node_table_options options = {
                .annotation_prefix = annotations.prefix,
                .zone = annotations.zone,
                .is_percent = settings.unit == ANNOTATION_UNIT_PERCENT,
        };
        table = node_table_new(&options, policy, now_unix_ms);
        r = load_nodes(table, path, now_unix_ms, err);
        if (r < 0)
                return r;
        if (settings.pod && !found_pod)
                return error_set(err, EINVAL, "--pod: no pod '%.64s' in the input", settings.pod);
        print(table, now_unix_ms);
        return 0;
}

static void help(void) {
        (void)puts(
                "Usage: plimsoll-extender explain [FLAG...] [FILE]\n"
                "\n"
                "Explains each node's verdict and score. FILE is a NodeList or a Node in JSON;\n"
                "without it, standard input is read:\n"
                "\n"
                "  kubectl get nodes -o json | plimsoll-extender explain\n"
                "\n"
                "With scoring: estimate the pods take part, and one of them can be the pod that\n"
                "looks for a node:\n"
                "\n"
                "  kubectl get nodes,pods -A -o json |\n"
                "      plimsoll-extender explain --pod=NAMESPACE/NAME\n");
        options_help(rows, ARRAY_LEN(rows), stdout);
}

int explain_main(int argc, char **argv) {
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int first, r;

        r = options_parse(rows, ARRAY_LEN(rows), argc, argv, &outcome, &first, &err);
        if (r == 0 && outcome == OPTIONS_HELP) {
                help();
        } else if (r == 0 && outcome == OPTIONS_VERSION) {
                (void)puts("plimsoll-extender " PLIMSOLL_VERSION);
        } else if (r == 0) {
                if (argc - first > 1)
                        r = error_set(&err, EINVAL, "expected at most one FILE, got also '%.64s'",
                                      argv[first + 1]);
                else
                        r = explain(first < argc ? argv[first] : "-", &err);
        }
        options_done(rows, ARRAY_LEN(rows));
        if (r < 0)
                (void)fprintf(stderr, "plimsoll-extender explain: %s\n", err.msg);
        return r < 0 ? PROGRAM_EXIT_CONFIG : 0;
}
