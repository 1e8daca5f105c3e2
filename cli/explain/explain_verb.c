/* `explain`: the reasons for a node's verdict and score, and for a pod's node. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/name.h"
#include "cli/cluster/cluster_programs.h"
#include "cli/explain/explain_decision.h"
#include "cli/explain/explain_nodes.h"
#include "cli/explain/explain_place.h"
#include "cli/verb/verb.h"
#include "codec/json.h"
#include "kube/kube_path.h"

static struct { const char *pod_namespace; } settings;

/* clang-format off */
static const struct option_row rows[] = {
        VERB_OUTPUT_ROW,
        {.name = "namespace", .letter = 'n', .type = OPTION_STRING,
         .value = &settings.pod_namespace, .metavar = "NAME", .variable = "",
         .help = "Namespace of the pod. Default: the context's."},
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

/* What to explain. */
static struct {
        const char *node; /* NULL: all */
        const char *pod;  /* "name" or "namespace/name"; NULL: nodes */
} subject;

/* As kubectl spells them. */
static const char *const node_kinds[] = {"node", "nodes", "no", NULL};
static const char *const pod_kinds[] = {"pod", "pods", "po", NULL};
static const char *const words_of_kinds[] = {"node", "nodes", "pod", NULL};

/* @word: "pods", or "pods/web-0" */
static bool is_kind(const char *word, const char *const *kinds) {
        size_t len = strcspn(word, "/");

        while (*kinds && !(strlen(*kinds) == len && strncmp(*kinds, word, len) == 0))
                kinds++;
        return *kinds;
}

/* "pods web-0", or "pod/web-0". Return: the name; NULL: the words name no object of that kind */
static const char *name_of(int count, char **words, const char *const *kinds) {
        const char *slash = count > 0 ? strchr(words[0], '/') : NULL;

        if (count == 0 || count != (slash ? 1 : 2) || !is_kind(words[0], kinds))
                return NULL;
        return slash ? slash + 1 : words[1];
}

static int refuse_words(int count, char **words, struct error *err) {
        static const char forms[] = "expected `node NAME`, `nodes` or `pod NAME`";
        bool is_name = count == 1 && !strchr(words[0], '/') && !is_kind(words[0], pod_kinds);

        return is_name ? error_set(err, EX_USAGE, "%s; did you mean `pod %.253s` or `node %.253s`?",
                                   forms, words[0], words[0])
                       : error_set(err, EX_USAGE, "%s", forms);
}

static int take_words(int count, char **words, struct error *err) {
        subject.node = name_of(count, words, node_kinds);
        subject.pod = name_of(count, words, pod_kinds);
        if (!subject.node && !subject.pod && !(count == 1 && is_kind(words[0], node_kinds)))
                return refuse_words(count, words, err);
        return 0;
}

static int run_nodes(struct cluster *cluster, const char *node, struct error *err) {
        json_auto_t *answer = NULL,
                    *body = node ? json_pack("{s:[s]}", "select", node) : json_object();
        _cleanup_(freep) char *from = NULL;
        struct style style = style_of(stdout);

        int r = cluster_ask(cluster, "explain", body, NULL, &answer, &from, err);
        if (r < 0)
                return r;
        if (verb_is_document())
                verb_document(TAKE_PTR(answer));
        else
                explain_nodes_print(answer, from, NULL, SIZE_MAX, &style, stdout);
        return 0;
}

/* ---- A pod. */

static char *namespace_of(const struct cluster *cluster) {
        return settings.pod_namespace ? xstrdup(settings.pod_namespace)
                                      : cluster_namespace(cluster);
}

static char *full_name_of(const struct cluster *cluster, const char *pod) {
        if (strchr(pod, '/'))
                return xstrdup(pod);
        _cleanup_(freep) char *namespace = namespace_of(cluster);
        return xasprintf("%s/%s", namespace, pod);
}

/* Ask every extender, and take the newest answers. @ret_why_not: why an extender did not answer;
 * owned by the caller; NULL: all did. Return: NULL: no extender has a decision */
static json_t *ask_extenders(struct cluster *cluster, const struct explain_place *place,
                             char **ret_why_not) {
        const char *uid = json_string_at(place->pod, "metadata", "uid", NULL);
        bool is_plain = uid && uid[strspn(uid, NAME_LOWER "-")] == '\0';
        _cleanup_(freep) char *page = xasprintf("decisions?pod=%s%s%s", place->full_name,
                                                is_plain ? "&uid=" : "", is_plain ? uid : "");
        _cleanup_(cluster_question_done) struct cluster_question question = {
                cluster, PROGRAM_EXTENDER, page};
        json_t *decision = NULL, *answer;

        while ((answer = cluster_question_next(&question)))
                decision = explain_decision_newer(decision, answer);
        *ret_why_not = TAKE_PTR(question.why_not);
        return decision;
}

static enum kube_outcome find_place(struct cluster *cluster, const char *full_name,
                                    struct explain_place *ret) {
        size_t len = strcspn(full_name, "/");
        _cleanup_(freep) char *namespace = xmemdup0(full_name, len);
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, namespace, "pods", full_name + len + 1,
                                                "");

        *ret = (struct explain_place){.full_name = full_name};
        return cluster_get(cluster, path, &ret->pod, &ret->why_not);
}

/* @decision: NULL: there is none, but @answer, of /explain */
static void show_pod(const struct explain_place *place, json_t *decision, const char *why_not,
                     json_t *answer, const char *from) {
        enum { SOME_NODES = 5 };
        size_t max_nodes = verb_flags.output == OUTPUT_WIDE ? SIZE_MAX : SOME_NODES;
        struct style style = style_of(stdout);

        if (verb_is_document()) {
                json_t *root = explain_place_json(place);
                json_object_update_new(root, json_pack("{s:O?, s:s?, s:O?}", "decision", decision,
                                                       "whyNot", why_not, "explanation", answer));
                verb_document(root);
                return;
        }
        explain_place_print(place, &style, stdout);
        if (why_not)
                (void)printf("%s: %s\n", decision ? "not every extender answered" : "no decision",
                             style_plain(why_not).text);
        if (decision) {
                explain_decision_print(decision, place, max_nodes, &style, stdout);
                return;
        }
        (void)fputs("the nodes now, ", stdout);
        explain_nodes_print(answer, from, explain_place_node(place), max_nodes, &style, stdout);
}

static int run_pod(struct cluster *cluster, const char *pod, struct error *err) {
        _cleanup_(freep) char *full_name = full_name_of(cluster, pod);
        _cleanup_(freep) char *why_not = NULL, *from = NULL;
        json_auto_t *answer = NULL, *body = NULL;
        struct explain_place place;
        int r = 0;

        if (!name_is_of_pod(full_name)) /* it becomes part of a path and a query */
                return error_set(err, EX_USAGE, "'%.64s': expected NAMESPACE/NAME of a pod",
                                 full_name);
        enum kube_outcome outcome = find_place(cluster, full_name, &place);
        json_auto_t *decision = ask_extenders(cluster, &place, &why_not);
        if (!decision && !why_not && place.pod)
                why_not = explain_place_unasked(&place);
        if (!decision && outcome == KUBE_NOT_FOUND) {
                r = error_set(err, ENOENT,
                              "there is no pod %.320s, and no extender knows it; --namespace sets "
                              "its namespace",
                              full_name);
        } else if (!decision && !place.pod) {
                *err = place.why_not;
                r = err->code;
        } else if (!decision) {
                body = json_pack("{s:O}", "pod", place.pod);
                r = cluster_ask(cluster, "explain", body, NULL, &answer, &from, err);
        }
        if (r == 0)
                show_pod(&place, decision, why_not, answer, from);
        json_decref(place.pod);
        return r;
}

static int run_explain(struct cluster *cluster, struct error *err) {
        return subject.pod ? run_pod(cluster, subject.pod, err)
                           : run_nodes(cluster, subject.node, err);
}

const struct verb explain_verb = {
        .name = "explain",
        .summary = "Explain the placement of a pod, or the verdict and score of a node",
        .usage = "Usage: kubectl plimsoll explain [FLAG...] node NAME | nodes | pod NAME\n"
                 "\n"
                 "Explain a pod: its node, or why it is pending, and what the extenders\n"
                 "answered about it. NAME can also be NAMESPACE/NAME.\n"
                 "\n"
                 "Explain nodes: each limit with the reading, its age and the verdict, and each\n"
                 "term of the score, as they would be now for a pod without requests. A running\n"
                 "extender answers.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll explain pod web-0 -n shop\n"
                 "  kubectl plimsoll explain pod shop/web-0 -o wide\n"
                 "  kubectl plimsoll explain node worker-7\n",
        .words = words_of_kinds,
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .take_words = take_words,
        .run = run_explain,
};
