/*
 * A verb of the plugin: its flags, its --help and the function that it runs. Words may be before,
 * between and after flags: `explain pod -n shop NAME -o json`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "program/options.h"

/* As with most programs: 0 is success; 2 is wrong usage, or a failure. */
enum { VERB_EXIT_FAILURE = 2 };

/**
 * verb_fn: do it, and print
 * @words: the arguments that are not flags, @count of them
 * Return: the exit status; negative errno with the reason in @err
 */
typedef int verb_fn(int count, char **words, struct error *err);

/**
 * verb_offer_fn: complete a word: print one candidate per line. The flags before it have been read
 * @words: the arguments before it that are not flags, @count of them
 * @typed: the beginning of the word
 */
typedef void verb_offer_fn(int count, char **words, const char *typed, FILE *out);

struct verb {
        const char *name;
        const char *summary; /* one line, for the list of verbs */
        const char *usage;   /* the part of --help before the flags */
        const char *words;   /* possible first words, for completion; NULL: none */
        const struct option_row *rows;
        size_t row_count;
        verb_offer_fn *offer; /* completes names that only the cluster knows; NULL: none */
        verb_fn *run;
};

/** verb_main() - parse and run; @argv[0] is the verb. Errors go to stderr. Return: exit status */
int verb_main(const struct verb *verb, int argc, char **argv);

/** verb_now() - the value of --now, such as 2026-07-23T11:25:54Z; NULL: the time now. Return: 0;
 * -EINVAL */
_must_check_ int verb_now(const char *text, int64_t *ret_unix_ms, struct error *err);
/** verb_no_words() - for verbs that take none. Return: 0; -EINVAL */
_must_check_ int verb_no_words(int count, char **words, struct error *err);
