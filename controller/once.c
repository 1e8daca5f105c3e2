#include "controller/once.h"

void once_begin(struct once *once) {
        *once = (struct once){.state = ONCE_SCRAPING};
}

bool once_is_on(const struct once *once) {
        return once->state != ONCE_NOT;
}

enum once_next once_next(struct once *once, const struct once_facts *facts) {
        if (once->state == ONCE_SCRAPING && once->is_late && !facts->is_synced) {
                once->state = ONCE_DONE;
                return ONCE_NO_LISTS;
        }
        if (once->state == ONCE_SCRAPING && facts->is_synced &&
            (facts->is_each_seen || once->is_late)) {
                once->state = facts->nodes > 0 ? ONCE_WRITING : ONCE_DONE;
                return facts->nodes > 0 ? ONCE_WRITE : ONCE_NO_NODES;
        }
        if (once->state == ONCE_WRITING && facts->is_writer_idle) {
                once->state = ONCE_DONE;
                return ONCE_END;
        }
        return ONCE_WAIT;
}
