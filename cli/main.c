/* kubectl-plimsoll: the kubectl plugin that shows what Plimsoll does in a cluster. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/completion.h"
#include "cli/verb/verb.h"
#include "program/program_options.h"

#define PROGRAM "kubectl-plimsoll"

static const struct verb *const verbs[] = {
        &top_verb,    &trial_verb,    &explain_verb,   &workloads_verb,
        &doctor_verb, &simulate_verb, &rebalance_verb, &cleanup_verb,
};

static const struct option_row common_rows[] = {VERB_CLUSTER_ROWS};

static void print_help(FILE *out) {
        (void)fputs("Usage: kubectl plimsoll VERB [FLAG...]\n"
                    "\n"
                    "Show what Plimsoll does in a cluster. Only --apply changes anything.\n"
                    "\n"
                    "Verbs:\n",
                    out);
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                (void)fprintf(out, "  %-12s %s\n", verbs[i]->name, verbs[i]->summary);
        (void)fputs("\n`kubectl plimsoll VERB --help` lists the flags of a verb. Each flag except\n"
                    "--token has an environment variable: PLIMSOLL_SORT_BY sets --sort-by.\n"
                    "\nFlags of all verbs:\n",
                    out);
        options_help(common_rows + 1, ARRAY_LEN(common_rows) - 1, out);
}

/* Return: 0: no verb has the flag; 1: it stands alone; 2: its value follows */
static int count_flag_words(const char *flag) {
        const struct option_row *row = NULL;
        const char *value = NULL;

        for (size_t i = 0; i < ARRAY_LEN(verbs) && !row; i++)
                row = options_find_flag(verbs[i]->rows, verbs[i]->row_count, flag, &value);
        return !row ? 0 : value || row->type == OPTION_BOOL ? 1 : 2;
}

/* Flags may stand before the verb. Return: the index of the first word that is not a flag of any
 * verb, or the value of one */
static int find_verb(int argc, char **argv) {
        int at = 1, words = 1;

        while (at < argc && (words = count_flag_words(argv[at])) > 0)
                at += words;
        return at;
}

/* @more: after the word */
static int misuse(const char *what, const char *word, const char *more) {
        struct error err = ERROR_NULL;

        (void)error_set(&err, EINVAL, "%s%.64s%s", what, word, more);
        program_usage_error("kubectl plimsoll", &err);
        return VERB_EXIT_FAILURE;
}

static int misuse_verb(const char *name, const char *nearest) {
        _cleanup_(buf_done) struct buf more = BUF_INIT(1024);

        if (nearest)
                buf_printf(&more, "; did you mean %s?", nearest);
        for (size_t i = 0; !nearest && i < ARRAY_LEN(verbs); i++)
                buf_printf(&more, "%s%s", i > 0 ? ", " : "; expected ", verbs[i]->name);
        return misuse("unknown verb ", name, more.data);
}

/* Whatever the verb: a variable may be for another one. */
static void warn_of_variables(void) {
        struct option_table tables[ARRAY_LEN(verbs)];

        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                tables[i] = (struct option_table){verbs[i]->rows, verbs[i]->row_count};
        program_warn_variables("kubectl plimsoll", tables, ARRAY_LEN(tables));
}

static int run_verb(const char *name, int argc, char **argv) {
        struct nearest nearest = NEAREST_TO(name);

        warn_of_variables();
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                if (strcmp(name, verbs[i]->name) == 0)
                        return verb_main(verbs[i], argc, argv);
                nearest_offer(&nearest, verbs[i]->name);
        }
        return name[0] == '-' ? misuse("unknown flag ", name, "")
                              : misuse_verb(name, nearest.candidate);
}

int main(int argc, char **argv) {
        int at = find_verb(argc, argv), status = 0;

        /* The verbs print their errors themselves. */
        log_set(LOG_LEVEL_ERROR, LOG_FORMAT_LOGFMT);
        if (argc < 2) {
                print_help(stderr);
                status = VERB_EXIT_FAILURE;
        } else if (at >= argc) {
                status = misuse("expected a verb", "", "");
        } else if (strcmp(argv[1], "__complete") == 0) {
                if (argc > 2)
                        completion_offer(verbs, ARRAY_LEN(verbs), argc - 2, argv + 2, stdout);
        } else if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0 ||
                   strcmp(argv[at], "help") == 0) {
                print_help(stdout);
        } else if (strcmp(argv[at], "--version") == 0 || strcmp(argv[at], "version") == 0) {
                (void)puts(PROGRAM " " PLIMSOLL_VERSION);
        } else {
                /* The verb comes first: verb_main() expects its name before the flags. */
                char *name = argv[at];
                memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
                argv[1] = name;
                status = run_verb(name, argc - 1, argv + 1);
        }
        return program_end(PROGRAM, status);
}
