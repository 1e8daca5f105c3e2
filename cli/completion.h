/* What a shell may offer while a command is typed. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "cli/verb/verb.h"

/**
 * completion_offer() - the candidates for the last of @words, one per line, then ":4", or ":0"
 * where files may stand
 * @words: those behind the program's name, @count >= 1 of them; the last may be ""
 *
 * That is how kubectl asks kubectl_complete-plimsoll (the protocol of cobra). Names of nodes and
 * pods are asked of the cluster.
 */
void completion_offer(const struct verb *const *verbs, size_t verb_count, int count, char **words,
                      FILE *out);

/* `completion`: the script of a shell. */
extern const struct verb completion_verb;
