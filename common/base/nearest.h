/*
 * "Did you mean ...?": of the words offered, the one that a misspelt word most probably meant.
 */
#pragma once

#include <stddef.h>

struct nearest {
        const char *word;      /* as it was written */
        const char *candidate; /* the best so far; NULL: nothing is near enough */
        size_t distance;
};

#define NEAREST_TO(text) ((struct nearest){.word = (text)})

/**
 * nearest_offer() - keep @candidate (borrowed) if it is nearer than what was offered before
 *
 * Near enough are two insertions, deletions, substitutions or swaps of neighbours (one in a word of
 * up to five letters), or a candidate that contains the word. Case is ignored.
 */
void nearest_offer(struct nearest *nearest, const char *candidate);
