/* A list in protobuf, of pods or of nodes: whatever it holds, what is handed on is JSON, and as
 * much as is counted. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "codec/skim.h"
#include "fuzz.h"
#include "kube/kube_proto.h"
#include "kube/list_proto.h"

static void check_item(void *userdata, const char *text, size_t len) {
        json_error_t error;
        json_auto_t *object = json_loadb(text, len, JSON_ALLOW_NUL, &error);
        struct skim skim;

        ++*(size_t *)userdata;
        skim_init(&skim, text, len);
        if (!skim_value(&skim) || !skim_at_end(&skim))
                abort();
        if (!object && json_error_code(&error) != json_error_null_byte_in_key)
                abort();
        if (object && !json_is_object(object))
                abort();
}

static void parse(const struct proto_message *message, const char *data, size_t size) {
        struct list_page page = {0};
        size_t items = 0;

        if (list_proto_parse(data, size, message, check_item, &items, &page, NULL) == 0 &&
            (page.count != items || !*page.resource_version))
                abort();
        list_page_done(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *copy = malloc(size ? size : 1); /* exactly, for the sanitizer's sake */

        if (!copy)
                mem_exhausted();
        if (size > 0)
                memcpy(copy, data, size);
        parse(&kube_proto_pod, copy, size);
        parse(&kube_proto_node, copy, size);
        free(copy);
        return 0;
}
