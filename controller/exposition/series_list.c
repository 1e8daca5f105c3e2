#include "controller/exposition/series_list.h"

#include <string.h>

#include "base/mem.h"

/* The place of the first item whose id is not below @id. */
static size_t find_series_place(const struct series_list *series, uint64_t id) {
        size_t low = 0, high = series->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (series->items[middle].id < id)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

const double *series_list_find(const struct series_list *series, uint64_t id) {
        size_t place = find_series_place(series, id);

        return place < series->count && series->items[place].id == id ? &series->items[place].value
                                                                      : NULL;
}

bool series_list_add(struct series_list *series, uint64_t id, double value, bool is_usable) {
        size_t place = find_series_place(series, id);

        if (place < series->count && series->items[place].id == id)
                return true;
        if (series->count == NODE_MAX_DEVICES)
                return false;
        mem_grow(&series->items, series->count, &series->cap);
        struct node_device *item = &series->items[place];
        memmove(item + 1, item, (series->count++ - place) * sizeof(*item));
        *item = (struct node_device){id, value};
        return is_usable;
}
