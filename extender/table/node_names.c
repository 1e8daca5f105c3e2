#include "extender/table/node_names.h"

#include <stdatomic.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strmap.h"

struct slot {
        uint32_t tag; /* upper half of the hash */
        uint32_t row; /* NODE_ROW_NONE: free */
};

struct node_names {
        atomic_size_t refs;
        struct node_name *rows;
        char *text; /* the rows point into it */
        struct slot *slots;
        size_t slot_mask;
};

static void add_slot(struct node_names *names, uint32_t row) {
        uint64_t hash = strmap_hash(names->rows[row].name, names->rows[row].name_bytes);
        size_t i = hash & names->slot_mask;

        while (names->slots[i].row != NODE_ROW_NONE)
                i = (i + 1) & names->slot_mask;
        names->slots[i] = (struct slot){(uint32_t)(hash >> 32), row};
}

struct node_names *node_names_new(const char *const *texts, const char *const *closed_by,
                                  size_t count) {
        struct node_names *names = xcalloc(1, sizeof(*names));
        struct buf buf = BUF_INIT(SIZE_MAX / 4);
        size_t slot_count = 16;

        names->refs = 1;
        names->rows = xcalloc(count, sizeof(*names->rows));
        for (size_t i = 0; i < count; i++) {
                size_t begin = buf.len;
                size_t len = strlen(texts[i]);
                (void)buf_append(&buf, texts[i], len);
                (void)buf_puts(&buf, "{\"Host\":");
                (void)buf_json_string(&buf, texts[i], len);
                (void)buf_puts(&buf, ",\"Score\":");
                names->rows[i].name_bytes = (uint16_t)len;
                names->rows[i].entry_bytes = (uint16_t)(buf.len - begin - len);
                if (closed_by[i])
                        (void)buf_append(&buf, closed_by[i], strlen(closed_by[i]) + 1);
        }
        names->text = buf_take(&buf);
        const char *at = names->text;
        for (size_t i = 0; i < count; i++) {
                names->rows[i].name = at;
                names->rows[i].entry = at + names->rows[i].name_bytes;
                at = names->rows[i].entry + names->rows[i].entry_bytes;
                if (!closed_by[i])
                        continue;
                names->rows[i].closed_by = at;
                at += strlen(at) + 1;
        }
        while (slot_count < count * 2)
                slot_count *= 2;
        names->slots = xreallocarray(NULL, slot_count, sizeof(*names->slots));
        memset(names->slots, 0xff, slot_count * sizeof(*names->slots));
        names->slot_mask = slot_count - 1;
        for (size_t i = 0; i < count; i++)
                add_slot(names, (uint32_t)i);
        return names;
}

struct node_names *node_names_ref(struct node_names *names) {
        (void)atomic_fetch_add_explicit(&names->refs, 1, memory_order_relaxed);
        return names;
}

void node_names_unref(struct node_names *names) {
        if (atomic_fetch_sub_explicit(&names->refs, 1, memory_order_acq_rel) > 1)
                return;
        free(names->rows);
        free(names->text);
        free(names->slots);
        free(names);
}

const struct node_name *node_names_at(const struct node_names *names, uint32_t row) {
        return &names->rows[row];
}

uint32_t node_names_find(const struct node_names *names, const char *name, size_t len) {
        uint64_t hash = strmap_hash(name, len);

        for (size_t i = hash & names->slot_mask;; i = (i + 1) & names->slot_mask) {
                const struct slot *slot = &names->slots[i];
                if (slot->row == NODE_ROW_NONE)
                        return NODE_ROW_NONE;
                if (slot->tag == (uint32_t)(hash >> 32) &&
                    node_name_is(&names->rows[slot->row], name, len))
                        return slot->row;
        }
}
