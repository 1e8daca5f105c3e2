#include "cli/verb/verb.h"

#include <stdio.h>

#include "base/mem.h"
#include "codec/yaml_write.h"
#include "program/program_options.h"

struct verb_flags verb_flags;

/* In the order of enum output_format. */
const char *const output_formats[] = {"table", "wide", "json", "yaml", NULL};

void verb_document(json_t *root) {
        if (verb_flags.output == OUTPUT_YAML) {
                yaml_write(root, stdout);
        } else {
                (void)json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
                (void)putchar('\n');
        }
        json_decref(root);
}

/* Check, and run with the flags that are set. Return: as verb_fn */
static int verb_run(const struct verb *verb, int count, char **words, struct error *err) {
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        int r = 0;

        if (verb->take_words)
                r = verb->take_words(count, words, err);
        else if (count > 0)
                r = error_set(err, EX_USAGE, "'%.64s': expected nothing but flags", words[0]);
        if (r == 0 && verb->check)
                r = verb->check(err);
        if (r == 0)
                r = cluster_open(&verb_flags.cluster, &cluster, err);
        return r < 0 ? r : verb->run(cluster, err);
}

int verb_main(const struct verb *verb, int argc, char **argv) {
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int first;

        int r = options_parse(verb->rows, verb->row_count, argc, argv, &outcome, &first, &err);
        r = r < 0 ? -EX_USAGE : r;
        if (r == 0 && outcome == OPTIONS_HELP) {
                (void)puts(verb->usage);
                options_help(verb->rows, verb->row_count, stdout);
                (void)puts(
                        "\n`kubectl plimsoll --help` lists the flags that select the cluster and "
                        "the user.");
        } else if (r == 0 && outcome == OPTIONS_VERSION) {
                (void)puts("kubectl-plimsoll " PLIMSOLL_VERSION);
        } else if (r == 0) {
                r = verb_run(verb, argc - first, argv + first, &err);
        }
        options_done(verb->rows, verb->row_count);
        if (r >= 0)
                return r;
        _cleanup_(freep) char *program = xasprintf("kubectl plimsoll %s", verb->name);
        if (r == -EX_USAGE)
                program_usage_error(program, &err);
        else
                (void)fprintf(stderr, "%s: %s\n", program, err.msg);
        return VERB_EXIT_FAILURE;
}
