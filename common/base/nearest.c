#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/attributes.h"

enum { WORD_MAX = 63, DISTANCE_MAX = 2, LETTERS_PER_EDIT = 3, CONTAINED_MIN = 3 };

static bool is_same_letter(char a, char b) {
        return strncasecmp(&a, &b, 1) == 0;
}

/* Optimal string alignment: Levenshtein's distance with swaps of neighbours, in three rows. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len) {
        size_t rows[3][WORD_MAX + 1] = {{0}};
        size_t *before = rows[0], *above = rows[1], *current = rows[2];

        for (size_t j = 0; j <= b_len; j++)
                above[j] = j;
        for (size_t i = 1; i <= a_len; i++) {
                current[0] = i;
                for (size_t j = 1; j <= b_len; j++) {
                        size_t cost = is_same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
                        current[j] = size_min(above[j - 1] + cost,
                                              size_min(above[j], current[j - 1]) + 1);
                        if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
                            is_same_letter(a[i - 2], b[j - 1]))
                                current[j] = size_min(current[j], before[j - 2] + 1);
                }
                size_t *reused = before;
                before = above;
                above = current;
                current = reused;
        }
        return above[b_len];
}

void nearest_offer(struct nearest *nearest, const char *candidate) {
        size_t word_len = strnlen(nearest->word, WORD_MAX + 1);
        size_t len = strnlen(candidate, WORD_MAX + 1);

        if (word_len > WORD_MAX || len > WORD_MAX)
                return;
        size_t distance = edit_distance(nearest->word, word_len, candidate, len);
        bool is_near = (distance <= DISTANCE_MAX &&
                        distance * LETTERS_PER_EDIT <= size_max(word_len, len)) ||
                       (word_len >= CONTAINED_MIN && strcasestr(candidate, nearest->word));
        if (!is_near || (nearest->candidate && nearest->distance <= distance))
                return;
        nearest->candidate = candidate;
        nearest->distance = distance;
}
