#include "kube/object_index.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "codec/skim_fields.h"

/* Names are DNS subdomains, and namespaces DNS labels. Uids are UUIDs, but opaque. */
enum { NAME_MAX_BYTES = 253, UID_MAX_BYTES = 128, KEY_MAX_BYTES = 2 * NAME_MAX_BYTES + 2 };

struct known_object {
        uint64_t hash;
        uint32_t generation;
        char uid[];
};

struct identity {
        char key[KEY_MAX_BYTES]; /* "namespace/name"; "/name" without a namespace */
        size_t key_len;
        char uid[UID_MAX_BYTES + 1];
        uint64_t hash; /* of the text without the resourceVersion */
};

void object_index_done(struct object_index *index) {
        strmap_done_values(&index->entries);
}

static json_t *synthesise(const char *key, const char *uid) {
        const char *slash = strchr(key, '/');

        return json_pack("{s:{s:s, s:s, s:o*}}", "metadata", "name", slash + 1, "uid", uid,
                         "namespace",
                         slash > key ? json_stringn(key, (size_t)(slash - key)) : NULL);
}

static struct known_object *known_new(const char *uid, uint64_t hash, uint32_t generation) {
        size_t uid_bytes = strlen(uid) + 1;
        struct known_object *known = xmalloc(sizeof(*known) + uid_bytes);

        known->hash = hash;
        known->generation = generation;
        memcpy(known->uid, uid, uid_bytes);
        return known;
}

struct outline {
        struct skim_string name, namespace, uid, version; /* of the metadata; len 0: missing */
};

static const struct skim_field outline_fields[] = {
        SKIM_TEXT("name", struct outline, name),
        SKIM_TEXT("namespace", struct outline, namespace),
        SKIM_TEXT("uid", struct outline, uid),
        SKIM_TEXT("resourceVersion", struct outline, version),
        {0},
};

/* Return: false if the metadata is missing, or if no API server would write it */
static bool find_outline(const char *text, size_t len, struct outline *ret) {
        const struct skim_string none = {"", 0, false};
        struct skim_string key;
        struct skim skim;

        *ret = (struct outline){none, none, none, none};
        skim_init(&skim, text, len);
        for (skim_enter(&skim); skim_member(&skim, &key) == SKIM_MORE;) {
                if (skim_is(&key, "metadata"))
                        return skim_fields(&skim, outline_fields, ret) && !skim.has_odd_text;
                if (!skim_value(&skim))
                        return false;
        }
        return false;
}

static bool is_part_of_key(const struct skim_string *part, size_t max_bytes) {
        return part->len <= max_bytes && !memchr(part->text, '/', part->len);
}

static uint64_t hash_text(const char *text, size_t len, const struct skim_string *version) {
        size_t head = version->len > 0 ? (size_t)(version->text - text) : 0;
        size_t tail = head + version->len;

        return strmap_hash(text, head) * 3 + strmap_hash(text + tail, len - tail);
}

static bool identify_object(const char *text, size_t len, struct identity *ret) {
        struct outline outline;

        if (!find_outline(text, len, &outline) || outline.name.len == 0 ||
            !is_part_of_key(&outline.name, NAME_MAX_BYTES) ||
            !is_part_of_key(&outline.namespace, NAME_MAX_BYTES) ||
            !is_part_of_key(&outline.uid, UID_MAX_BYTES))
                return false;
        ret->key_len = (size_t)snprintf(ret->key, sizeof(ret->key), "%.*s/%.*s",
                                        (int)outline.namespace.len, outline.namespace.text,
                                        (int)outline.name.len, outline.name.text);
        (void)snprintf(ret->uid, sizeof(ret->uid), "%.*s", (int)outline.uid.len, outline.uid.text);
        ret->hash = hash_text(text, len, &outline.version);
        return true;
}

enum object_sight object_index_see(struct object_index *index, const char *text, size_t len,
                                   json_t **ret_old) {
        struct identity identity;

        *ret_old = NULL;
        if (!identify_object(text, len, &identity))
                return OBJECT_UNUSABLE;
        struct known_object *known = strmap_get(&index->entries, identity.key, identity.key_len);
        if (known && strcmp(known->uid, identity.uid) == 0) {
                bool is_same = known->hash == identity.hash;
                known->generation = index->generation;
                known->hash = identity.hash;
                return is_same ? OBJECT_SAME : OBJECT_KNOWN;
        }
        if (!known && index->entries.len >= index->max_objects)
                return OBJECT_OVER_LIMIT;
        (void)strmap_put(&index->entries, identity.key, identity.key_len,
                         known_new(identity.uid, identity.hash, index->generation));
        if (!known)
                return OBJECT_NEW;
        *ret_old = synthesise(identity.key, known->uid);
        free(known);
        return OBJECT_REPLACED;
}

bool object_index_remove(struct object_index *index, const char *text, size_t len) {
        struct identity identity;

        if (!identify_object(text, len, &identity))
                return false;
        struct known_object *known = strmap_remove(&index->entries, identity.key, identity.key_len);
        free(known);
        return known;
}

json_t *object_index_sweep(struct object_index *index, size_t *position) {
        struct strmap_entry *entry;

        while ((entry = strmap_next(&index->entries, position)) != NULL) {
                struct known_object *known = entry->value;
                if (known->generation == index->generation)
                        continue;
                json_t *object = synthesise(entry->key, known->uid);
                (void)strmap_remove(&index->entries, entry->key, entry->key_len);
                free(known);
                return object;
        }
        return NULL;
}
