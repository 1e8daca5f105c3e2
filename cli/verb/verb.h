/*
 * A verb of the plugin: its flags, its --help and its function. Words may stand before, between and
 * after flags: `explain pod -n shop NAME -o json`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "program/options.h"

/* 0 is success; 2 is wrong usage or a failure. */
enum { VERB_EXIT_FAILURE = 2 };

enum output_format { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML };

extern const char *const output_formats[];

/* The flags that several verbs have: only one verb runs. */
extern struct verb_flags {
        struct cluster_options cluster;
        int output; /* of enum output_format */
} verb_flags;

/* clang-format off */
#define VERB_OUTPUT_ROW                                                                            \
        {.name = "output", .letter = 'o', .type = OPTION_ENUM, .value = &verb_flags.output,        \
         .fallback = "table", .choices = output_formats, .help = "Output format."}
#define VERB_NAMESPACE_ROW                                                                         \
        {.name = "plimsoll-namespace", .type = OPTION_STRING,                                      \
         .value = &verb_flags.cluster.plimsoll_namespace, .fallback = "kube-system", .metavar = "NAME",    \
         .variable = "PLIMSOLL_NAMESPACE", .help = "Namespace where Plimsoll is installed."}
/* The last rows of each verb. */
#define VERB_CLUSTER_ROWS CLUSTER_ROWS(verb_flags.cluster)
/* clang-format on */

/**
 * verb_check_fn: check flags before anything is asked
 * Return: 0; -EX_USAGE, or another negative errno, with the reason in @err
 */
typedef int verb_check_fn(struct error *err);
/** verb_words_fn: the same for the @count arguments that are not flags, which verb_fn needs */
typedef int verb_words_fn(int count, char **words, struct error *err);

/**
 * verb_fn: run the verb and print its output
 * @cluster: open, borrowed
 * Return: the exit status; or a negative errno, as verb_check_fn
 */
typedef int verb_fn(struct cluster *cluster, struct error *err);

struct verb {
        const char *name;
        const char *summary;      /* an imperative for the list of verbs */
        const char *usage;        /* the part of --help before the flags */
        const char *const *words; /* possible first words, for completion; NULL: none */
        const struct option_row *rows;
        size_t row_count;
        verb_words_fn *take_words; /* NULL: it takes none */
        verb_check_fn *check;      /* NULL: nothing to check */
        verb_fn *run;
};

/* Of the folders with these names. */
extern const struct verb cleanup_verb, doctor_verb, explain_verb, rebalance_verb, simulate_verb,
        top_verb, trial_verb, workloads_verb;

/** verb_main() - parse and run; @argv[0] is the verb. Prints errors to stderr. Return: exit status
 */
int verb_main(const struct verb *verb, int argc, char **argv);

/** verb_is_document() - is the output JSON or YAML? */
static inline bool verb_is_document(void) {
        return verb_flags.output == OUTPUT_JSON || verb_flags.output == OUTPUT_YAML;
}
/** verb_document() - print @root, which is consumed, as JSON or YAML */
void verb_document(json_t *root);
