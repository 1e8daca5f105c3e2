/* Which changes of a node's load are reported, and when. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "controller/track/load_history.h"

enum { HOLD_MS = 180000, SIGHT_MS = 15000 };

/* A letter per sight, 15 s apart: n(ormal), o(verloaded), s(tale); a capital is one that is
 * reported.
 */
static const struct {
        const char *what, *sights;
} rows[] = {
        {"normal from the start", "nnnnnnnnnnnnnnnnnnnnnnnnnnnn"},
        {"overloaded from the start", "Oooooooooooooooooooooooooooo"},
        {"no reading from the start", "ssssssssssssSsssssssssssssss"},
        {"the first reading is late", "sssssssssssnnnnnnnnnnnnnnnnn"},
        {"overload, and its end", "nnnOonnnnnnnnnnnnNnnnnnnnnnn"},
        {"overload is reported again when its end was", "Onnnnnnnnnnnn"
                                                        "Nnnnnnnnnnnnn"
                                                        "Ooo"},
        {"... and not before the hold time has passed since", "Onnnnnnnnnnnn"
                                                              "Nooooooooooo"
                                                              "Ooo"},
        {"flapping at every sight", "nOnononononononononononononono"},
        {"flapping, then calm", "nOnonononoonnnnnnnnnnnnNnnn"},
        {"flapping, then overloaded", "nOnonononoooooooooooooooooo"},
        {"a restart of the exporter", "nnnsssssssssssnnnnnnnnnnnnnn"},
        {"the exporter has gone, and is back", "nnssssssssssssSsnnnnnnnnnnnnNn"},
        {"overloaded, then gone, then overloaded", "Ossssssssssss"
                                                   "Sssssssooooo"
                                                   "Oo"},
        {"gone, then overloaded", "nssssssssssssSssssssssssssssssOo"},
};

TEST(rows) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct load_history history = {0};
                int64_t now_mono_ms = 1000;
                for (const char *sight = rows[i].sights; *sight; sight++) {
                        char letter = (char)(*sight | 0x20);
                        enum load_state seen = letter == 'n'   ? LOAD_NORMAL
                                               : letter == 'o' ? LOAD_OVERLOADED
                                                               : LOAD_STALE;
                        bool is_reported = load_history_see(&history, seen, HOLD_MS, now_mono_ms);
                        if (is_reported != (letter != *sight))
                                fail_msg("%s: \"%s\", sight %zu", rows[i].what, rows[i].sights,
                                         (size_t)(sight - rows[i].sights));
                        now_mono_ms += SIGHT_MS;
                }
        }
}
