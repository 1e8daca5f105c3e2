#include "cli/doctor/doctor_flags.h"

#include <string.h>

#include "base/attributes.h"
#include "base/mem.h"
#include "codec/json.h"

/* A line without a value is the heading. */
static void take_flag_line(json_t *values, const char *line, size_t len) {
        const char *equals = memchr(line, '=', len);

        if (!equals)
                return;
        _cleanup_(freep) char *name = xmemdup0(line, (size_t)(equals - line));
        size_t value_len = len - (size_t)(equals + 1 - line);
        (void)json_object_set_new(values, name, json_stringn(equals + 1, value_len));
}

void doctor_flags_parse(const char *text, struct doctor_flags *ret) {
        ret->values = json_object();
        while (*text) {
                size_t len = strcspn(text, "\n");
                take_flag_line(ret->values, text, len);
                text += len + (text[len] == '\n');
        }
}

void doctor_flags_done(struct doctor_flags *flags) {
        json_decref(flags->values);
        *flags = (struct doctor_flags){0};
}

const char *doctor_flag(const struct doctor_flags *flags, const char *name) {
        const char *text = json_string_at(flags->values, name, NULL);

        return text && *text ? text : NULL;
}

bool doctor_flag_is_on(const struct doctor_flags *flags, const char *name) {
        return json_is_at("true", flags->values, name, NULL);
}
