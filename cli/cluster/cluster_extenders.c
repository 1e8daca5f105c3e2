#include "cli/cluster/cluster_extenders.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "cli/cluster/program_flags.h"
#include "codec/json.h"
#include "kube/kube_path.h"

static bool is_app(const json_t *pod, const char *app) {
        return json_is_at(app, pod, "metadata", "labels", "app.kubernetes.io/name", NULL);
}

int cluster_extenders_find(struct cluster *cluster, const char *namespace,
                           struct cluster_extenders *ret, struct error *err) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, namespace, "pods", NULL,
                                                "?" KUBE_PART_OF_PLIMSOLL);
        json_auto_t *list = NULL;

        *ret = (struct cluster_extenders){.namespace = namespace};
        if (cluster_get(cluster, path, &list, err) != KUBE_OK)
                return err->code;
        ret->pods = json_incref(json_at(list, "items", NULL));
        for (size_t i = 0; i < json_array_size(ret->pods); i++)
                ret->has_loopback |= is_app(json_array_get(ret->pods, i), "plimsoll-scheduler");
        return 0;
}

void cluster_extenders_done(struct cluster_extenders *extenders) {
        json_decref(extenders->pods);
        *extenders = (struct cluster_extenders){0};
}

struct asking {
        struct cluster *cluster;
        const struct cluster_extenders *extenders;
        const char *page;
        cluster_extenders_fn *on_answer;
        void *userdata;
        size_t asked_count;
        char *why_not; /* owned */
};

/* The first reason is kept. */
static void set_why(struct asking *asking, char *why) {
        if (asking->why_not)
                free(why);
        else
                asking->why_not = why;
}

/* Return: whether to ask the next one */
static bool ask_one(struct asking *asking, const json_t *pod) {
        _cleanup_(freep) char *path = cluster_page_path(asking->extenders->namespace, pod,
                                                        PROGRAM_EXTENDER, asking->page);
        bool is_mutual = cluster_page_is_mutual(pod);
        struct error err = ERROR_NULL;
        json_t *answer = NULL;

        if (!path)
                return true;
        asking->asked_count++;
        enum kube_outcome outcome = cluster_get(asking->cluster, path, &answer, &err);
        if (outcome == KUBE_OK && json_typeof(answer) == JSON_OBJECT)
                return asking->on_answer(asking->userdata,
                                         json_string_at(pod, "metadata", "name", NULL), answer);
        if (outcome == KUBE_OK)
                set_why(asking, xasprintf("GET %s: the answer is no JSON object", path));
        else if (outcome != KUBE_NOT_FOUND || !strstr(err.msg, "no such pod"))
                set_why(asking,
                        xasprintf("%s%s", err.msg,
                                  is_mutual ? "; it answers only clients with a certificate" : ""));
        json_decref(answer);
        return true;
}

char *cluster_extenders_ask(struct cluster *cluster, const struct cluster_extenders *extenders,
                            const char *page, cluster_extenders_fn *on_answer, void *userdata) {
        struct asking asking = {cluster, extenders, page, on_answer, userdata};
        bool goes_on = true;

        for (size_t i = 0; i < json_array_size(extenders->pods) && goes_on; i++)
                if (is_app(json_array_get(extenders->pods, i), PROGRAM_EXTENDER))
                        goes_on = ask_one(&asking, json_array_get(extenders->pods, i));
        if (asking.asked_count == 0 && extenders->has_loopback)
                set_why(&asking,
                        xstrdup("the extender beside plimsoll-scheduler listens on the loopback, "
                                "where the API server does not reach it"));
        else if (asking.asked_count == 0)
                set_why(&asking, xasprintf("no pod of plimsoll-extender runs in namespace %.63s",
                                           extenders->namespace));
        return asking.why_not;
}

/* ---- The estimate. */

struct first_page {
        const struct cluster_extenders *extenders;
        json_t *page;
        char *from;
};

static bool take_first(void *userdata, const char *pod, json_t *answer) {
        struct first_page *first = userdata;
        const char *at = json_string_at(answer, "at", NULL);
        size_t count = 0;

        for (size_t i = 0; i < json_array_size(first->extenders->pods); i++)
                count += is_app(json_array_get(first->extenders->pods, i), PROGRAM_EXTENDER);
        first->page = answer;
        first->from =
                count > 1 ? xasprintf("%.253s, the first that answers of %zu extenders, at %.40s",
                                      pod, count, at ? at : "an unknown time")
                          : xasprintf("%.253s, at %.40s", pod, at ? at : "an unknown time");
        return false;
}

json_t *cluster_estimate(struct cluster *cluster, const char *namespace, char **ret_from) {
        _cleanup_(cluster_extenders_done) struct cluster_extenders extenders;
        struct first_page first = {.extenders = &extenders};
        struct error err = ERROR_NULL;

        if (cluster_extenders_find(cluster, namespace, &extenders, &err) < 0) {
                *ret_from = xstrdup(err.msg);
                return NULL;
        }
        *ret_from = cluster_extenders_ask(cluster, &extenders, "estimate", take_first, &first);
        if (first.page) {
                free(*ret_from);
                *ret_from = first.from;
        }
        return first.page;
}
