/* Of whatever is accepted, every candidate is an entry of the reply: its name, and victims by UID
 * without a null anywhere, which kube-scheduler would dereference. */
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "extender/answer/request.h"
#include "tests/unit/extender/answer/request_property.h"

static void check_candidate(const struct request_node *node) {
        _cleanup_(buf_done) struct buf entry = BUF_INIT(SIZE_MAX >> 1);
        const json_t *pod;
        size_t i;

        (void)buf_puts(&entry, "{");
        (void)buf_append(&entry, node->json, node->json_bytes);
        (void)buf_puts(&entry, "}");
        json_auto_t *object = json_loadb(entry.data, entry.len, JSON_ALLOW_NUL, NULL);
        PROPERTY(json_object_size(object) == 1);
        const char *name = json_object_iter_key(json_object_iter(object));
        PROPERTY(strlen(name) == node->name_bytes &&
                 memcmp(name, node->name, node->name_bytes) == 0);
        const json_t *victims = json_object_get(object, name);
        PROPERTY(json_is_integer(json_object_get(victims, "NumPDBViolations")));
        PROPERTY(json_is_array(json_object_get(victims, "Pods")));
        json_array_foreach (json_object_get(victims, "Pods"), i, pod)
                PROPERTY(json_is_string(json_object_get(pod, "UID")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct request request = REQUEST_NULL;
        /* An exact copy, so that a read past the end is seen. */
        const char *text = (const char *)data;

        if (size <= 1 << 20 && request_parse_preemption(&request, text, size, NULL) == 0)
                for (size_t i = 0; i < request.count; i++)
                        check_candidate(&request.nodes[i]);
        request_done(&request);
        return 0;
}
