#include "cli/explain/explain_ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "cli/explain/explain_decision.h"
#include "codec/json.h"

enum { PORT = 8010 };

struct asking {
        struct cluster *cluster;
        const char *name_space, *full_name;
        size_t asked_count;
        bool has_loopback; /* an extender beside a second scheduler */
        struct explain_told *told;
};

static bool is_app(const json_t *pod, const char *app) {
        const char *name = json_string_at(pod, "metadata", "labels", "app.kubernetes.io/name",
                                          NULL);

        return name && strcmp(name, app) == 0;
}

/* The first reason is kept. */
static void set_why(struct explain_told *told, char *why) {
        if (told->why_not)
                free(why);
        else
                told->why_not = why;
}

static void ask_one(struct asking *asking, const json_t *pod) {
        _cleanup_(freep) char *page = xasprintf("decisions?pod=%s", asking->full_name);
        _cleanup_(freep) char *path = cluster_page_path(asking->name_space, pod, PORT, page);
        bool is_mutual = cluster_page_has_flag(pod, "--client-ca-file");
        struct error err = ERROR_NULL;
        json_t *decision = NULL;

        if (!path)
                return;
        asking->asked_count++;
        enum kube_outcome outcome = cluster_get(asking->cluster, path, &decision, &err);
        if (outcome == KUBE_OK && !json_is_object(decision)) {
                set_why(asking->told, xasprintf("GET %s: the answer is no decision", path));
                json_decref(decision);
        } else if (outcome == KUBE_OK) {
                asking->told->decision = explain_decision_newer(asking->told->decision, decision);
        } else if (outcome != KUBE_NOT_FOUND || !strstr(err.msg, "no such pod")) {
                set_why(asking->told,
                        xasprintf("%s%s", err.msg,
                                  is_mutual ? "; it answers only clients with a certificate" : ""));
        }
}

/* No extender failed, and none tells. */
static char *why_none(const struct asking *asking) {
        if (asking->asked_count > 0)
                return xstrdup("the scheduler has not asked about it lately: each extender keeps "
                               "the last 1,024 pods");
        if (asking->has_loopback)
                return xstrdup("the extender beside plimsoll-scheduler listens on the loopback, "
                               "where the API server does not reach it");
        return xasprintf("no pod of plimsoll-extender runs in namespace %.63s", asking->name_space);
}

void explain_ask(struct cluster *cluster, const char *name_space, const char *full_name,
                 struct explain_told *ret) {
        struct asking asking = {cluster, name_space, full_name, .told = ret};
        _cleanup_(freep) char *escaped = kube_escape(name_space);
        _cleanup_(freep) char *path = xasprintf(
                "/api/v1/namespaces/%s/pods?labelSelector=app.kubernetes.io%%2Fpart-of%%3Dplimsoll",
                escaped);
        struct error err = ERROR_NULL;
        json_auto_t *list = NULL;

        *ret = (struct explain_told){0};
        if (cluster_get(cluster, path, &list, &err) != KUBE_OK) {
                ret->why_not = xstrdup(err.msg);
                return;
        }
        const json_t *pods = json_at(list, "items", NULL);
        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                asking.has_loopback |= is_app(pod, "plimsoll-scheduler");
                if (is_app(pod, "plimsoll-extender"))
                        ask_one(&asking, pod);
        }
        if (!ret->decision && !ret->why_not)
                ret->why_not = why_none(&asking);
}

void explain_told_done(struct explain_told *told) {
        json_decref(told->decision);
        free(told->why_not);
        *told = (struct explain_told){0};
}
