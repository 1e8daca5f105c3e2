#include "codec/yaml_write.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/number.h"
#include "codec/json.h"

/* @is_made: what libyaml said when it made the event */
static void emit_event(yaml_emitter_t *emitter, int is_made, yaml_event_t *event) {
        if (!is_made || (!yaml_emitter_emit(emitter, event) && emitter->error == YAML_MEMORY_ERROR))
                mem_exhausted();
}

static void emit_scalar(yaml_emitter_t *emitter, const char *text, size_t len,
                        yaml_scalar_style_t style) {
        yaml_event_t event;

        emit_event(emitter,
                   yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                                (int)len, true, true, style),
                   &event);
}

static void emit_key(yaml_emitter_t *emitter, const char *key) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        /* Words such as y and no are more than letters to YAML 1.1. */
        bool is_plain = strlen(key) > 3 && strspn(key, plain) == strlen(key) &&
                        strcasecmp(key, "null") != 0 && strcasecmp(key, "true") != 0 &&
                        strcasecmp(key, "false") != 0;

        emit_scalar(emitter, key, strlen(key),
                    is_plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static void emit_word(yaml_emitter_t *emitter, const char *text) {
        emit_scalar(emitter, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *json);

static void emit_array(yaml_emitter_t *emitter, const json_t *array) {
        yaml_event_t event;
        const json_t *value;
        size_t i;

        emit_event(emitter,
                   yaml_sequence_start_event_initialize(&event, NULL, NULL, true,
                                                        YAML_BLOCK_SEQUENCE_STYLE),
                   &event);
        json_array_foreach (array, i, value)
                emit_value(emitter, value);
        emit_event(emitter, yaml_sequence_end_event_initialize(&event), &event);
}

static void emit_object(yaml_emitter_t *emitter, const json_t *object) {
        yaml_event_t event;
        const char *key;
        json_t *value;

        emit_event(emitter,
                   yaml_mapping_start_event_initialize(&event, NULL, NULL, true,
                                                       YAML_BLOCK_MAPPING_STYLE),
                   &event);
        json_object_foreach (json_iterable(object), key, value) {
                emit_key(emitter, key);
                emit_value(emitter, value);
        }
        emit_event(emitter, yaml_mapping_end_event_initialize(&event), &event);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *json) {
        char text[NUMBER_TEXT_MAX];

        switch (json_typeof(json)) {
        case JSON_OBJECT:
                emit_object(emitter, json);
                break;
        case JSON_ARRAY:
                emit_array(emitter, json);
                break;
        case JSON_STRING:
                emit_scalar(emitter, json_string_value(json), json_string_length(json),
                            YAML_DOUBLE_QUOTED_SCALAR_STYLE);
                break;
        case JSON_REAL:
                number_format(json_real_value(json), text);
                emit_word(emitter, text);
                break;
        case JSON_INTEGER:
        case JSON_TRUE:
        case JSON_FALSE:
        case JSON_NULL:
                text[json_dumpb(json, text, sizeof(text) - 1, JSON_ENCODE_ANY)] = '\0';
                emit_word(emitter, text);
                break;
        }
}

void yaml_write(const json_t *root, FILE *out) {
        yaml_emitter_t emitter;
        yaml_event_t event;

        if (!yaml_emitter_initialize(&emitter))
                mem_exhausted();
        yaml_emitter_set_output_file(&emitter, out);
        yaml_emitter_set_unicode(&emitter, true);
        yaml_emitter_set_width(&emitter, -1);
        emit_event(&emitter, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING),
                   &event);
        emit_event(&emitter, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, true),
                   &event);
        emit_value(&emitter, root ? root : json_null());
        emit_event(&emitter, yaml_document_end_event_initialize(&event, true), &event);
        emit_event(&emitter, yaml_stream_end_event_initialize(&event), &event);
        yaml_emitter_delete(&emitter);
}
