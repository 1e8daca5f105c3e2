/* kubectl-plimsoll: what Plimsoll does in a cluster, shown to people; a plugin of kubectl. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "cli/cluster/cluster.h"
#include "cli/completion.h"
#include "cli/doctor/doctor.h"
#include "cli/explain/explain_verb.h"
#include "cli/simulate/simulate.h"
#include "cli/top/top.h"
#include "cli/workloads/workloads.h"
#include "program/program_options.h"

#define PROGRAM "kubectl-plimsoll"

static const struct verb *const verbs[] = {&top_verb,    &explain_verb,  &workloads_verb,
                                           &doctor_verb, &simulate_verb, &completion_verb};

/* For --help; each verb reads them for itself. */
static struct cluster_options common;
static const struct option_row common_rows[] = {CLUSTER_ROWS(common)};

static void print_help(FILE *out) {
        (void)fputs("Usage: kubectl plimsoll VERB [FLAG...]\n"
                    "\n"
                    "Shows what Plimsoll does in a cluster. It reads and changes nothing.\n"
                    "\n"
                    "Verbs:\n",
                    out);
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                (void)fprintf(out, "  %-12s %s\n", verbs[i]->name, verbs[i]->summary);
        (void)fputs("\n`kubectl plimsoll VERB --help` lists the flags of a verb. Every flag but "
                    "--token "
                    "can\n"
                    "also be given in the environment: --sort-by as PLIMSOLL_SORT_BY.\n"
                    "\nFlags of all verbs:\n",
                    out);
        options_help(common_rows + 1, ARRAY_LEN(common_rows) - 1, out);
}

static int count_flag_words(const char *flag) {
        int words = 0;

        for (size_t i = 0; i < ARRAY_LEN(verbs) && words == 0; i++)
                words = options_flag_words(verbs[i]->rows, verbs[i]->row_count, flag);
        return words;
}

/* Flags may be before the verb, but the parser expects them after it. */
static void move_verb_first(int argc, char **argv) {
        int at = 1, words = 1;

        while (at < argc && argv[at][0] == '-' && words > 0) {
                words = count_flag_words(argv[at]);
                at += words;
        }
        if (at >= argc || words == 0)
                return;
        char *verb = argv[at];
        memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
        argv[1] = verb;
}

static int run_verb(int argc, char **argv) {
        struct nearest nearest = NEAREST_TO(argv[1]);
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                if (strcmp(argv[1], verbs[i]->name) == 0)
                        return verb_main(verbs[i], argc - 1, argv + 1);
                nearest_offer(&nearest, verbs[i]->name);
        }
        if (argv[1][0] == '-')
                (void)error_set(&err, EINVAL, "'%.64s': expected a verb", argv[1]);
        else if (nearest.candidate)
                (void)error_set(&err, EINVAL, "'%.64s': no such verb; did you mean %s?", argv[1],
                                nearest.candidate);
        else
                (void)error_set(&err, EINVAL, "'%.64s': no such verb", argv[1]);
        program_usage_error("kubectl plimsoll", &err);
        return VERB_EXIT_FAILURE;
}

int main(int argc, char **argv) {
        int status = 0;

        /* The verbs print their errors themselves. */
        log_set(LOG_LEVEL_ERROR, LOG_FORMAT_LOGFMT);
        move_verb_first(argc, argv);
        if (argc < 2) {
                print_help(stderr);
                status = VERB_EXIT_FAILURE;
        } else if (strcmp(argv[1], "__complete") == 0) {
                /* Nobody can log in while a shell completes a word. */
                (void)!freopen("/dev/null", "re", stdin);
                if (argc > 2)
                        completion_offer(verbs, ARRAY_LEN(verbs), argc - 2, argv + 2, stdout);
        } else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                   strcmp(argv[1], "help") == 0) {
                print_help(stdout);
        } else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
                (void)puts(PROGRAM " " PLIMSOLL_VERSION);
        } else {
                status = run_verb(argc, argv);
        }
        return program_end(PROGRAM, status);
}
