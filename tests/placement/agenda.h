/*
 * A calendar of pods, by the second: a binary heap. Zeroed is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pod;

struct agenda_entry {
        int64_t at_s;
        struct pod *pod;
};

struct agenda {
        struct agenda_entry *entries;
        size_t len, cap;
};

/** agenda_done() - frees what it holds, not the pods */
void agenda_done(struct agenda *agenda);
void agenda_add(struct agenda *agenda, int64_t at_s, struct pod *pod);
/** agenda_take() - one that is due; NULL: none is */
struct pod *agenda_take(struct agenda *agenda, int64_t now_s);
