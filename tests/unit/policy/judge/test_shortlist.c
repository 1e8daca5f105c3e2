/* Who is on a shortlist: by example, and against a selection by brute force. */
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

TEST(choices) {
        static const struct {
                struct candidate candidates[10]; /* up to level 255 of zone 255 */
                size_t places;
                const char *in;
        } rows[] = {
                {{{255, 255}}, 5, ""},
                {{{0, 5}, {0, 3}, {0, 4}, {0, 9}, {255, 255}}, 2, ".xx."},
                {{{0, 5}, {0, 3}, {0, 4}, {0, 9}, {255, 255}}, 4, "xxxx"},
                {{{0, 5}, {0, 3}, {0, 4}, {0, 9}, {255, 255}}, 100, "xxxx"},
                /* ties in the request's order */
                {{{0, 7}, {0, 7}, {0, 7}, {0, 1}, {255, 255}}, 2, "x..x"},
                {{{0, 0}, {0, 254}, {0, 255}, {255, 255}}, 2, "xx."},
                /* rejected or repeated */
                {{{ABSENT, 0}, {0, 9}, {ABSENT, 0}, {0, 8}, {0, 7}, {255, 255}}, 2, "...xx"},
                /* zones share the places, whatever their scores */
                {{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {2, 90}, {2, 91}, {2, 92}, {255, 255}},
                 4,
                 "xx..xx."},
                /* and evenly, whatever their sizes */
                {{{1, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {255, 255}},
                 4,
                 "xxxx..."},
                /* what a small zone leaves goes to the others; an odd place to the first of them */
                {{{1, 0}, {2, 0}, {2, 0}, {2, 0}, {3, 0}, {3, 0}, {3, 0}, {255, 255}},
                 4,
                 "xxx.x.."},
                {{{3, 0}, {1, 0}, {2, 0}, {2, 0}, {2, 0}, {3, 0}, {3, 0}, {255, 255}},
                 4,
                 "xxx..x."},
                /* one of each zone, even if there are fewer places */
                {{{1, 9}, {1, 8}, {2, 7}, {3, 6}, {3, 5}, {4, 0}, {255, 255}}, 2, ".xx.xx"},
                /* no zone is a zone, too */
                {{{0, 1}, {0, 2}, {1, 9}, {1, 8}, {255, 255}}, 2, "x..x"},
                /* strangers take what is left */
                {{{STRANGER, 0}, {1, 99}, {STRANGER, 0}, {1, 99}, {255, 255}}, 2, ".x.x"},
                {{{STRANGER, 0}, {1, 99}, {STRANGER, 0}, {1, 99}, {255, 255}}, 3, "xx.x"},
                {{{STRANGER, 0}, {STRANGER, 0}, {STRANGER, 0}, {255, 255}}, 2, "xx."},
                {{{1, 0}, {2, 0}, {STRANGER, 0}, {255, 255}}, 1, "xx."},
        };
        struct shortlist list = SHORTLIST_NULL;
        char in[16];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                size_t count = 0, expected = 0;
                while (rows[i].candidates[count].zone != 255)
                        count++;
                for (const char *at = rows[i].in; *at; at++)
                        expected += *at == 'x';
                size_t got = choose(&list, rows[i].candidates, count, rows[i].places, in);
                if (strcmp(in, rows[i].in) != 0 || got != expected)
                        fail_msg("row %zu: %s, expected %s", i, in, rows[i].in);
        }
        shortlist_done(&list);
}

/* ---- Against brute force: places are dealt one by one, and each goes to the best that is left. */

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
                size_t count = draw_below(draw_below(4) ? 40 : CANDIDATES_MAX) + 1,
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
