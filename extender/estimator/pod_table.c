#include "extender/estimator/pod_table.h"

#include <stdlib.h>

#include "base/mem.h"

enum { CAP_MIN = 1024 };

/* Ids are seeded hashes. */
static size_t pod_table_home(const struct pod_table *table, uint64_t id) {
        return id & (table->cap - 1);
}

static struct pod_entry *pod_table_place(const struct pod_table *table, uint64_t id) {
        size_t i = pod_table_home(table, id);

        while (table->entries[i].id != 0 && table->entries[i].id != id)
                i = (i + 1) & (table->cap - 1);
        return &table->entries[i];
}

void pod_table_done(struct pod_table *table) {
        free(table->entries);
        *table = (struct pod_table){0};
}

struct pod_entry *pod_table_get(const struct pod_table *table, uint64_t id) {
        struct pod_entry *entry = table->count > 0 ? pod_table_place(table, id) : NULL;

        return entry && entry->id == id ? entry : NULL;
}

static void grow(struct pod_table *table) {
        struct pod_table old = *table;

        table->cap = old.cap ? old.cap * 2 : CAP_MIN;
        table->entries = xcalloc(table->cap, sizeof(*table->entries));
        for (size_t i = 0; i < old.cap; i++)
                if (old.entries[i].id != 0)
                        *pod_table_place(table, old.entries[i].id) = old.entries[i];
        free(old.entries);
}

struct pod_entry *pod_table_add(struct pod_table *table, uint64_t id) {
        if (table->count >= POD_TABLE_MAX)
                return NULL;
        if (table->count >= table->cap / 4 * 3)
                grow(table);
        struct pod_entry *entry = pod_table_place(table, id);
        *entry = (struct pod_entry){.id = id};
        table->count++;
        return entry;
}

void pod_table_remove(struct pod_table *table, struct pod_entry *entry) {
        size_t mask = table->cap - 1;
        size_t gap = (size_t)(entry - table->entries);

        /* An entry after the gap that a search would miss moves into the gap. */
        for (size_t i = (gap + 1) & mask; table->entries[i].id != 0; i = (i + 1) & mask) {
                size_t distance = (i - pod_table_home(table, table->entries[i].id)) & mask;
                if (distance >= ((i - gap) & mask)) {
                        table->entries[gap] = table->entries[i];
                        gap = i;
                }
        }
        table->entries[gap] = (struct pod_entry){0};
        table->count--;
}

struct pod_entry *pod_table_sweep(const struct pod_table *table, uint32_t generation,
                                  size_t *position) {
        for (; *position < table->cap; ++*position) {
                struct pod_entry *entry = &table->entries[*position];
                if (entry->id != 0 && entry->generation != generation)
                        return entry;
        }
        return NULL;
}
