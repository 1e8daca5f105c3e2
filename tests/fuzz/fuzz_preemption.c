/* Of whatever is accepted, the reply is JSON with each candidate once, and victims by UID without a
 * null anywhere, which kube-scheduler would dereference. */
#include "fuzz.h"

#include <string.h>

#include "extender/answer/reply.h"
#include "extender/table/node_table.h"
#include "tests/unit/extender/answer/request_property.h"

/* Half a surrogate pair in a name or a UID is echoed, and jansson does not take it. */
static void check_reply(const struct reply *reply, size_t candidates) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static struct node_table *table;
        static struct node_snapshot *snapshot;
        struct request request = REQUEST_NULL;
        struct answer answer = ANSWER_NULL;
        struct reply reply;
        /* An exact copy, so that a read past the end is seen. */
        const char *text = (const char *)data;

        if (!table) {
                table = node_table_new(&(struct node_table_options){.annotation_prefix = ""},
                                       policy_default(), 1);
                snapshot = node_table_acquire(table);
        }
        reply_init(&reply);
        if (size <= 1 << 20 && request_parse_preemption(&request, text, size, NULL) == 0) {
                answer_filter(&answer, snapshot, &request, 1);
                PROPERTY(reply_preempt(&reply, &answer));
                check_reply(&reply, request.count);
        }
        request_done(&request);
        answer_done(&answer);
        reply_done(&reply);
        return 0;
}
