/* Who is on a shortlist, against a selection by brute force: places are dealt one by one, and each
 * goes to the best candidate that is left. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "policy/judge/shortlist.h"
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/full_size.h"

enum { STRANGER = SHORTLIST_STRANGERS, ABSENT = SHORTLIST_GROUPS, CANDIDATES_MAX = 400 };

struct candidate {
        unsigned zone, level;
};

/* Return: how many are on it; @ret_in: "x" for those, "." for the others */
static size_t choose(struct shortlist *list, const struct candidate *candidates, size_t count,
                     size_t places, char *ret_in) {
        shortlist_begin(list, count);
        for (size_t i = 0; i < count; i++)
                if (candidates[i].zone != ABSENT)
                        shortlist_enter(list, i, candidates[i].zone, candidates[i].level);
        size_t in = shortlist_choose(list, places);
        for (size_t i = 0; i < count; i++)
                ret_in[i] = candidates[i].zone != ABSENT && list->candidates[i].is_in ? 'x' : '.';
        ret_in[count] = '\0';
        return in;
}

/* The best candidate of @zone that is out, the first of several. Return: false when there is none
 */
static bool deal(const struct candidate *candidates, size_t count, unsigned zone, char *in) {
        size_t best = count;

        for (size_t i = 0; i < count; i++)
                if (candidates[i].zone == zone && in[i] == '.' &&
                    (best == count || candidates[i].level < candidates[best].level))
                        best = i;
        if (best == count)
                return false;
        in[best] = 'x';
        return true;
}

static size_t choose_slowly(const struct candidate *candidates, size_t count, size_t places,
                            char *in) {
        unsigned zones[CANDIDATES_MAX];
        size_t zone_count = 0, dealt = 0;
        bool is_first_round = true, has_dealt = true;

        memset(in, '.', count);
        in[count] = '\0';
        for (size_t i = 0; i < count; i++) {
                size_t z = 0;
                while (z < zone_count && zones[z] != candidates[i].zone)
                        z++;
                if (z == zone_count && candidates[i].zone < STRANGER)
                        zones[zone_count++] = candidates[i].zone;
        }
        while (has_dealt) {
                has_dealt = false;
                for (size_t z = 0; z < zone_count; z++)
                        if ((is_first_round || dealt < places) &&
                            deal(candidates, count, zones[z], in)) {
                                has_dealt = true;
                                dealt++;
                        }
                is_first_round = false;
        }
        while (dealt < places && deal(candidates, count, STRANGER, in))
                dealt++;
        return dealt;
}

TEST(random) {
        static const unsigned zone_ranges[] = {1, 2, 3, 8, 40, SHORTLIST_ZONES_MAX};
        static const unsigned level_ranges[] = {1, 3, 20, SHORTLIST_LEVELS};
        struct shortlist list =
                SHORTLIST_NULL; /* reused: nothing of one call is left to the next */
        struct candidate candidates[CANDIDATES_MAX];
        char got[CANDIDATES_MAX + 1], expected[CANDIDATES_MAX + 1];

        for (int round = 0, n = full_size(100000, 3000); round < n; round++) {
                size_t count = draw_below(draw_below(4) ? 40 : CANDIDATES_MAX),
                       places = draw_below(60) + 1;
                unsigned zones = zone_ranges[draw_below(ARRAY_LEN(zone_ranges))];
                unsigned levels = level_ranges[draw_below(ARRAY_LEN(level_ranges))];
                unsigned odd = draw_below(3) ? 10 : 2;
                for (size_t i = 0; i < count; i++) {
                        /* zones of unequal sizes */
                        unsigned zone = draw_below(draw_below(zones) + 1);
                        candidates[i] = (struct candidate){zone, draw_below(levels)};
                        if (draw_below(odd) == 0)
                                candidates[i] = (struct candidate){
                                        draw_below(2) ? STRANGER : ABSENT, 0};
                }
                size_t in = choose(&list, candidates, count, places, got);
                assert_int_equal(in, choose_slowly(candidates, count, places, expected));
                assert_string_equal(got, expected);
        }
        shortlist_done(&list);
}
