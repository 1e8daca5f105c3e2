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
#include "program/options.h"

/* 0 is success; 2 is wrong usage or a failure. */
enum { VERB_EXIT_FAILURE = 2 };

/**
 * verb_fn: run the verb and print its output
 * @words: the @count arguments that are not flags
 * Return: the exit status; -EX_USAGE for wrong flags or words, or another negative errno, with the
 * reason in @err
 */
typedef int verb_fn(int count, char **words, struct error *err);

/**
 * verb_offer_fn: complete a word: print one candidate per line. The flags before it are set
 * @words: the @count arguments before it that are not flags
 * @typed: the beginning of the word
 */
typedef void verb_offer_fn(int count, char **words, const char *typed, FILE *out);

struct verb {
        const char *name;
        const char *summary; /* an imperative for the list of verbs */
        const char *usage;   /* the part of --help before the flags */
        const char *words;   /* possible first words, for completion; NULL: none */
        const struct option_row *rows;
        size_t row_count;
        verb_offer_fn *offer; /* completes names of objects in the cluster; NULL: none */
        verb_fn *run;
};

/** verb_main() - parse and run; @argv[0] is the verb. Prints errors to stderr. Return: exit status
 */
int verb_main(const struct verb *verb, int argc, char **argv);

/** verb_usage() - a failure to read flags is wrong usage */
static inline int verb_usage(int r) {
        return r < 0 ? -EX_USAGE : r;
}
/** verb_no_words() - for verbs that take only flags. Return: 0; -EX_USAGE */
_must_check_ int verb_no_words(int count, char **words, struct error *err);
