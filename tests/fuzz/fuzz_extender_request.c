/*
 * We and jansson must read the same out of every ExtenderArgs, and the filter's answer to it must
 * hold together, with a shortlist by estimate of a table that knows some of the corpus's
 * nodes. What is kept of the answers is JSON, and so is the answer to ExtenderPreemptionArgs.
 */
#include "extender/decisions/decision_take.h"
#include "extender/table/node_table.h"
#include "fuzz.h"
#include "tests/put_node.h"
#include "tests/unit/extender/answer/request_property.h"
#include "tests/unit/policy/judge/answer_property.h"

enum { PLACES = 2 };

static const char policy_text[] =
        "apiVersion: " POLICY_API_VERSION "\n"
        "kind: " POLICY_KIND "\n"
        "spec:\n"
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8}]\n"
        "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
        "  extender: {scoring: estimate, whenAllOver: reject, shortlist: 2}\n";

static struct node_snapshot *snapshot_new(int64_t now_unix_ms) {
        static const struct {
                const char *name, *usage, *zone;
        } nodes[] = {
                {"a", "0.1", "z1"},      {"b", "0.5", "z1"},      {"c", "0.9", "z2"},
                {"node-a", "0.3", "z2"}, {"node-b", "0.2", "z1"}, {"node-c", "0.2", ""},
        };
        struct policy *policy = NULL;

        if (policy_parse(policy_text, strlen(policy_text), true, &policy, NULL) < 0)
                abort();
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = ""}, policy, now_unix_ms);
        for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
                char *value = xasprintf("%s,2026-07-23T09:46:40Z", nodes[i].usage);
                json_t *annotations = json_pack("{s:s}", "cpu_usage_avg_5m", value);
                json_t *labels = json_pack("{s:s}", "topology.kubernetes.io/zone", nodes[i].zone);
                put_node_parts(table, nodes[i].name, annotations, labels, NULL, now_unix_ms);
                json_decref(annotations);
                json_decref(labels);
                free(value);
        }
        node_table_publish(table, now_unix_ms);
        return node_table_acquire(table); /* with its table, for as long as the process lives */
}

/* @answer: after answer_filter(); pods and nodes may be called as somebody likes. */
static void check_decision(struct answer *answer, struct reply *reply,
                           const struct node_snapshot *snapshot, const struct request *request,
                           int64_t now_unix_ms) {
        struct decision decision = {0};
        struct buf text = BUF_INIT(DECISION_JSON_MAX_BYTES);

        if (!decision_take_pod(&request->pod, &decision.pod))
                return;
        decision_take_filter(answer, &decision);
        answer_score(answer, snapshot, request, now_unix_ms, 0);
        PROPERTY(reply_prioritize(reply, answer));
        decision_take_ranking(answer, &decision);
        decision_json(&decision, SIZE_MAX, &text);
        PROPERTY(!text.overflow);
        json_t *json = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
        PROPERTY(json);
        json_decref(json);
        buf_done(&text);
}

/* Victims come by UID and without a null anywhere, which kube-scheduler would dereference. Half a
 * surrogate pair in a name or a UID is echoed, and jansson does not take it. */
static void check_victims(const struct reply *reply, size_t candidates) {
        json_t *root = NULL;
        const char *name;
        json_t *victims;
        const json_t *pod;
        size_t i;

        PROPERTY(pod_is_json(reply->text.data, reply->text.len, &root));
        const json_t *by_node = json_object_get(root, "NodeNameToMetaVictims");
        PROPERTY(!root || json_object_size(by_node) <= candidates);
        json_object_foreach ((json_t *)(uintptr_t)by_node, name, victims) {
                PROPERTY(json_is_integer(json_object_get(victims, "NumPDBViolations")));
                PROPERTY(json_is_array(json_object_get(victims, "Pods")));
                json_array_foreach (json_object_get(victims, "Pods"), i, pod)
                        PROPERTY(json_is_string(json_object_get(pod, "UID")));
        }
        json_decref(root);
}

static void check_answer(const char *text, size_t len) {
        static const int64_t now_unix_ms = INT64_C(1784800000000); /* 2026-07-23T09:46:40Z */
        static struct node_snapshot *snapshot;
        struct request request = REQUEST_NULL;
        struct answer answer = ANSWER_NULL;
        struct reply reply;

        if (!snapshot)
                snapshot = snapshot_new(now_unix_ms);
        reply_init(&reply);
        if (request_parse(&request, text, len, REQUEST_MAX_NODES, NULL) == 0) {
                (void)answer_property_check(&answer, &reply, snapshot, &request, PLACES,
                                            now_unix_ms);
                check_decision(&answer, &reply, snapshot, &request, now_unix_ms);
        }
        request_reset(&request);
        if (request_parse_preemption(&request, text, len, REQUEST_MAX_NODES, NULL) == 0) {
                answer_filter(&answer, snapshot, &request, now_unix_ms);
                PROPERTY(reply_preempt(&reply, &answer));
                check_victims(&reply, request.count);
        }
        request_done(&request);
        answer_done(&answer);
        reply_done(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (size > 1 << 20)
                return 0;
        (void)request_property_check(data, size);
        check_answer((const char *)data, size);
        return 0;
}
