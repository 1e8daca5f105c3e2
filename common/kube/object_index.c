#include "kube/object_index.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "codec/skim.h"

/* Names are DNS subdomains, namespaces labels; uids are UUIDs, but opaque. */
enum { NAME_MAX_BYTES = 253, UID_MAX_BYTES = 128, KEY_MAX_BYTES = 2 * NAME_MAX_BYTES + 2 };

struct held {
        uint64_t hash;
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
        const char *namespace = json_string_at(metadata, "namespace", NULL);
        const char *uid = json_string_at(metadata, "uid", NULL);

        if (!is_usable(name, NAME_MAX_BYTES) || !*name)
                return false;
        if (namespace && !is_usable(namespace, NAME_MAX_BYTES))
                return false;
        if (uid && !is_usable(uid, UID_MAX_BYTES))
                return false;
        int len = snprintf(ret->key, sizeof(ret->key), "%s/%s", namespace ? namespace : "", name);
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

static struct held *held_new(const char *uid, uint64_t hash, uint32_t generation) {
        size_t uid_bytes = strlen(uid) + 1;
        struct held *held = xmalloc(sizeof(*held) + uid_bytes);

        held->hash = hash;
        held->generation = generation;
        memcpy(held->uid, uid, uid_bytes);
        return held;
}

/* Of an object's metadata, as far as it is plain text. */
struct outline {
        struct skim_string name, namespace, version;
};

static bool skim_metadata(struct skim *skim, struct outline *outline) {
        struct skim_string key;
        enum skim_step step;

        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;) {
                bool ok = skim_is(&key, "name")        ? skim_plain_text(skim, &outline->name)
                          : skim_is(&key, "namespace") ? skim_plain_text(skim, &outline->namespace)
                          : skim_is(&key, "resourceVersion")
                                  ? skim_plain_text(skim, &outline->version)
                                  : skim_value(skim);
                if (!ok)
                        return false;
        }
        return step == SKIM_END;
}

/* Return: false when there is no metadata, or something that only jansson reads */
static bool skim_outline(const char *text, size_t len, struct outline *ret) {
        const struct skim_string none = {"", 0, false};
        struct skim_string key;
        struct skim skim;

        *ret = (struct outline){none, none, none};
        skim_init(&skim, text, len);
        for (skim_enter(&skim); skim_member(&skim, &key) == SKIM_MORE;) {
                if (skim_is(&key, "metadata"))
                        return skim_peek(&skim) == '{' && skim_metadata(&skim, ret);
                if (!skim_value(&skim))
                        return false;
        }
        return false;
}

/* Of the text without its version. */
static uint64_t hash_text(const char *text, size_t len, const struct skim_string *version) {
        size_t head = version->len > 0 ? (size_t)(version->text - text) : 0;
        size_t tail = head + version->len;

        return strmap_hash(text, head) * 3 + strmap_hash(text + tail, len - tail);
}

bool object_index_is_same(struct object_index *index, const char *text, size_t len,
                          uint64_t *ret_hash) {
        struct outline outline;
        char key[KEY_MAX_BYTES];

        bool is_plain = skim_outline(text, len, &outline);
        *ret_hash = hash_text(text, len, &outline.version);
        if (!is_plain || outline.name.len > NAME_MAX_BYTES ||
            outline.namespace.len > NAME_MAX_BYTES)
                return false;
        int key_len = snprintf(key, sizeof(key), "%.*s/%.*s", (int)outline.namespace.len,
                               outline.namespace.text, (int)outline.name.len, outline.name.text);
        struct held *held = strmap_get(&index->entries, key, (size_t)key_len);
        if (!held || held->hash != *ret_hash)
                return false;
        held->generation = index->generation;
        return true;
}

enum object_sight object_index_see(struct object_index *index, const json_t *object, uint64_t hash,
                                   json_t **ret_old) {
        struct identity identity;

        *ret_old = NULL;
        if (!identify(object, &identity))
                return OBJECT_UNUSABLE;
        struct held *held = strmap_get(&index->entries, identity.key, identity.key_len);
        if (held && strcmp(held->uid, identity.uid) == 0) {
                held->generation = index->generation;
                held->hash = hash;
                return OBJECT_KNOWN;
        }
        if (!held && index->entries.len >= index->max_objects)
                return OBJECT_OVER_LIMIT;
        (void)strmap_put(&index->entries, identity.key, identity.key_len,
                         held_new(identity.uid, hash, index->generation));
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
