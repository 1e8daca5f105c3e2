#include "cli/cluster/cluster_extenders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum { PAGE_VERSION = 1 }; /* EXPLANATION_VERSION of the extender */

void cluster_extenders_find(struct cluster *cluster, const char *namespace,
                            struct cluster_extenders *ret) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, namespace, "pods", NULL,
                                                "?" KUBE_PART_OF_PLIMSOLL);
        json_auto_t *list = NULL;
        json_t *pod;
        size_t i;

        *ret = (struct cluster_extenders){cluster, namespace, .pods = json_array()};
        if (cluster_extender(cluster))
                return;
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

static enum kube_outcome post(struct cluster *cluster, const char *path, const char *body,
                              json_t **ret, struct error *err) {
        struct cluster_answer answer;

        cluster_call(cluster,
                     &(struct kube_request){.method = "POST",
                                            .path = path,
                                            .resource = "pods",
                                            .body = body,
                                            .body_bytes = strlen(body)},
                     &answer);
        enum kube_outcome outcome = answer.outcome;
        if (outcome != KUBE_OK)
                (void)error_set(err, answer.err.code, "POST %s: %s", path, answer.err.msg);
        else
                (void)!json_parse(answer.body, answer.body_bytes, ret, NULL);
        cluster_answer_done(&answer);
        return outcome;
}

static json_t *ask(struct cluster_question *question, struct cluster *cluster, const char *path) {
        struct error err = ERROR_NULL;
        json_t *answer = NULL;

        question->asked_count++;
        enum kube_outcome outcome = question->body
                                            ? post(cluster, path, question->body, &answer, &err)
                                            : cluster_get(cluster, path, &answer, &err);
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
        _cleanup_(freep) char *path = cluster_page_path(question->extenders->namespace, pod,
                                                        PROGRAM_EXTENDER, question->page);

        if (!path)
                return NULL;
        question->from = json_string_at(pod, "metadata", "name", NULL);
        return ask(question, question->extenders->cluster, path);
}

/* --extender */
static json_t *ask_url(struct cluster_question *question) {
        const char *url = cluster_extender(question->extenders->cluster);
        _cleanup_(freep) char *path = xasprintf("/%s", question->page);

        if (question->asked_count > 0)
                return NULL;
        _cleanup_(cluster_freep) struct cluster *direct = cluster_new(kube_access_of_server(url));
        question->from = url;
        return ask(question, direct, path);
}

json_t *cluster_question_next(struct cluster_question *question) {
        const struct cluster_extenders *extenders = question->extenders;
        json_t *answer = NULL;

        if (cluster_extender(extenders->cluster))
                return ask_url(question);
        while (!answer && question->next < json_array_size(extenders->pods))
                answer = ask_pod(question, json_array_get(extenders->pods, question->next++));
        if (answer || question->asked_count > 0)
                return answer;
        if (extenders->err.code)
                set_why(question, xstrdup(extenders->err.msg));
        else if (extenders->has_loopback)
                set_why(question,
                        xstrdup("the extender in plimsoll-scheduler's pod listens on the loopback: "
                                "forward its port, and set --extender"));
        else
                set_why(question, xasprintf("no pod of plimsoll-extender runs in namespace %.63s",
                                            extenders->namespace));
        return NULL;
}

/* Return: 0; -ENODATA: it is another page than the plugin knows */
static int check_version(const json_t *answer, const char *from, struct error *err) {
        json_int_t version = json_int_at(0, answer, "version", NULL);

        if (version == PAGE_VERSION && json_is_array(json_at(answer, "nodes", NULL)) &&
            json_is_object(json_at(answer, "policy", NULL)))
                return 0;
        return version == PAGE_VERSION
                       ? error_set(err, ENODATA, "%.253s: the answer has no nodes or no policy",
                                   from)
                       : error_set(err, ENODATA,
                                   "%.253s answers in version %lld, and this plugin knows version "
                                   "%d: install the plugin of its release",
                                   from, (long long)version, PAGE_VERSION);
}

int cluster_ask(struct cluster *cluster, const char *namespace, const char *page,
                const json_t *body, json_t **ret, char **ret_from, struct error *err) {
        _cleanup_(cluster_extenders_done) struct cluster_extenders extenders;
        _cleanup_(freep) char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
        struct cluster_question question = {&extenders, page, text};

        cluster_extenders_find(cluster, namespace, &extenders);
        json_auto_t *answer = cluster_question_next(&question);
        _cleanup_(freep) char *why_not = question.why_not;
        if (!answer)
                return error_set(err, ENODATA, "no extender answers: %s", why_not);
        int r = check_version(answer, question.from, err);
        if (r < 0)
                return r;
        const char *at = json_string_at(answer, "at", NULL);
        size_t count = json_array_size(extenders.pods);
        *ret_from = xasprintf(count > 1
                                      ? "%.253s at %.40s, the first of %zu extenders that answered"
                                      : "%.253s at %.40s",
                              question.from, at ? at : "an unknown time", count);
        *ret = TAKE_PTR(answer);
        return 0;
}
