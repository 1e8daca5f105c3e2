#include "cli/doctor/doctor_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/number.h"
#include "codec/json.h"

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *fmt, ...) {
        va_list args;

        finding->state = state;
        va_start(args, fmt);
        (void)vsnprintf(finding->what, sizeof(finding->what), fmt, args);
        va_end(args);
        for (char *at = finding->what; *at; at++)
                if (*at < ' ' || *at > '~')
                        *at = '?';
}

bool doctor_needs(const struct doctor_facts *facts, enum doctor_object object,
                  struct doctor_finding *finding) {
        const struct doctor_fact *fact = &facts->objects[object];

        if (fact->outcome == KUBE_OK)
                return true;
        if (fact->outcome == KUBE_NOT_FOUND)
                doctor_find(finding, DOCTOR_OK, "there is nothing to check");
        else
                doctor_find(finding, DOCTOR_UNKNOWN, "%s", fact->err.msg);
        return false;
}

bool doctor_told(const struct doctor_facts *facts, enum program_flag flag,
                 struct doctor_finding *finding) {
        if (!program_flags_is_hidden(&facts->controller, flag))
                return true;
        doctor_find(finding, DOCTOR_UNKNOWN, "the controller's --%s stands where it cannot be read",
                    program_flags_name(flag));
        return false;
}

unsigned doctor_minor(const struct doctor_facts *facts) {
        const char *minor = json_string_at(facts->objects[DOCTOR_VERSION].json, "minor", NULL);
        size_t digits = minor ? number_skip_digits(minor, strlen(minor), 0) : 0;
        uint64_t number = 0;

        /* "36+" with what a vendor has added. */
        return minor && number_parse_u64(minor, digits, &number) && number < 1000 ? (unsigned)number
                                                                                  : 0;
}

void doctor_find_nodes(struct doctor_finding *finding, enum doctor_state state,
                       const struct doctor_facts *facts, const struct doctor_set *set,
                       const char *what) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(DOCTOR_WHAT_MAX - 1);

        if (facts->nodes.outcome != KUBE_OK) {
                doctor_find(finding, DOCTOR_UNKNOWN, "%s", facts->nodes.err.msg);
                return;
        }
        if (set->count == 0)
                return;
        buf_printf(&text, "%zu of %zu nodes %s", set->count, facts->nodes.count, what);
        if (set->detail)
                buf_printf(&text, " (%s)", set->detail);
        for (size_t i = 0; i < size_min(set->count, DOCTOR_EXAMPLES); i++)
                buf_printf(&text, "%s%s", i > 0 ? ", " : ": ", set->names[i]);
        doctor_find(finding, state, "%s%s", text.data, set->count > DOCTOR_EXAMPLES ? ", ..." : "");
}
