#include "agenda.h"

#include <stdlib.h>

#include "base/mem.h"

void agenda_done(struct agenda *agenda) {
        free(agenda->entries);
}

void agenda_add(struct agenda *agenda, int64_t at_s, struct pod *pod) {
        mem_grow(&agenda->entries, agenda->len, &agenda->cap);
        size_t i = agenda->len++;
        while (i > 0 && agenda->entries[(i - 1) / 2].at_s > at_s) {
                agenda->entries[i] = agenda->entries[(i - 1) / 2];
                i = (i - 1) / 2;
        }
        agenda->entries[i] = (struct agenda_entry){at_s, pod};
}

struct pod *agenda_take(struct agenda *agenda, int64_t now_s) {
        if (agenda->len == 0 || agenda->entries[0].at_s > now_s)
                return NULL;
        struct pod *pod = agenda->entries[0].pod;
        struct agenda_entry last = agenda->entries[--agenda->len];
        size_t i = 0;
        for (;;) {
                size_t child = 2 * i + 1;
                if (child + 1 < agenda->len &&
                    agenda->entries[child + 1].at_s < agenda->entries[child].at_s)
                        child++;
                if (child >= agenda->len || agenda->entries[child].at_s >= last.at_s)
                        break;
                agenda->entries[i] = agenda->entries[child];
                i = child;
        }
        if (agenda->len > 0)
                agenda->entries[i] = last;
        return pod;
}
