/*
 * What the unit test and the fuzzer hold the two request parsers to: on every document that jansson
 * accepts, the skimmer either passes or finds the same; and what the skimmer takes is JSON, for it
 * goes into a reply as it stands.
 */
#pragma once

#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "extender/answer/request.h"
#include "tests/unit/fixture/property.h"

static inline bool request_text_equal(struct skim_string a, struct skim_string b) {
        return a.len == b.len && (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

static inline bool request_pod_equal(const struct pod_facts *a, const struct pod_facts *b) {
        return a->id == b->id && request_text_equal(a->namespace, b->namespace) &&
               request_text_equal(a->name, b->name) && request_text_equal(a->uid, b->uid) &&
               request_text_equal(a->node, b->node) && a->workload_len == b->workload_len &&
               memcmp(a->workload, b->workload, a->workload_len) == 0 &&
               memcmp(&a->request, &b->request, sizeof(a->request)) == 0 &&
               a->bound_unix_ms == b->bound_unix_ms && a->runs_unix_ms == b->runs_unix_ms &&
               a->is_finished == b->is_finished && a->is_daemonset == b->is_daemonset &&
               a->has_preferences == b->has_preferences;
}

static inline bool request_json_equal(const struct request_node *a, const struct request_node *b) {
        json_t *left = json_loadb(a->json, a->json_bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        json_t *right = json_loadb(b->json, b->json_bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        bool is_equal = left && right && json_equal(left, right);

        json_decref(left);
        json_decref(right);
        return is_equal;
}

/* Whether it is JSON, by jansson, but for what jansson cannot hold. */
static inline bool request_is_json(const char *text, size_t len) {
        json_error_t error;
        json_t *json = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

        if (!json)
                return json_error_code(&error) == json_error_numeric_overflow ||
                       json_error_code(&error) == json_error_null_byte_in_key ||
                       strstr(error.text, "invalid Unicode '\\u"); /* half a pair */
        json_decref(json);
        return true;
}

enum request_property { REQUEST_REFUSED, REQUEST_STRICT, REQUEST_SKIMMED, REQUEST_LENIENT };

/* Aborts when the property is broken. Return: which way the document went */
static inline enum request_property request_property_check(const void *data, size_t len) {
        struct request skimmed = REQUEST_NULL, strict = REQUEST_NULL, parsed = REQUEST_NULL;
        enum request_property way;
        /* An exact copy, so that a read past the end is seen. */
        char *text = xmalloc(len);

        if (len > 0)
                memcpy(text, data, len);
        bool is_skimmed = request_skim(&skimmed, text, len);
        bool is_strict = request_parse_strict(&strict, text, len, NULL) == 0;
        PROPERTY((request_parse(&parsed, text, len, NULL) == 0) == (is_skimmed || is_strict));
        way = is_skimmed ? (is_strict ? REQUEST_SKIMMED : REQUEST_LENIENT)
                         : (is_strict ? REQUEST_STRICT : REQUEST_REFUSED);
        PROPERTY(!is_skimmed || request_is_json(text, len));
        if (way == REQUEST_SKIMMED) {
                PROPERTY(skimmed.has_names == strict.has_names);
                PROPERTY(request_pod_equal(&skimmed.pod, &strict.pod));
                PROPERTY(skimmed.count == strict.count);
                for (size_t i = 0; i < skimmed.count; i++) {
                        const struct request_node *a = &skimmed.nodes[i], *b = &strict.nodes[i];
                        PROPERTY(a->name_bytes == b->name_bytes);
                        PROPERTY(memcmp(a->name, b->name, a->name_bytes) == 0);
                        PROPERTY(request_json_equal(a, b));
                        PROPERTY(a->json >= text && a->json + a->json_bytes <= text + len);
                        PROPERTY(i == 0 || a->json > skimmed.nodes[i - 1].json +
                                                             skimmed.nodes[i - 1].json_bytes);
                }
        }
        request_done(&skimmed);
        request_done(&strict);
        request_done(&parsed);
        free(text);
        return way;
}
