#include "extender/table/node_annotation.h"

#include <string.h>

#include "policy/annotation.h"
#include "policy/verdict.h"

const char *node_reading_state_name(enum reading_state state) {
        static const char *const names[] = {"usable", "missing", "malformed", "expired"};

        return names[state];
}

void node_annotation_read(const char *text, const struct zone *zone, int64_t period_ms,
                          struct reading *ret) {
        struct annotation parsed;

        *ret = (struct reading){.state = READING_MISSING, .expires_unix_ms = READING_NEVER};
        if (!text)
                return;
        if (annotation_parse(text, strlen(text), zone, &parsed, NULL) < 0) {
                ret->state = READING_MALFORMED;
                return;
        }
        ret->state = READING_USABLE;
        ret->value = parsed.value;
        ret->at_unix_ms = parsed.at_unix_ms;
        ret->expires_unix_ms = annotation_expires_unix_ms(parsed.at_unix_ms, period_ms);
}
