/*
 * "Did you mean ...?": finds the candidate that is nearest to a misspelt word.
 */
#pragma once

#include <stddef.h>

struct nearest {
        const char *word;      /* the misspelt word */
        const char *candidate; /* the nearest so far; NULL: none is near enough */
        size_t distance;
};

#define NEAREST_TO(text) ((struct nearest){.word = (text)})

/**
 * nearest_offer() - keep @candidate (borrowed) if it is nearer than earlier ones
 *
 * A candidate is near enough if at most two edits lead to it, or one in a word of up to five
 * letters, or if it contains the word. An edit inserts, deletes or replaces a letter, or swaps two
 * neighbours. Case is ignored.
 */
void nearest_offer(struct nearest *nearest, const char *candidate);
