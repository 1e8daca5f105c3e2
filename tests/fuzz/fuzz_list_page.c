/*
 * A list page taken apart in its text, against jansson on the whole: what one reads, the other
 * reads too, and the same. But jansson also refuses what is not read, such as 1e999.
 */
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "codec/skim.h"
#include "fuzz.h"
#include "kube/list_page.h"

/* Items that jansson cannot hold (numbers, halves of surrogate pairs) are noted as null. */
static void note(void *userdata, const char *text, size_t len) {
        json_t *items = userdata;
        json_t *object = NULL;

        if (json_parse(text, len, &object, NULL) < 0)
                object = json_null();
        if (json_array_append_new(items, object) < 0)
                mem_exhausted();
}

static bool is_ascii(const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)text[i] >= 0x80)
                        return false;
        return true;
}

static bool holds_null(const json_t *items) {
        for (size_t i = 0; i < json_array_size(items); i++)
                if (json_is_null(json_array_get(items, i)))
                        return true;
        return false;
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
        const char *text = (const char *)data;
        json_auto_t *items = json_array();
        json_auto_t *whole = NULL;
        struct list_page page = {0};

        if (!items)
                mem_exhausted();
        /* Past the skimmer's limit of nesting, or of what a key may be, the two may differ. */
        bool is_deep = occurrences(text, size, "[") + occurrences(text, size, "{") > SKIM_MAX_DEPTH;
        bool is_odd = is_deep || !is_ascii(text, size) || occurrences(text, size, "\\") > 0 ||
                      occurrences(text, size, "\"items\"") != 1;
        bool is_whole = json_parse(text, size, &whole, NULL) == 0 && is_list(whole);
        bool is_page = list_page_parse(text, size, NULL, note, items, &page, NULL) == 0;

        if (is_page && whole && !holds_null(items)) {
                const json_t *expected = json_at(whole, "items", NULL);
                const char *next = json_string_at(whole, "metadata", "continue", NULL);
                require(is_whole && page.count == json_array_size(expected));
                require(page.count == 0 || json_equal(items, expected));
                require(strcmp(page.resource_version,
                               json_string_at(whole, "metadata", "resourceVersion", NULL)) == 0);
                require(strcmp(page.continue_token ? page.continue_token : "", next ? next : "") ==
                        0);
        }
        require(!is_whole || is_odd || is_page);
        list_page_done(&page);
        return 0;
}
