#include "cli/explain/explain_ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timestamp.h"
#include "cli/cluster/cluster_page.h"
#include "cli/cluster/program_flags.h"
#include "cli/explain/explain_decision.h"
#include "codec/json.h"
#include "kube/kube_path.h"

static bool is_app(const json_t *pod, const char *app) {
        return json_is_at(app, pod, "metadata", "labels", "app.kubernetes.io/name", NULL);
}

int explain_find(struct cluster *cluster, const char *namespace, struct explain_extenders *ret,
                 struct error *err) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, namespace, "pods", NULL,
                                                "?" KUBE_PART_OF_PLIMSOLL);
        json_auto_t *list = NULL;

        *ret = (struct explain_extenders){.namespace = namespace};
        if (cluster_get(cluster, path, &list, err) != KUBE_OK)
                return err->code;
        ret->pods = json_incref(json_at(list, "items", NULL));
        for (size_t i = 0; i < json_array_size(ret->pods); i++)
                ret->has_loopback |= is_app(json_array_get(ret->pods, i), "plimsoll-scheduler");
        return 0;
}

void explain_extenders_done(struct explain_extenders *extenders) {
        json_decref(extenders->pods);
        *extenders = (struct explain_extenders){0};
}

/* The first reason is kept. */
static void set_why(char **why_not, char *why) {
        if (*why_not)
                free(why);
        else
                *why_not = why;
}

bool explain_is_full_name(const char *text) {
        size_t space = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
        const char *name = text + space + 1;

        return space > 0 && text[space] == '/' && name[0] != '\0' && name[0] != '.' &&
               name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

struct asking {
        struct cluster *cluster;
        const struct explain_extenders *extenders;
        const char *page; /* with its query */
        size_t asked_count;
        char *why_not;                                     /* owned */
        void (*on_answer)(void *userdata, json_t *answer); /* an object, owned by the callee */
        void *userdata;
};

static void ask_one(struct asking *asking, const json_t *pod) {
        _cleanup_(freep) char *path = cluster_page_path(asking->extenders->namespace, pod,
                                                        PROGRAM_EXTENDER, asking->page);
        bool is_mutual = cluster_page_is_mutual(pod);
        struct error err = ERROR_NULL;
        json_t *answer = NULL;

        if (!path)
                return;
        asking->asked_count++;
        enum kube_outcome outcome = cluster_get(asking->cluster, path, &answer, &err);
        if (outcome == KUBE_OK && json_typeof(answer) != JSON_OBJECT) {
                set_why(&asking->why_not, xasprintf("GET %s: the answer is no decision", path));
                json_decref(answer);
        } else if (outcome == KUBE_OK) {
                asking->on_answer(asking->userdata, answer);
        } else if (outcome != KUBE_NOT_FOUND || !strstr(err.msg, "no such pod")) {
                set_why(&asking->why_not,
                        xasprintf("%s%s", err.msg,
                                  is_mutual ? "; it answers only clients with a certificate" : ""));
        }
}

static void ask_all(struct asking *asking) {
        const json_t *pods = asking->extenders->pods;

        for (size_t i = 0; i < json_array_size(pods); i++)
                if (is_app(json_array_get(pods, i), PROGRAM_EXTENDER))
                        ask_one(asking, json_array_get(pods, i));
        if (asking->asked_count == 0 && asking->extenders->has_loopback)
                set_why(&asking->why_not,
                        xstrdup("the extender beside plimsoll-scheduler listens on the loopback, "
                                "where the API server does not reach it"));
        else if (asking->asked_count == 0)
                set_why(&asking->why_not,
                        xasprintf("no pod of plimsoll-extender runs in namespace %.63s",
                                  asking->extenders->namespace));
}

static void take_newest_decision(void *userdata, json_t *answer) {
        struct explain_told *told = userdata;

        told->decision = explain_decision_newer(told->decision, answer);
}

void explain_ask(struct cluster *cluster, const struct explain_extenders *extenders,
                 const char *full_name, struct explain_told *ret) {
        _cleanup_(freep) char *page = xasprintf("decisions?pod=%s", full_name);
        struct asking asking = {cluster, extenders, page, .on_answer = take_newest_decision,
                                .userdata = ret};

        *ret = (struct explain_told){0};
        ask_all(&asking);
        ret->why_not = asking.why_not;
        if (!ret->decision && !ret->why_not)
                ret->why_not = xstrdup("the scheduler has not asked about it lately: each extender "
                                       "keeps the last 1,024 pods");
}

void explain_told_done(struct explain_told *told) {
        json_decref(told->decision);
        free(told->why_not);
        *told = (struct explain_told){0};
}

/* Times in one form sort as text. */
static void take_names(void *userdata, json_t *answer) {
        const json_t *lines = json_at(answer, "decisions", NULL);
        json_t *names = userdata;

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
        json_decref(answer);
}

json_t *explain_ask_names(struct cluster *cluster, const struct explain_extenders *extenders,
                          char **ret_why_not) {
        json_t *names = json_object();
        struct asking asking = {cluster, extenders, "decisions", .on_answer = take_names,
                                .userdata = names};

        ask_all(&asking);
        *ret_why_not = asking.why_not;
        return names;
}
