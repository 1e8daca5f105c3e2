#include "cli/cleanup/own_keys.h"

#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_api.h"
#include "policy/annotation.h"
#include "policy/usage/pod_usage_list.h"

static bool is_owned(const json_t *node, const char *key) {
        const json_t *entries = json_at(node, "metadata", "managedFields", NULL);
        _cleanup_(freep) char *field = xasprintf("f:%s", key);

        for (size_t i = 0; i < json_array_size(entries); i++) {
                const json_t *entry = json_array_get(entries, i);
                if (json_is_at(KUBE_FIELD_MANAGER, entry, "manager", NULL) &&
                    json_at(entry, "fieldsV1", "f:metadata", "f:annotations", field, NULL))
                        return true;
        }
        return false;
}

/* @name: the key without its prefix */
static bool is_named_so(const char *name, const json_t *value, const struct policy *policy) {
        struct annotation annotation;
        const char *text = json_string_value(value); /* NULL: not a string */

        return strcmp(name, ANNOTATION_HOT_VALUE) == 0 || strcmp(name, ANNOTATION_COVERED) == 0 ||
               strcmp(name, ANNOTATION_POD_USAGE) == 0 || policy_metric_index(policy, name) >= 0 ||
               (text && policy_names_query(policy, name) &&
                annotation_parse(text, json_string_length(value), NULL, &annotation, NULL) == 0);
}

json_t *own_keys_find(const json_t *node, const struct policy *policy, const char *prefix) {
        json_t *annotations = json_at(node, "metadata", "annotations", NULL);
        json_t *nulls = json_object();
        size_t prefix_len = strlen(prefix);
        const char *key;
        json_t *value;

        json_object_foreach (annotations, key, value)
                if (strncmp(key, prefix, prefix_len) == 0 &&
                    (is_named_so(key + prefix_len, value, policy) || is_owned(node, key)))
                        (void)json_object_set_new(nulls, key, json_null());
        return nulls;
}
