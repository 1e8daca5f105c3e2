#include "codec/yaml_write.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/number.h"
#include "codec/json.h"

/* @node: what libyaml added; 0: it lacks memory */
static int must_add(int node) {
        if (!node)
                mem_exhausted();
        return node;
}

static int add_scalar(yaml_document_t *document, const char *text, size_t len,
                      yaml_scalar_style_t style) {
        return must_add(yaml_document_add_scalar(document, NULL, (const yaml_char_t *)text,
                                                 (int)len, style));
}

static int add_key(yaml_document_t *document, const char *key) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        /* YAML 1.1 reads words such as y and no as booleans. */
        bool is_plain = strlen(key) > 3 && strspn(key, plain) == strlen(key) &&
                        strcasecmp(key, "null") != 0 && strcasecmp(key, "true") != 0 &&
                        strcasecmp(key, "false") != 0;

        return add_scalar(document, key, strlen(key),
                          is_plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static int add_value(yaml_document_t *document, const json_t *json) {
        char text[NUMBER_TEXT_MAX];
        const char *key;
        json_t *value;
        size_t i;
        int node;

        switch (json_typeof(json)) {
        case JSON_OBJECT:
                node = must_add(
                        yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE));
                json_object_foreach (json_iterable(json), key, value) {
                        int key_node = add_key(document, key);
                        (void)must_add(yaml_document_append_mapping_pair(
                                document, node, key_node, add_value(document, value)));
                }
                return node;
        case JSON_ARRAY:
                node = must_add(
                        yaml_document_add_sequence(document, NULL, YAML_BLOCK_SEQUENCE_STYLE));
                json_array_foreach (json, i, value)
                        (void)must_add(yaml_document_append_sequence_item(
                                document, node, add_value(document, value)));
                return node;
        case JSON_STRING:
                return add_scalar(document, json_string_value(json), json_string_length(json),
                                  YAML_DOUBLE_QUOTED_SCALAR_STYLE);
        case JSON_REAL:
                number_format(json_real_value(json), text);
                break;
        case JSON_INTEGER:
        case JSON_TRUE:
        case JSON_FALSE:
        case JSON_NULL:
                text[json_dumpb(json, text, sizeof(text) - 1, JSON_ENCODE_ANY)] = '\0';
                break;
        }
        return add_scalar(document, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

void yaml_write(const json_t *root, FILE *out) {
        yaml_emitter_t emitter;
        yaml_document_t document;

        if (!yaml_emitter_initialize(&emitter) ||
            !yaml_document_initialize(&document, NULL, NULL, NULL, true, true))
                mem_exhausted();
        yaml_emitter_set_output_file(&emitter, out);
        yaml_emitter_set_unicode(&emitter, true);
        yaml_emitter_set_width(&emitter, -1);
        (void)add_value(&document, root ? root : json_null());
        (void)(yaml_emitter_dump(&emitter, &document) && yaml_emitter_close(&emitter));
        if (emitter.error == YAML_MEMORY_ERROR)
                mem_exhausted();
        yaml_emitter_delete(&emitter);
}
