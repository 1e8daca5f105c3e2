#include "controller/once.h"

void once_begin(struct once *once) {
        *once = (struct once){.state = ONCE_SCRAPING};
}

bool once_is_on(const struct once *once) {
        return once->state != ONCE_NOT;
}

void once_node_added(struct once *once) {
        if (once->state == ONCE_SCRAPING)
                once->missing++;
}

void once_node_removed(struct once *once, uint32_t outcomes) {
        if (once->state == ONCE_SCRAPING && outcomes < ONCE_OUTCOMES)
                once->missing--;
}

void once_outcome(struct once *once, uint32_t before, uint32_t after) {
        if (once->state == ONCE_SCRAPING && before < ONCE_OUTCOMES && after >= ONCE_OUTCOMES)
                once->missing--;
}

enum once_next once_next(struct once *once, const struct once_facts *facts) {
        if (once->state == ONCE_SCRAPING && once->missing == 0 && facts->is_synced) {
                once->state = facts->nodes > 0 ? ONCE_WRITING : ONCE_DONE;
                return facts->nodes > 0 ? ONCE_WRITE : ONCE_NO_NODES;
        }
        if (once->state == ONCE_WRITING && facts->is_publisher_idle) {
                once->state = ONCE_DONE;
                return ONCE_END;
        }
        return ONCE_WAIT;
}
