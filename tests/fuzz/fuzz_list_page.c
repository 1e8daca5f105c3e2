/*
 * A list page taken apart in its text, against jansson on the whole: what one reads, the other
 * reads too, and the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "fuzz.h"
#include "kube/list_page.h"

static void note(void *userdata, const json_t *object) {
        json_t *items = userdata;
        /* Equal objects are compared below; the borrowed one is gone by then. */
        json_t *copy = json_deep_copy(object);

        if (!copy || json_array_append_new(items, copy) < 0)
                mem_exhausted();
}

static size_t occurrences(const char *text, size_t len, const char *what) {
        size_t count = 0;

        for (const char *at = text;
             (at = memmem(at, len - (size_t)(at - text), what, strlen(what))); at++)
                count++;
        return count;
}

/* What list_page_parse() promises to read, said with jansson. */
static bool is_list(const json_t *root) {
        const char *kind = json_string_at(root, "kind", NULL);
        const char *version = json_string_at(root, "metadata", "resourceVersion", NULL);
        const json_t *items = json_at(root, "items", NULL);

        if (!kind || strlen(kind) < 4 || strcmp(kind + strlen(kind) - 4, "List") != 0)
                return false;
        const char *next = json_string_at(root, "metadata", "continue", NULL);

        if (!version || !*version || strlen(version) > RESOURCE_VERSION_MAX_BYTES ||
            (next && strlen(next) > CONTINUE_TOKEN_MAX_BYTES))
                return false;
        if (!(json_is_array(items) || json_is_null(items)))
                return false;
        for (size_t i = 0; i < json_array_size(items); i++)
                if (!json_is_object(json_array_get(items, i)))
                        return false;
        return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = malloc(size ? size : 1);
        json_auto_t *items = json_array();
        json_auto_t *whole = NULL;
        struct list_page page = {0};

        if (!text || !items)
                mem_exhausted();
        if (size > 0)
                memcpy(text, data, size);
        /* Items stand two levels deep: at jansson's limit of nesting the two must differ. */
        bool is_deep = occurrences(text, size, "[") + occurrences(text, size, "{") > 2000;
        bool is_odd = occurrences(text, size, "\\") > 0 ||
                      occurrences(text, size, "\"items\"") != 1;
        bool is_whole = json_parse(text, size, &whole, NULL) == 0 && is_list(whole);
        bool is_page = list_page_parse(text, size, note, items, &page, NULL) == 0;

        if (is_page && !is_deep) {
                const json_t *expected = json_at(whole, "items", NULL);
                const char *next = json_string_at(whole, "metadata", "continue", NULL);
                if (!is_whole || page.count != json_array_size(expected))
                        abort();
                if (page.count > 0 && !json_equal(items, expected))
                        abort();
                if (strcmp(page.resource_version,
                           json_string_at(whole, "metadata", "resourceVersion", NULL)) != 0)
                        abort();
                if (strcmp(page.continue_token ? page.continue_token : "", next ? next : "") != 0)
                        abort();
        }
        if (is_whole && !is_odd && !is_page)
                abort();
        list_page_done(&page);
        free(text);
        return 0;
}
