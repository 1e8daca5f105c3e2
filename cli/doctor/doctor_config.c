#include "cli/doctor/doctor_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/doctor/doctor_url.h"
#include "codec/json.h"
#include "kube/kube_path.h"

#define KIND "KubeSchedulerConfiguration"

const char *doctor_config_text(const struct tree_node *map, const char *key) {
        const struct tree_node *node = tree_get(map, key);

        return node && node->kind == TREE_SCALAR ? node->text : "";
}

const struct tree_node *doctor_config_list(const struct tree *tree, const char *key) {
        static const struct tree_node empty = {.kind = TREE_LIST};
        const struct tree_node *node = tree_get(tree_root(tree), key);

        return node && node->kind == TREE_LIST ? node : &empty;
}

/* Does the URL have an address or port of the extender or its Service, or its name? */
static bool is_our_url(const struct doctor_facts *facts, const char *url) {
        const struct doctor_url parts = doctor_url_parse(url);
        long long port = parts.port;

        return strstr(url, "plimsoll") || strcmp(parts.host, DOCTOR_URL_PLACEHOLDER) == 0 ||
               doctor_url_is_service(facts, &parts) || doctor_url_has_port(facts, &parts, "port") ||
               port == KUBE_PORT_EXTENDER || port == doctor_place(facts, DOCTOR_EXTENDER).port ||
               port == doctor_place(facts, DOCTOR_SCHEDULER).port;
}

/* There may be two: bind can have an entry with another timeout. */
static const struct tree_node *find_entry(const struct doctor_facts *facts,
                                          const struct tree *tree) {
        const struct tree_node *extenders = doctor_config_list(tree, "extenders"), *found = NULL;

        for (size_t i = 0; i < extenders->count; i++) {
                const struct tree_node *entry = &extenders->items[i];
                if (!is_our_url(facts, doctor_config_text(entry, "urlPrefix")))
                        continue;
                if (doctor_config_text(entry, "prioritizeVerb")[0])
                        return entry;
                found = found ? found : entry;
        }
        return found;
}

static bool is_configuration(const struct tree *tree) {
        return strcmp(doctor_config_text(tree_root(tree), "kind"), KIND) == 0;
}

/* Does the second scheduler of deploy/ mount the ConfigMap? */
static bool is_mounted(const struct doctor_facts *facts, const char *config_map) {
        const json_t *volumes = json_at(doctor_pod_spec(facts, DOCTOR_SCHEDULER), "volumes", NULL);

        return json_find_at(config_map, volumes, "configMap", "name", NULL) != NULL;
}

/* kustomize names each configuration by its content, and old ones stay. */
static bool is_left(const struct doctor_facts *facts, const json_t *map, const char *name) {
        return doctor_has(facts, DOCTOR_SCHEDULER) && !is_mounted(facts, name) &&
               json_is_at("plimsoll-scheduler", map, "metadata", "labels", "app.kubernetes.io/name",
                          NULL);
}

static void search_text(struct doctor_facts *facts, const char *map, const json_t *value) {
        const char *text = json_string_value(value);
        _cleanup_(tree_freep) struct tree *tree = NULL;
        bool is_ours = is_mounted(facts, map);

        if (!text || !strstr(text, KIND) || facts->config_count == DOCTOR_MAX_CONFIGS ||
            tree_parse(text, json_string_length(value), &tree, NULL) < 0 ||
            !is_configuration(tree) || !(is_ours || find_entry(facts, tree)))
                return;
        facts->configs[facts->config_count++] = (struct doctor_config){
                .from = xasprintf("ConfigMap %.64s", map),
                .is_mounted = is_ours,
                .tree = TAKE_PTR(tree)};
}

static void search_maps(struct doctor_facts *facts) {
        const json_t *maps = json_at(facts->objects[DOCTOR_CONFIG_MAPS].json, "items", NULL);

        for (size_t i = 0; i < json_array_size(maps); i++) {
                const json_t *map = json_array_get(maps, i);
                const char *found = json_string_at(map, "metadata", "name", NULL);
                const char *name = found ? found : "", *key;
                json_t *value;
                if (is_left(facts, map, name))
                        continue;
                json_object_foreach (json_at(map, "data", NULL), key, value)
                        search_text(facts, name, value);
        }
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
        if (!is_configuration(tree))
                return error_set(err, EINVAL, "%s: no " KIND, file_input_name(path));
        *ret = TAKE_PTR(tree);
        return 0;
}

void doctor_config_find(struct doctor_facts *facts) {
        if (facts->config_count == 0)
                search_maps(facts);
        for (size_t i = 0; i < facts->config_count; i++) {
                struct doctor_config *config = &facts->configs[i];
                config->entry = find_entry(facts, config->tree);
                if (!facts->config || !facts->config->entry)
                        facts->config = config;
        }
}

void doctor_config_done(struct doctor_facts *facts) {
        for (size_t i = 0; i < facts->config_count; i++) {
                free(facts->configs[i].from);
                if (!facts->configs[i].is_file)
                        tree_free(facts->configs[i].tree);
        }
}
