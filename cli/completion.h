/* What a shell offers while somebody types a command. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "cli/verb/verb.h"

/**
 * completion_offer() - print the candidates for the last of @words, one per line, then ":0" if it
 * may be a file, or else ":4"
 * @words: those after the program's name, @count >= 1 of them; the last may be ""
 *
 * This is cobra's protocol, by which kubectl asks kubectl_complete-plimsoll. The names of nodes and
 * pods are read from the cluster.
 */
void completion_offer(const struct verb *const *verbs, size_t verb_count, int count, char **words,
                      FILE *out);

/* `completion`: the script of a shell. */
extern const struct verb completion_verb;
