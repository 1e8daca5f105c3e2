/* What kubectl offers while somebody types a command. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "cli/verb/verb.h"

/**
 * completion_offer() - print the candidates for the last of @words, one per line, then ":0" if it
 * may be a file, or else ":4"
 * @words: those after the program's name, @count >= 1 of them; the last may be ""
 *
 * This is cobra's protocol, by which kubectl asks kubectl_complete-plimsoll. That asks kubectl for
 * the names of nodes and pods.
 */
void completion_offer(const struct verb *const *verbs, size_t verb_count, int count, char **words,
                      FILE *out);
