#include "cli/simulate/recording_take.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/explain/explain_ask.h"
#include "cli/nodes/node_list.h"
#include "cli/nodes/pod_list.h"
#include "cli/simulate/recording.h"
#include "codec/json.h"
#include "extender/table/annotation_style.h"
#include "policy/pods/pod_facts.h"
#include "program/style.h"

enum { POLICY_MAX_BYTES = 1 << 20 };

struct taking {
        struct cluster *cluster;
        const struct recording_options *options;
        json_t *root, *nodes, *pods, *decisions, *notes; /* all are in root */
        struct strmap places; /* uid: the JSON string with the pod's node, in `pods` */
        bool has_pods;        /* they were listed */
};

static void note(struct taking *taking, const char *what, const char *why) {
        _cleanup_(freep) char *text = xasprintf("%s: %s", what, why);

        (void)json_array_append_new(taking->notes, json_string(text));
}

/* Not after each of 100,000 objects. */
static void show_progress(const char *what, const json_t *list) {
        if (json_array_size(list) % 100 == 0)
                style_progress(what, json_array_size(list));
}

/* ---- The policy, the pods and the nodes. */

static json_t *recorded_policy_json(const struct policy *policy, const char *from) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(POLICY_MAX_BYTES);

        policy_print(policy, &text);
        return json_pack("{s:s, s:s}", "from", from, "text", text.data);
}

static void begin_pods(void *userdata) {
        struct taking *taking = userdata;

        (void)json_array_clear(taking->pods);
        strmap_done(&taking->places);
}

static void take_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct taking *taking = userdata;
        int64_t since_unix_ms = facts->runs_unix_ms > 0 ? facts->runs_unix_ms
                                                        : facts->bound_unix_ms;
        char bound[TIMESTAMP_MAX];

        (void)is_appeared;
        if (since_unix_ms <= 0)
                return;
        timestamp_format_ms(since_unix_ms, bound, sizeof(bound));
        json_t *node = json_stringn(facts->node.text, facts->node.len);
        json_t *pod = json_pack("{s:o, s:s, s:f, s:f}", "node", node, "bound", bound, "cores",
                                facts->request.of[ESTIMATE_CPU], "bytes",
                                facts->request.of[ESTIMATE_MEM]);
        (void)json_array_append_new(taking->pods, pod);
        (void)strmap_put(&taking->places, facts->uid.text, facts->uid.len, node);
        show_progress("pods", taking->pods);
}

static int take_pods(struct taking *taking, struct error *err) {
        static const struct pod_watch_events events = {
                .list_begins = begin_pods,
                .pod = take_pod,
        };

        return pod_list(taking->cluster, &events, taking, err);
}

static void begin_nodes(void *userdata) {
        struct taking *taking = userdata;

        (void)json_array_clear(taking->nodes);
}

static void take_node(void *userdata, const char *text, size_t len) {
        struct taking *taking = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        json_t *kept = recording_node(node, taking->options->table);
        if (kept)
                (void)json_array_append_new(taking->nodes, kept);
        show_progress("nodes", taking->nodes);
}

/* ---- The decisions. */

struct name {
        const char *full_name, *at; /* borrowed */
};

static int compare_node_names(const void *a, const void *b) {
        const struct name *left = a, *right = b;
        int order = strcmp(right->at, left->at); /* the newest first */

        return order ? order : strcmp(left->full_name, right->full_name);
}

static void record_decision(struct taking *taking, const struct cluster_extenders *extenders,
                            const char *full_name) {
        _cleanup_(freep) char *why_not = NULL;
        json_auto_t *decision = explain_ask(extenders, full_name, &why_not);
        const char *uid = json_string_at(decision, "uid", NULL);

        if (!decision)
                return;
        (void)json_array_append_new(
                taking->decisions,
                json_pack("{s:O?, s:O}", "node",
                          uid ? strmap_get(&taking->places, uid, strlen(uid)) : NULL, "decision",
                          decision));
        style_progress("decisions", json_array_size(taking->decisions));
}

static void take_decisions(struct taking *taking) {
        _cleanup_(cluster_extenders_done) struct cluster_extenders extenders;
        _cleanup_(freep) char *why_not = NULL;
        _cleanup_(freep) struct name *names = NULL;
        json_auto_t *found = NULL;
        size_t count = 0;
        const char *key;
        json_t *at;

        cluster_extenders_find(taking->cluster, taking->options->plimsoll_namespace, &extenders);
        found = explain_ask_names(&extenders, &why_not);
        if (why_not)
                note(taking, json_object_size(found) > 0 ? "not all decisions" : "no decisions",
                     why_not);
        names = xcalloc(json_object_size(found) + 1, sizeof(*names));
        json_object_foreach (found, key, at)
                names[count++] = (struct name){key, json_string_value(at)};
        qsort(names, count, sizeof(*names), compare_node_names);
        for (size_t i = 0; i < count && (int64_t)i < taking->options->placement_count; i++)
                record_decision(taking, &extenders, names[i].full_name);
}

static void record_estimate(struct taking *taking) {
        _cleanup_(freep) char *from = NULL;
        json_t *page = cluster_estimate(taking->cluster, taking->options->plimsoll_namespace,
                                        &from);

        (void)json_object_set_new(taking->root, "estimate", page ? page : json_null());
        (void)json_object_set_new(taking->root, "estimateFrom", json_string(from));
}

static int take_all(struct taking *taking, struct error *err) {
        _cleanup_(freep) char *from = NULL;
        _cleanup_(policy_freep) struct policy *policy = NULL;
        const struct recording_options *options = taking->options;
        struct error pods = ERROR_NULL;

        int r = cluster_policy_load(taking->cluster, NULL, taking->options->plimsoll_namespace,
                                    &policy, &from, err);
        if (r < 0)
                return r;
        (void)json_object_set_new(taking->root, "policy", recorded_policy_json(policy, from));
        bool is_estimate = policy->scoring == POLICY_SCORING_ESTIMATE;
        bool has_pods = options->has_load || options->placement_count > 0;
        taking->has_pods = has_pods && take_pods(taking, &pods) == 0;
        if (has_pods && !taking->has_pods)
                note(taking,
                     "placements lack where pods are, and an estimate that begins what they use",
                     pods.msg);
        /* Only the estimate needs capacities. */
        if (node_list_each(taking->cluster, options->has_load || is_estimate, begin_nodes,
                           take_node, taking, err) != KUBE_OK)
                return err->code;
        if (is_estimate)
                record_estimate(taking);
        if (options->placement_count > 0)
                take_decisions(taking);
        return 0;
}

int recording_take(struct cluster *cluster, const struct recording_options *options, json_t **ret,
                   struct error *err) {
        struct taking taking = {
                .cluster = cluster,
                .options = options,
                .nodes = json_array(),
                .pods = json_array(),
                .decisions = json_array(),
                .notes = json_array(),
        };
        char at[TIMESTAMP_MAX];

        timestamp_format_ms(options->now_unix_ms, at, sizeof(at));
        taking.root = json_pack("{s:s, s:i, s:s, s:{s:s, s:s, s:s}, s:o, s:o, s:o, s:o}", "kind",
                                RECORDING_KIND, "version", RECORDING_VERSION, "at", at,
                                "annotations", "prefix", options->flags.annotation_prefix,
                                "timezone", options->flags.annotation_timezone, "unit",
                                annotation_units[options->unit], "nodes", taking.nodes, "pods",
                                taking.pods, "decisions", taking.decisions, "notes", taking.notes);
        int r = take_all(&taking, err);
        style_progress(NULL, 0);
        strmap_done(&taking.places);
        if (!taking.has_pods)
                (void)json_object_set_new(taking.root, "pods", json_null());
        if (r < 0)
                json_decref(taking.root);
        else
                *ret = taking.root;
        return r;
}
