#include "cli/rebalance/rebalance_asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "codec/json.h"

/* What no binding has confirmed may be a stranger's question. */
static void add_page(struct rebalance_asked *asked, const json_t *page) {
        const json_t *decision;
        size_t i;

        json_array_foreach (json_at(page, "decisions", NULL), i, decision) {
                const char *uid = json_string_at(decision, "uid", NULL);
                if (uid && !json_is_null(json_object_get(decision, "confirmedAt")))
                        (void)strmap_put(&asked->uids, uid, strlen(uid), asked);
        }
}

void rebalance_asked_read(struct cluster *cluster, struct rebalance_asked *ret) {
        _cleanup_(cluster_question_done) struct cluster_question question = {
                cluster, PROGRAM_EXTENDER, "decisions"};
        json_t *page = NULL;

        *ret = (struct rebalance_asked){0};
        while ((page = cluster_question_next(&question)) != NULL) {
                add_page(ret, page);
                json_decref(page);
        }
        ret->why_not = TAKE_PTR(question.why_not);
}

void rebalance_asked_done(struct rebalance_asked *asked) {
        strmap_done(&asked->uids);
        free(TAKE_PTR(asked->why_not));
}
