#include "policy/node_closed.h"

#include "base/mem.h"
#include "codec/json.h"

char *node_closed_by(const json_t *node) {
        const json_t *taint;
        size_t i;

        if (json_is_true(json_at(node, "spec", "unschedulable", NULL)))
                return xstrdup("cordoned");
        json_array_foreach (json_at(node, "spec", "taints", NULL), i, taint) {
                const char *key = json_string_at(taint, "key", NULL);
                if (key && (json_is_at("NoSchedule", taint, "effect", NULL) ||
                            json_is_at("NoExecute", taint, "effect", NULL)))
                        return xasprintf("taint %.317s", key); /* prefix 253, slash, name 63 */
        }
        return NULL;
}
