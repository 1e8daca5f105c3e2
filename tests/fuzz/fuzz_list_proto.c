/*
 * A list in protobuf, of pods or of nodes, twice: whatever it holds, what is handed on is JSON, and
 * as much as is counted; and what counts as seen before is an object that is known.
 */

#include "codec/json.h"
#include "codec/skim.h"
#include "fuzz.h"
#include "kube/kube_proto.h"
#include "kube/list_page.h"
#include "kube/object_index.h"

struct seen {
        struct object_index index;
        size_t items;
};

/* What is handed on twice is the same the second time. */
static void check_index(struct object_index *index, const char *text, size_t len) {
        json_t *old = NULL;

        enum object_sight sight = object_index_see(index, text, len, &old);
        json_decref(old);
        if (sight == OBJECT_UNUSABLE || sight == OBJECT_OVER_LIMIT)
                return;
        require(object_index_see(index, text, len, &old) == OBJECT_SAME && !old);
}

static void check_item(void *userdata, const char *text, size_t len) {
        json_error_t error;
        json_auto_t *object = json_loadb(text, len, JSON_ALLOW_NUL, &error);
        struct seen *seen = userdata;
        struct skim skim;

        seen->items++;
        skim_init(&skim, text, len);
        require(skim_value(&skim) && skim_at_end(&skim));
        require(object || json_error_code(&error) == json_error_null_byte_in_key);
        require(!object || json_is_object(object));
        check_index(&seen->index, text, len);
}

static void parse(const struct proto_message *message, const char *data, size_t size) {
        struct seen seen = {.index = {.max_objects = 100}};

        for (int i = 0; i < 2; i++) {
                struct list_page page = {0};
                seen.items = 0;
                if (list_page_parse(data, size, message, check_item, &seen, &page, NULL) == 0 &&
                    (page.count != seen.items || !*page.resource_version))
                        abort();
                list_page_done(&page);
        }
        object_index_done(&seen.index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *copy = (const char *)data;

        parse(&kube_proto_pod, copy, size);
        parse(&kube_proto_node, copy, size);
        return 0;
}
