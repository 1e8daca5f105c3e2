#include "cli/doctor/doctor_config.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "kube/kube_path.h"

#define KIND "KubeSchedulerConfiguration"
#define PORT ":" KUBE_PORT_TEXT(KUBE_PORT_EXTENDER)

const char *doctor_config_text(const struct tree_node *map, const char *key) {
        const struct tree_node *node = tree_get(map, key);

        return node && node->kind == TREE_SCALAR ? node->text : "";
}

static bool is_our_url(const char *url) {
        static const char *const marks[] = {"plimsoll", "CLUSTER_IP", PORT};

        for (size_t i = 0; i < ARRAY_LEN(marks); i++)
                if (strstr(url, marks[i]))
                        return true;
        return false;
}

/* There may be two: bind can have an entry with another timeout. */
const struct tree_node *doctor_config_entry(const struct tree *config) {
        const struct tree_node *extenders = config ? tree_get(tree_root(config), "extenders")
                                                   : NULL;
        const struct tree_node *found = NULL;

        if (!extenders || extenders->kind != TREE_LIST)
                return NULL;
        for (size_t i = 0; i < extenders->count; i++) {
                const struct tree_node *entry = &extenders->items[i];
                if (!is_our_url(doctor_config_text(entry, "urlPrefix")))
                        continue;
                if (!found || !doctor_config_text(found, "prioritizeVerb")[0])
                        found = entry;
        }
        return found || extenders->count != 1 ? found : &extenders->items[0];
}

int doctor_config_load(const char *path, struct tree **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        _cleanup_(tree_freep) struct tree *tree = NULL;
        size_t len = 0;

        int r = file_read_input(path, TREE_MAX_BYTES, &text, &len, err);
        if (r == 0)
                r = tree_parse(text, len, &tree, err);
        if (r < 0)
                return error_wrap(err, r, "%s", file_input_name(path));
        if (strcmp(doctor_config_text(tree_root(tree), "kind"), KIND) != 0)
                return error_set(err, EINVAL, "%s: no " KIND, file_input_name(path));
        *ret = TAKE_PTR(tree);
        return 0;
}
