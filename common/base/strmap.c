#include "base/strmap.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"

enum { STRMAP_FIRST_CAP = 16 };

static uint64_t hash_seed;
static pthread_once_t hash_seed_once = PTHREAD_ONCE_INIT;

static void seed_hash(void) {
        hash_seed = (uint64_t)random_below(INT64_MAX) << 1 | 1;
}

/* Folds the 128-bit product: the mixing step of multiply-and-fold hashes. */
static uint64_t mix(uint64_t a, uint64_t b) {
        __extension__ unsigned __int128 product = (unsigned __int128)a * b;

        return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t strmap_hash(const char *key, size_t key_len) {
        (void)pthread_once(&hash_seed_once, seed_hash);

        uint64_t state = hash_seed ^ mix(key_len + 1, UINT64_C(0x9e3779b97f4a7c15));
        while (key_len >= 8) {
                uint64_t word;
                memcpy(&word, key, 8);
                state = mix(state ^ word, UINT64_C(0xd6e8feb86659fd93));
                key += 8;
                key_len -= 8;
        }
        uint64_t tail = 0;
        if (key_len > 0)
                memcpy(&tail, key, key_len);
        state = mix(state ^ tail, UINT64_C(0xa0761d6478bd642f));
        return mix(state, hash_seed);
}

void strmap_done(struct strmap *map) {
        for (size_t i = 0; i < map->cap; i++)
                free(map->entries[i].key);
        free(map->entries);
        *map = STRMAP_NULL;
}

void strmap_done_values(struct strmap *map) {
        for (size_t i = 0; i < map->cap; i++)
                if (map->entries[i].key)
                        free(map->entries[i].value);
        strmap_done(map);
}

static struct strmap_entry *find_map_entry(const struct strmap *map, const char *key,
                                           size_t key_len, uint64_t hash) {
        if (map->cap == 0)
                return NULL;
        for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
                struct strmap_entry *entry = &map->entries[i];
                if (!entry->key && entry->hash == 0)
                        return NULL;
                if (entry->key && entry->hash == hash && entry->key_len == key_len &&
                    memcmp(entry->key, key, key_len) == 0)
                        return entry;
        }
}

static void place_map_entry(struct strmap *map, struct strmap_entry entry) {
        size_t i = entry.hash & (map->cap - 1);

        while (map->entries[i].key)
                i = (i + 1) & (map->cap - 1);
        map->used += map->entries[i].hash ==
                     0; /* the place of a deleted entry is already counted */
        map->entries[i] = entry;
}

/* Keeps a quarter free of entries, including deleted ones, so that probes stay short. */
static void make_map_room(struct strmap *map) {
        if (map->cap > 0 && map->used + 1 <= map->cap / 4 * 3)
                return;

        struct strmap old = *map;
        size_t cap = STRMAP_FIRST_CAP;
        while (cap / 2 <= old.len)
                cap *= 2;
        *map = (struct strmap){
                .entries = xcalloc(cap, sizeof(struct strmap_entry)),
                .cap = cap,
                .len = old.len,
        };
        for (size_t i = 0; i < old.cap; i++)
                if (old.entries[i].key)
                        place_map_entry(map, old.entries[i]);
        free(old.entries);
}

void *strmap_put(struct strmap *map, const char *key, size_t key_len, void *value) {
        uint64_t hash = strmap_hash(key, key_len);
        struct strmap_entry *entry = find_map_entry(map, key, key_len, hash);

        if (entry) {
                void *old = entry->value;
                entry->value = value;
                return old;
        }
        make_map_room(map);
        place_map_entry(map, (struct strmap_entry){xmemdup0(key, key_len), key_len, hash, value});
        map->len++;
        return NULL;
}

void *strmap_get(const struct strmap *map, const char *key, size_t key_len) {
        struct strmap_entry *entry = find_map_entry(map, key, key_len, strmap_hash(key, key_len));

        return entry ? entry->value : NULL;
}

void *strmap_remove(struct strmap *map, const char *key, size_t key_len) {
        struct strmap_entry *entry = find_map_entry(map, key, key_len, strmap_hash(key, key_len));

        if (!entry)
                return NULL;
        void *value = entry->value;
        free(entry->key);
        *entry = (struct strmap_entry){.hash = 1};
        map->len--;
        return value;
}

struct strmap_entry *strmap_next(const struct strmap *map, size_t *position) {
        while (*position < map->cap) {
                struct strmap_entry *entry = &map->entries[(*position)++];
                if (entry->key)
                        return entry;
        }
        return NULL;
}
