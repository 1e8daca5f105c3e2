#include "cli/explain/explain_verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/name.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/explain/explain_decision.h"
#include "cli/explain/explain_place.h"
#include "cli/explanation/explain_input.h"
#include "cli/explanation/explanation.h"
#include "cli/nodes/node_list.h"
#include "cli/verb/output.h"
#include "codec/json.h"
#include "extender/table/annotation_style.h"
#include "kube/kube_path.h"
#include "program/program_options.h"

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        const char *filename, *pod_namespace, *plimsoll_namespace, *input_pod, *now;
        int output, unit;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        OUTPUT_ROW(settings.output),
        {.name = "namespace", .letter = 'n', .type = OPTION_STRING,
         .value = &settings.pod_namespace, .metavar = "NAME", .variable = "",
         .help = "Namespace of the pod. Default: the context's."},
        CLUSTER_EXTENDERS_ROW(settings.plimsoll_namespace),
        {.help = "Nodes from standard input"},
        {.name = "pod", .type = OPTION_STRING, .value = &settings.input_pod,
         .metavar = "NAMESPACE/NAME",
         .help = "Score the nodes for this pod in the input. Default: a pod without requests."},
        {.name = "now", .type = OPTION_STRING, .value = &settings.now, .metavar = "TIME",
         .help = "Judge at this time, such as 2026-07-23T11:25:54Z. Default: now."},
        {.help = "Policy and annotations"},
        CLUSTER_POLICY_ROW(settings.filename),
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

/* What to explain. */
struct subject {
        const char *node;   /* NULL: all */
        const char *pod;    /* "name" or "namespace/name"; NULL: nodes */
        bool is_from_input; /* the nodes come from standard input */
};

/* As kubectl spells them. */
static const char *const node_kinds[] = {"node", "nodes", "no", NULL};
static const char *const pod_kinds[] = {"pod", "pods", "po", NULL};

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
        static const char forms[] = "expected `node NAME`, `nodes`, `pod NAME` or `-`";
        bool is_name = count == 1 && !strchr(words[0], '/') && !is_kind(words[0], pod_kinds);

        return is_name ? error_set(err, EX_USAGE, "%s; did you mean `pod %.253s` or `node %.253s`?",
                                   forms, words[0], words[0])
                       : error_set(err, EX_USAGE, "%s", forms);
}

static int read_subject(int count, char **words, struct subject *ret, struct error *err) {
        *ret = (struct subject){
                .node = name_of(count, words, node_kinds),
                .pod = name_of(count, words, pod_kinds),
                .is_from_input = count == 1 && strcmp(words[0], "-") == 0,
        };
        if (!ret->node && !ret->pod && !ret->is_from_input &&
            !(count == 1 && is_kind(words[0], node_kinds)))
                return refuse_words(count, words, err);
        if (!ret->is_from_input && (settings.input_pod || settings.now))
                return error_set(err, EX_USAGE, "--%s: expected with `-`",
                                 settings.now ? "now" : "pod");
        return 0;
}

static int show_nodes(const struct node_list *list, const char *node,
                      const struct explained_pod *pod, int64_t now_unix_ms, struct error *err) {
        _cleanup_(explanation_done) struct explanation explanation;
        struct style style = style_of(stdout);

        node_list_explain(list, pod, now_unix_ms, &explanation);
        uint32_t row = node ? explanation_row(&explanation, node) : NODE_ROW_NONE;
        if (node && row == NODE_ROW_NONE)
                return error_set(err, ENOENT,
                                 "there is no node '%.64s'; `kubectl plimsoll top` lists them",
                                 node);
        json_auto_t *nodes = node ? json_pack("[o]", explanation_node_json(&explanation, row))
                                  : explanation_json(&explanation);
        if (!output_is_document(settings.output)) {
                explanation_print(&explanation, nodes, &style, stdout);
                return 0;
        }
        if (explanation.why_unscored) {
                (void)fputs("kubectl plimsoll explain: ", stderr);
                explanation_print_source(&explanation, stderr);
        }
        output_document(TAKE_PTR(nodes), settings.output, stdout);
        return 0;
}

/* List all nodes, even to explain one: some scores depend on all nodes.
 * @ret_pod: set to --pod */
static int fill_table(struct cluster *cluster, const struct subject *subject,
                      const struct node_table_options *options, int64_t now_unix_ms,
                      struct node_list **ret, struct explained_pod *ret_pod, struct error *err) {
        _cleanup_(freep) char *from = NULL;
        struct policy *policy = NULL;

        int r = cluster_policy_load(cluster, settings.filename, settings.plimsoll_namespace,
                                    &policy, &from, err);
        if (r < 0)
                return r;
        if (!settings.filename && strcmp(from, CLUSTER_POLICY_OBJECT) != 0) {
                (void)fputs("kubectl plimsoll explain: using ", stderr);
                (void)style_text(from, SIZE_MAX, stderr);
                (void)fputc('\n', stderr);
        }
        *ret = node_list_new(cluster, options, policy, settings.plimsoll_namespace, now_unix_ms);
        if (!subject->is_from_input)
                return node_list_update(*ret, now_unix_ms, err);
        r = explain_read(node_list_table(*ret), node_list_listed(*ret), "-", settings.input_pod,
                         now_unix_ms, ret_pod, err);
        if (r == 0 && settings.input_pod && !ret_pod->name)
                r = error_set(err, ENOENT, "--pod: no pod '%.64s' in the input",
                              settings.input_pod);
        return r;
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

/* "namespace/name" with valid names, which can be part of a path and a query. */
static bool is_full_name(const char *text) {
        size_t space = strspn(text, NAME_LOWER "-");
        const char *name = text + space + 1;

        return space > 0 && text[space] == '/' && name[0] != '\0' && name[0] != '.' &&
               name[strspn(name, NAME_LOWER "-.")] == '\0';
}

/* Ask every extender, and take the newest answers. @ret_why_not: why an extender did not answer;
 * owned by the caller; NULL: all did. Return: NULL: no extender has a decision */
static json_t *ask_extenders(const struct cluster_extenders *extenders,
                             const struct explain_place *place, char **ret_why_not) {
        const char *uid = json_string_at(place->pod, "metadata", "uid", NULL);
        bool is_plain = uid && uid[strspn(uid, NAME_LOWER "-")] == '\0';
        _cleanup_(freep) char *page = xasprintf("decisions?pod=%s%s%s", place->full_name,
                                                is_plain ? "&uid=" : "", is_plain ? uid : "");
        struct cluster_question question = {extenders, page};
        json_t *decision = NULL, *answer;

        while ((answer = cluster_question_next(&question)))
                decision = explain_decision_newer(decision, answer);
        *ret_why_not = question.why_not;
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

/* Explain the nodes as if the pod had to be placed now.
 * @document: gets them as "nodes"; NULL: print them */
static void explain_by_annotations(const struct node_list *list, const struct explain_place *place,
                                   int64_t now_unix_ms, json_t *document) {
        _cleanup_(explanation_done) struct explanation explanation;
        struct style style = style_of(stdout);
        const char *node = explain_place_node(place);
        _cleanup_(explain_pod_done) struct explained_pod pod = {0};

        explain_pod_add(node_list_table(list), place->pod, place->full_name, &pod);
        explain_pod_leave_out(node_list_table(list), &pod, now_unix_ms);
        node_list_explain(list, &pod, now_unix_ms, &explanation);
        json_auto_t *nodes = explanation_json(&explanation);
        uint32_t row = node ? explanation_row(&explanation, node) : NODE_ROW_NONE;
        if (row != NODE_ROW_NONE) { /* the pod's node comes first */
                (void)json_array_insert(nodes, 0, json_array_get(nodes, row));
                (void)json_array_remove(nodes, row + 1);
        }
        if (document)
                (void)json_object_update_new(
                        document, json_pack("{s:O, s:i, s:o*, s:o*}", "nodes", nodes, "rule",
                                            (int)explanation_rule(&explanation), "expected",
                                            explanation_expected_json(&explanation), "estimate",
                                            explanation_source_json(&explanation)));
        else
                explanation_print(&explanation, nodes, &style, stdout);
}

/* @decision: NULL: explain the nodes instead */
static void show_pod(const struct explain_place *place, json_t *decision, const char *why_not,
                     const struct node_list *nodes, int64_t now_unix_ms) {
        enum { SOME_NODES = 5 };
        struct style style = style_of(stdout);

        if (output_is_document(settings.output)) {
                json_t *root = explain_place_json(place);
                json_object_update_new(
                        root, json_pack("{s:O?, s:s?}", "decision", decision, "whyNot", why_not));
                if (!decision)
                        explain_by_annotations(nodes, place, now_unix_ms, root);
                output_document(root, settings.output, stdout);
                return;
        }
        explain_place_print(place, &style, stdout);
        if (why_not) {
                (void)fputs(decision ? "not every extender answered: " : "no decision: ", stdout);
                (void)style_text(why_not, ERROR_MSG_MAX, stdout);
                (void)fputc('\n', stdout);
        }
        if (decision) {
                explain_decision_print(decision, place,
                                       settings.output == OUTPUT_WIDE ? SIZE_MAX : SOME_NODES,
                                       &style, stdout);
                return;
        }
        (void)fputs("the nodes now, by their annotations:\n\n", stdout);
        explain_by_annotations(nodes, place, now_unix_ms, NULL);
}

static int run_pod(struct cluster *cluster, const struct subject *subject,
                   const struct node_table_options *options, int64_t now_unix_ms,
                   struct error *err) {
        _cleanup_(freep) char *full_name = full_name_of(cluster, subject->pod);
        _cleanup_(node_list_freep) struct node_list *nodes = NULL;
        _cleanup_(cluster_extenders_done) struct cluster_extenders extenders = {0};
        _cleanup_(freep) char *why_not = NULL;
        struct explain_place place;
        int r = 0;

        if (!is_full_name(full_name))
                return error_set(err, EX_USAGE, "'%.64s': expected NAMESPACE/NAME of a pod",
                                 full_name);
        enum kube_outcome outcome = find_place(cluster, full_name, &place);
        cluster_extenders_find(cluster, settings.plimsoll_namespace, &extenders);
        json_auto_t *decision = ask_extenders(&extenders, &place, &why_not);
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
                r = fill_table(cluster, subject, options, now_unix_ms, &nodes, NULL, err);
        }
        if (r == 0)
                show_pod(&place, decision, why_not, nodes, now_unix_ms);
        json_decref(place.pod);
        return r;
}

static int run_explain(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        _cleanup_(node_list_freep) struct node_list *nodes = NULL;
        _cleanup_(explain_pod_done) struct explained_pod pod = {0};
        int64_t now_unix_ms = 0;
        struct subject subject;

        int r = read_subject(count, words, &subject, err);
        if (r == 0)
                r = verb_now(settings.now, &now_unix_ms, err);
        if (r == 0 && subject.is_from_input && settings.filename &&
            strcmp(settings.filename, "-") == 0)
                r = error_set(err, EX_USAGE,
                              "--filename: the nodes already come from standard input");
        if (r == 0)
                r = verb_usage(annotation_style_init(&style, &settings.shared, settings.unit, err));
        /* Nodes from the input and a policy from a file need no cluster. */
        if (r == 0 && !(subject.is_from_input && settings.filename))
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r < 0)
                return r;
        if (subject.pod)
                return run_pod(cluster, &subject, &style.table, now_unix_ms, err);
        r = fill_table(cluster, &subject, &style.table, now_unix_ms, &nodes, &pod, err);
        return r < 0 ? r : show_nodes(nodes, subject.node, &pod, now_unix_ms, err);
}

/* The word may begin with another namespace: "shop/web-0". */
static void offer_pods(struct cluster *cluster, const char *typed, FILE *out) {
        size_t len = strcspn(typed, "/");
        bool is_full = typed[len] == '/';
        _cleanup_(freep) char *namespace = is_full ? xmemdup0(typed, len) : namespace_of(cluster);
        _cleanup_(freep) char *before = is_full ? xmemdup0(typed, len + 1) : xstrdup("");
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, namespace, "pods", NULL, "");

        cluster_offer_names(cluster, path, before, typed, out);
}

static void offer_explained(int count, char **words, const char *typed, FILE *out) {
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        struct error err = ERROR_NULL;

        settings.cluster.request_timeout = "3s";
        if (count != 1 || cluster_open(&settings.cluster, &cluster, &err) < 0)
                return;
        if (is_kind(words[0], node_kinds))
                cluster_offer_names(cluster, KUBE_NODES, "", typed, out);
        else if (is_kind(words[0], pod_kinds))
                offer_pods(cluster, typed, out);
}

const struct verb explain_verb = {
        .name = "explain",
        .summary = "Explain the placement of a pod, or the verdict and score of a node",
        .usage = "Usage: kubectl plimsoll explain [FLAG...] node NAME | nodes | pod NAME | -\n"
                 "\n"
                 "Explain a pod: its node, or why it is pending, and what the extenders\n"
                 "answered about it. NAME can also be NAMESPACE/NAME.\n"
                 "\n"
                 "Explain nodes: each limit with the reading, its age and the verdict, and each\n"
                 "term of the score, as they would be now for a pod without requests. With `-`,\n"
                 "the nodes come from standard input, as `kubectl get nodes -o json` prints\n"
                 "them. If the input also has the pods, `scoring: estimate` uses them.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll explain pod web-0 -n shop\n"
                 "  kubectl plimsoll explain pod shop/web-0 -o wide\n"
                 "  kubectl plimsoll explain node worker-7\n"
                 "  kubectl get nodes,pods -A -o json |\n"
                 "      kubectl plimsoll explain - -f policy.yaml --pod=shop/web-0\n",
        .words = "node nodes pod",
        .offer = offer_explained,
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_explain,
};
