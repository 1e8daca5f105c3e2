/* The hash map against a plain array, and its own invariants after every kind of step. */
#include "tests/unit/fixture/test.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/strmap.h"

enum { KEYS = 600, STEPS = 200000 };

static uint64_t random_state = UINT64_C(0x2545f4914f6cdd1d);

/* xorshift: the same steps in every run */
static size_t random_below(size_t limit) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (size_t)(random_state % limit);
}

static void check_invariants(const struct strmap *map) {
        size_t len = 0, deleted = 0;

        for (size_t i = 0; i < map->cap; i++) {
                len += map->entries[i].key != NULL;
                deleted += !map->entries[i].key && map->entries[i].hash == 1;
        }
        assert_int_equal(map->len, len);
        assert_int_equal(map->used, len + deleted);
        if (map->cap > 0) {
                assert_int_equal(map->cap & (map->cap - 1), 0);
                assert_true(map->used < map->cap); /* or a miss would never end */
        }
}

TEST(against_model) {
        static int model[KEYS]; /* place of the value in `values`, 0: absent */
        static int values[STEPS + 1];
        _cleanup_(strmap_done) struct strmap map = STRMAP_NULL;
        size_t present = 0;

        for (int step = 1; step <= STEPS; step++) {
                char key[32];
                /* Phases that mostly add and phases that mostly delete. */
                bool is_growing = step / 5000 % 2 == 0;
                size_t k = random_below(KEYS);
                int len = snprintf(key, sizeof(key), "%s%zu", k % 3 ? "node-" : "", k);
                void *expected = model[k] ? &values[model[k]] : NULL;
                size_t choice = random_below(10);
                if (choice < (is_growing ? 6 : 2)) {
                        assert_ptr_equal(strmap_put(&map, key, (size_t)len, &values[step]),
                                         expected);
                        present += !model[k];
                        model[k] = step;
                } else if (choice < 8) {
                        assert_ptr_equal(strmap_remove(&map, key, (size_t)len), expected);
                        present -= model[k] != 0;
                        model[k] = 0;
                } else {
                        assert_ptr_equal(strmap_get(&map, key, (size_t)len), expected);
                }
                assert_int_equal(map.len, present);
                if (step % 500 == 0)
                        check_invariants(&map);
        }
        assert_true(map.cap <= 2048); /* 600 keys at most: deleted places are taken again */
}

TEST(keys_are_bytes) {
        _cleanup_(strmap_done) struct strmap map = STRMAP_NULL;
        int a = 0, b = 0, c = 0;
        char key[] = "same";

        assert_null(strmap_put(&map, "x\0y", 3, &a));
        assert_null(strmap_put(&map, "x\0z", 3, &b));
        assert_null(strmap_put(&map, "x", 1, &c));
        assert_ptr_equal(strmap_get(&map, "x\0y", 3), &a);
        assert_ptr_equal(strmap_get(&map, "x\0z", 3), &b);
        assert_ptr_equal(strmap_get(&map, "xyz", 1), &c);
        assert_null(strmap_get(&map, "", 0));
        assert_null(strmap_put(&map, "", 0, &a));
        assert_ptr_equal(strmap_get(&map, "", 0), &a);
        assert_null(strmap_put(&map, key, 4, &a));
        key[0] = 'g'; /* the map has its own copy */
        assert_ptr_equal(strmap_get(&map, "same", 4), &a);
        assert_null(strmap_get(&map, "game", 4));
}

TEST(remove_while_iterating) {
        _cleanup_(strmap_done) struct strmap map = STRMAP_NULL;
        const struct strmap_entry *entry;
        static bool seen[1000];
        size_t visited = 0;

        for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
                char key[32];
                int len = snprintf(key, sizeof(key), "%zu", i);
                assert_null(strmap_put(&map, key, (size_t)len, &seen[i]));
        }
        STRMAP_FOREACH (entry, &map) {
                bool *flag = entry->value;
                assert_false(*flag); /* each once */
                *flag = true;
                visited++;
                if (visited % 2)
                        assert_ptr_equal(strmap_remove(&map, entry->key, entry->key_len), flag);
        }
        assert_int_equal(visited, ARRAY_LEN(seen));
        assert_int_equal(map.len, ARRAY_LEN(seen) / 2);
        check_invariants(&map);
}

/* Keys as clusters have them must spread over the low bits that pick a place. */
TEST(hash_spreads) {
        enum { PLACES = 256, COUNT = 256 * 40 };
        size_t counts[PLACES] = {0};
        double chi_square = 0;

        for (size_t i = 0; i < COUNT; i++) {
                char key[32];
                int len = snprintf(key, sizeof(key), "ip-10-0-%zu-%zu", i / 256, i % 256);
                counts[strmap_hash(key, (size_t)len) % PLACES]++;
        }
        for (size_t i = 0; i < PLACES; i++) {
                double off = (double)counts[i] - COUNT / (double)PLACES;
                chi_square += off * off / (COUNT / (double)PLACES);
        }
        /* 255 degrees of freedom: mean 255, deviation 23; the seed differs from run to run, and
         * ten deviations do not happen by chance. */
        assert_true(chi_square < 255 + 230);
        assert_true(strmap_hash("a", 1) == strmap_hash("abc", 1));
        assert_true(strmap_hash("a\0", 2) != strmap_hash("a", 1));
}
