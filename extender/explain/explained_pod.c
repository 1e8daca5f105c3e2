#include "extender/explain/explained_pod.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void explained_pod_done(struct explained_pod *pod) {
        free(pod->text);
        *pod = (struct explained_pod){0};
}

static bool is_called(const struct pod_facts *facts, const char *wanted) {
        const struct skim_string *space = &facts->namespace, *name = &facts->name;

        return wanted && space->len > 0 && name->len > 0 &&
               strlen(wanted) == space->len + 1 + name->len &&
               memcmp(wanted, space->text, space->len) == 0 && wanted[space->len] == '/' &&
               memcmp(wanted + space->len + 1, name->text, name->len) == 0;
}

static void bind_explained(struct node_table *table, const struct pod_facts *facts) {
        struct estimator *estimator = node_table_estimator(table);

        if (estimator && facts->id != 0 && facts->node.len > 0 && !facts->is_finished)
                estimator_bind(estimator,
                               &(struct estimator_pod){
                                       .id = facts->id,
                                       .node = facts->node.text,
                                       .node_len = facts->node.len,
                                       .request = facts->request,
                                       .runs_unix_ms = facts->runs_unix_ms > 0 ? facts->runs_unix_ms
                                                                               : TRACKED_NEVER,
                               });
}

void explained_pod_add(struct node_table *table, const json_t *pod, const char *wanted,
                       struct explained_pod *ret) {
        char *text = json_dumps(pod, JSON_COMPACT);
        struct pod_facts facts;

        if (!text || !pod_facts_skim(&facts, text, strlen(text))) {
                free(text);
        } else if (is_called(&facts, wanted)) {
                explained_pod_done(ret);
                *ret = (struct explained_pod){.name = wanted, .facts = facts, .text = text};
        } else {
                bind_explained(table, &facts);
                free(text);
        }
}
