#include "cli/explain/explain_ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/name.h"
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
