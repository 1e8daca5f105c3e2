#include "cli/cluster/cluster_programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum { PAGE_VERSION = 1 }; /* EXPLANATION_VERSION and TRIAL_PAGE_VERSION of the extender */

static void list_pods(struct cluster_question *question) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE,
                                                cluster_plimsoll_namespace(question->cluster),
                                                "pods", NULL, "?" KUBE_PART_OF_PLIMSOLL);

        if (!question->pods && !question->err.code)
                (void)cluster_get(question->cluster, path, &question->pods, &question->err);
}

void cluster_question_done(struct cluster_question *question) {
        json_decref(question->pods);
        free(question->why_not);
        *question = (struct cluster_question){0};
}

/* Keep the first reason. */
static void set_why(struct cluster_question *question, char *why) {
        if (question->why_not)
                free(why);
        else
                question->why_not = why;
}

static json_t *ask(struct cluster_question *question, struct cluster *cluster, const char *path) {
        const struct kube_request request = {.method = question->body ? "POST" : "GET",
                                             .path = path};
        struct error err = ERROR_NULL;
        json_t *answer = NULL;

        question->asked_count++;
        enum kube_outcome outcome = cluster_send_rows(cluster, &request, question->body,
                                                      question->rows, &answer, &err);
        if (json_is_object(answer))
                return answer;
        if (outcome == KUBE_OK)
                set_why(question, xasprintf("%s: the answer is not a JSON object", path));
        else if (outcome != KUBE_NOT_FOUND || !strstr(err.msg, "no such pod"))
                set_why(question, xstrdup(err.msg));
        json_decref(answer);
        return NULL;
}

static json_t *ask_pod(struct cluster_question *question, const json_t *pod) {
        _cleanup_(freep) char *path = cluster_page_path(
                cluster_plimsoll_namespace(question->cluster), pod, question->program,
                question->page);

        if (!path)
                return NULL;
        question->from = json_string_at(pod, "metadata", "name", NULL);
        return ask(question, question->cluster, path);
}

/* --extender */
static json_t *ask_extender(struct cluster_question *question, struct cluster *extender) {
        _cleanup_(freep) char *path = xasprintf("/%s", question->page);

        if (question->next++ > 0)
                return NULL;
        question->from = cluster_server(extender);
        return ask(question, extender, path);
}

/* No replica was asked. */
static char *why_none(const struct cluster_question *question) {
        if (question->err.code)
                return xstrdup(question->err.msg);
        return xasprintf("no pod of %s runs in namespace %.63s", question->program,
                         cluster_plimsoll_namespace(question->cluster));
}

json_t *cluster_question_next(struct cluster_question *question) {
        struct cluster *extender = cluster_extender(question->cluster);
        json_t *answer = NULL;

        if (extender && strcmp(question->program, PROGRAM_EXTENDER) == 0)
                return ask_extender(question, extender);
        list_pods(question);
        const json_t *pods = json_at(question->pods, "items", NULL);
        while (!answer && question->next < json_array_size(pods))
                answer = ask_pod(question, json_array_get(pods, question->next++));
        if (!answer && question->asked_count == 0)
                set_why(question, why_none(question));
        return answer;
}

int cluster_check_version(const json_t *answer, const char *from, struct error *err) {
        json_int_t version = json_int_at(0, answer, "version", NULL);

        return version == PAGE_VERSION
                       ? 0
                       : error_set(err, ENODATA,
                                   "%.253s answers in version %lld, and this plugin knows version "
                                   "%d: install the plugin of its release",
                                   from, (long long)version, PAGE_VERSION);
}

int cluster_ask(struct cluster *cluster, const char *page, const json_t *body, const char *rows,
                json_t **ret, char **ret_from, struct error *err) {
        _cleanup_(cluster_question_done) struct cluster_question question = {
                cluster, PROGRAM_EXTENDER, page, body, rows};

        json_auto_t *answer = cluster_question_next(&question);
        if (!answer)
                return error_set(err, ENODATA, "no extender answers: %s", question.why_not);
        int r = cluster_check_version(answer, question.from, err);
        if (r < 0)
                return r;
        const char *at = json_string_at(answer, "at", NULL);
        *ret_from = xasprintf("%.253s at %.40s", question.from, at ? at : "an unknown time");
        *ret = TAKE_PTR(answer);
        return 0;
}
