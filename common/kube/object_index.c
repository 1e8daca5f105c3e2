#include "kube/object_index.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"

/* Names are DNS subdomains, namespaces labels; uids are UUIDs, but opaque. */
enum { NAME_MAX_BYTES = 253, UID_MAX_BYTES = 128, KEY_MAX_BYTES = 2 * NAME_MAX_BYTES + 2 };

struct held {
        uint32_t generation;
        char uid[];
};

struct identity {
        char key[KEY_MAX_BYTES]; /* "namespace/name"; "/name" without a namespace */
        size_t key_len;
        const char *uid;
};

void object_index_done(struct object_index *index) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &index->entries)
                free(entry->value);
        strmap_done(&index->entries);
}

static bool is_usable(const char *text, size_t max_bytes) {
        return text && strnlen(text, max_bytes + 1) <= max_bytes && !strchr(text, '/');
}

static bool identify(const json_t *object, struct identity *ret) {
        const json_t *metadata = json_at(object, "metadata", NULL);
        const char *name = json_string_at(metadata, "name", NULL);
        const char *name_space = json_string_at(metadata, "namespace", NULL);
        const char *uid = json_string_at(metadata, "uid", NULL);

        if (!is_usable(name, NAME_MAX_BYTES) || !*name)
                return false;
        if (name_space && !is_usable(name_space, NAME_MAX_BYTES))
                return false;
        if (uid && !is_usable(uid, UID_MAX_BYTES))
                return false;
        int len = snprintf(ret->key, sizeof(ret->key), "%s/%s", name_space ? name_space : "", name);
        ret->key_len = (size_t)len;
        ret->uid = uid ? uid : "";
        return true;
}

static json_t *synthesise(const char *key, const char *uid) {
        const char *slash = strchr(key, '/');

        return json_pack("{s:{s:s, s:s, s:o*}}", "metadata", "name", slash + 1, "uid", uid,
                         "namespace",
                         slash > key ? json_stringn(key, (size_t)(slash - key)) : NULL);
}

static struct held *held_new(const char *uid, uint32_t generation) {
        size_t uid_bytes = strlen(uid) + 1;
        struct held *held = xmalloc(sizeof(*held) + uid_bytes);

        held->generation = generation;
        memcpy(held->uid, uid, uid_bytes);
        return held;
}

enum object_sight object_index_see(struct object_index *index, const json_t *object,
                                   json_t **ret_old) {
        struct identity identity;

        *ret_old = NULL;
        if (!identify(object, &identity))
                return OBJECT_UNUSABLE;
        struct held *held = strmap_get(&index->entries, identity.key, identity.key_len);
        if (held && strcmp(held->uid, identity.uid) == 0) {
                held->generation = index->generation;
                return OBJECT_KNOWN;
        }
        if (!held && index->entries.len >= index->max_objects)
                return OBJECT_OVER_LIMIT;
        (void)strmap_put(&index->entries, identity.key, identity.key_len,
                         held_new(identity.uid, index->generation));
        if (!held)
                return OBJECT_NEW;
        *ret_old = synthesise(identity.key, held->uid);
        free(held);
        return OBJECT_REPLACED;
}

bool object_index_remove(struct object_index *index, const json_t *object) {
        struct identity identity;

        if (!identify(object, &identity))
                return false;
        struct held *held = strmap_remove(&index->entries, identity.key, identity.key_len);
        free(held);
        return held;
}

json_t *object_index_sweep(struct object_index *index, size_t *position) {
        struct strmap_entry *entry;

        while ((entry = strmap_next(&index->entries, position)) != NULL) {
                struct held *held = entry->value;
                if (held->generation == index->generation)
                        continue;
                json_t *object = synthesise(entry->key, held->uid);
                (void)strmap_remove(&index->entries, entry->key, entry->key_len);
                free(held);
                return object;
        }
        return NULL;
}
