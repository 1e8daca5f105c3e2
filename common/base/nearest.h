/*
 * "Did you mean ...?": of several candidates, the one nearest to a misspelt word.
 */
#pragma once

#include <stddef.h>

struct nearest {
        const char *word;      /* the misspelt word */
        const char *candidate; /* the best so far; NULL: nothing is near enough */
        size_t distance;
};

#define NEAREST_TO(text) ((struct nearest){.word = (text)})

/**
 * nearest_offer() - keep @candidate (borrowed) if it is nearer than what was offered before
 *
 * A candidate is near enough when at most two insertions, deletions, substitutions or swaps of
 * neighbours lead to it (one in a word of up to five letters), or when it contains the word. Case
 * is ignored.
 */
void nearest_offer(struct nearest *nearest, const char *candidate);
