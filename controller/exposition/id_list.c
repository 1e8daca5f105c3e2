#include "controller/exposition/id_list.h"

#include <string.h>

#include "base/mem.h"

static uint64_t id_of(const char *item) {
        uint64_t id;

        memcpy(&id, item, sizeof(id));
        return id;
}

/* The place of the first item whose id is not below @id. */
static size_t find(const char *items, size_t count, size_t item_bytes, uint64_t id) {
        size_t low = 0;

        while (low < count) {
                size_t middle = low + (count - low) / 2;
                if (id_of(items + middle * item_bytes) < id)
                        low = middle + 1;
                else
                        count = middle;
        }
        return low;
}

void *id_list_get(void *array, size_t *count, size_t *cap, size_t item_bytes, size_t max,
                  uint64_t id) {
        char **items = array;
        size_t place = find(*items, *count, item_bytes, id);

        if (place < *count && id_of(*items + place * item_bytes) == id)
                return *items + place * item_bytes;
        if (*count >= max)
                return NULL;
        if (*count == *cap) {
                *cap = *cap ? *cap * 2 : 8;
                *items = xreallocarray(*items, *cap, item_bytes);
        }
        char *item = *items + place * item_bytes;
        memmove(item + item_bytes, item, (*count - place) * item_bytes);
        memset(item, 0, item_bytes);
        memcpy(item, &id, sizeof(id));
        (*count)++;
        return item;
}
