#include "cli/cleanup/own_keys.h"

#include <string.h>

#include "codec/json.h"
#include "kube/kube_api.h"

/* @fields: "f:KEY" for each annotation of a manager, and "." */
static void take_fields(json_t *fields, const json_t *annotations, json_t *nulls) {
        const char *field;
        json_t *value;

        json_object_foreach (json_iterable(fields), field, value)
                if (strncmp(field, "f:", 2) == 0 && json_object_get(annotations, field + 2))
                        (void)json_object_set_new(nulls, field + 2, json_null());
}

json_t *own_keys_find(const json_t *node) {
        const json_t *annotations = json_at(node, "metadata", "annotations", NULL), *entry;
        json_t *nulls = json_object();
        size_t i;

        json_array_foreach (json_at(node, "metadata", "managedFields", NULL), i, entry)
                if (json_is_at(KUBE_FIELD_MANAGER, entry, "manager", NULL))
                        take_fields(json_at(entry, "fieldsV1", "f:metadata", "f:annotations", NULL),
                                    annotations, nulls);
        return nulls;
}
