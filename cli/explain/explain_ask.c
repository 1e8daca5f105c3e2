#include "cli/explain/explain_ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/name.h"
#include "base/timestamp.h"
#include "cli/explain/explain_decision.h"
#include "codec/json.h"

bool explain_is_full_name(const char *text) {
        size_t space = strspn(text, NAME_LOWER "-");
        const char *name = text + space + 1;

        return space > 0 && text[space] == '/' && name[0] != '\0' && name[0] != '.' &&
               name[strspn(name, NAME_LOWER "-.")] == '\0';
}

json_t *explain_ask(const struct cluster_extenders *extenders, const char *full_name,
                    char **ret_why_not) {
        _cleanup_(freep) char *page = xasprintf("decisions?pod=%s", full_name);
        struct cluster_question question = {extenders, page};
        json_t *decision = NULL, *answer;

        while ((answer = cluster_question_next(&question)))
                decision = explain_decision_newer(decision, answer);
        *ret_why_not = question.why_not;
        return decision;
}

/* The times have one format, so they sort as text. */
static void take_names(const json_t *answer, json_t *names) {
        const json_t *lines = json_at(answer, "decisions", NULL);

        for (size_t i = 0; i < json_array_size(lines); i++) {
                const json_t *line = json_array_get(lines, i);
                const char *space = json_string_at(line, "namespace", NULL);
                const char *name = json_string_at(line, "name", NULL);
                const char *at = json_string_at(line, "at", NULL);
                int64_t unix_ms;
                if (!space || !name || !at || !timestamp_parse(at, strlen(at), &unix_ms))
                        continue;
                _cleanup_(freep) char *full_name = xasprintf("%s/%s", space, name);
                const char *known = json_string_value(json_object_get(names, full_name));
                if (explain_is_full_name(full_name) && (!known || strcmp(known, at) < 0))
                        (void)json_object_set_new(names, full_name, json_string(at));
        }
}

json_t *explain_ask_names(const struct cluster_extenders *extenders, char **ret_why_not) {
        struct cluster_question question = {extenders, "decisions"};
        json_t *names = json_object(), *answer;

        while ((answer = cluster_question_next(&question))) {
                take_names(answer, names);
                json_decref(answer);
        }
        *ret_why_not = question.why_not;
        return names;
}
