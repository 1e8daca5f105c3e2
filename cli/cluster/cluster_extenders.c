#include "cli/cluster/cluster_extenders.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "codec/json.h"
#include "kube/kube_path.h"

void cluster_extenders_find(struct cluster *cluster, const char *namespace,
                            struct cluster_extenders *ret) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, namespace, "pods", NULL,
                                                "?" KUBE_PART_OF_PLIMSOLL);
        json_auto_t *list = NULL;
        json_t *pod;
        size_t i;

        *ret = (struct cluster_extenders){cluster, namespace, .pods = json_array()};
        (void)cluster_get(cluster, path, &list, &ret->err);
        json_array_foreach (json_at(list, "items", NULL), i, pod) {
                if (cluster_page_runs(pod, PROGRAM_EXTENDER))
                        (void)json_array_append(ret->pods, pod);
                ret->has_loopback |= cluster_page_runs(pod, "plimsoll-scheduler");
        }
}

void cluster_extenders_done(struct cluster_extenders *extenders) {
        json_decref(extenders->pods);
        *extenders = (struct cluster_extenders){0};
}

/* Keep the first reason. */
static void set_why(struct cluster_question *question, char *why) {
        if (question->why_not)
                free(why);
        else
                question->why_not = why;
}

static json_t *ask_one(struct cluster_question *question, const json_t *pod) {
        _cleanup_(freep) char *path = cluster_page_path(question->extenders->namespace, pod,
                                                        PROGRAM_EXTENDER, question->page);
        const struct cluster_place place = cluster_page_place(json_at(pod, "spec", NULL),
                                                              PROGRAM_EXTENDER);
        struct error err = ERROR_NULL;
        json_t *answer = NULL;

        if (!path)
                return NULL;
        question->asked_count++;
        question->pod = json_string_at(pod, "metadata", "name", NULL);
        enum kube_outcome outcome = cluster_get(question->extenders->cluster, path, &answer, &err);
        if (json_is_object(answer))
                return answer;
        if (outcome == KUBE_OK)
                set_why(question, xasprintf("GET %s: the answer is not a JSON object", path));
        else if (outcome != KUBE_NOT_FOUND || !strstr(err.msg, "no such pod"))
                set_why(question,
                        xasprintf("%s%s", err.msg,
                                  place.is_mutual ? "; it answers only clients with a certificate"
                                                  : ""));
        json_decref(answer);
        return NULL;
}

json_t *cluster_question_next(struct cluster_question *question) {
        const struct cluster_extenders *extenders = question->extenders;
        json_t *answer = NULL;

        while (!answer && question->next < json_array_size(extenders->pods))
                answer = ask_one(question, json_array_get(extenders->pods, question->next++));
        if (answer || question->asked_count > 0)
                return answer;
        if (extenders->err.code)
                set_why(question, xstrdup(extenders->err.msg));
        else if (extenders->has_loopback)
                set_why(question,
                        xstrdup("the extender in plimsoll-scheduler's pod listens on the loopback, "
                                "where the API server cannot reach it"));
        else
                set_why(question, xasprintf("no pod of plimsoll-extender runs in namespace %.63s",
                                            extenders->namespace));
        return NULL;
}

json_t *cluster_estimate(struct cluster *cluster, const char *namespace, char **ret_from) {
        _cleanup_(cluster_extenders_done) struct cluster_extenders extenders;
        struct cluster_question question = {&extenders, "estimate"};

        cluster_extenders_find(cluster, namespace, &extenders);
        json_t *page = cluster_question_next(&question);
        if (!page) {
                *ret_from = question.why_not;
                return NULL;
        }
        free(question.why_not);
        const char *time = json_string_at(page, "at", NULL), *at = time ? time : "an unknown time";
        size_t count = json_array_size(extenders.pods);
        if (count > 1)
                *ret_from = xasprintf("%.253s at %.40s, the first of %zu extenders that answered",
                                      question.pod, at, count);
        else
                *ret_from = xasprintf("%.253s at %.40s", question.pod, at);
        return page;
}
