/*
 * What the unit test and the fuzzer hold the reading of requests to: it finds what a plain
 * computation on jansson's tree finds, and refuses what that refuses. What it takes is JSON, for it
 * goes into a reply as it stands.
 */
#pragma once

#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "extender/answer/request.h"
#include "tests/unit/fixture/pod_property.h"
#include "tests/unit/fixture/property.h"

/* LENIENT: with what jansson cannot hold; ODD: with repeated fields, or deep nesting. Of neither
 * more is known than that it is JSON. */
enum request_property { REQUEST_REFUSED, REQUEST_READ, REQUEST_LENIENT, REQUEST_ODD };

/* The field @name in any case of letters; @ret_count: how many there are. */
static inline const json_t *request_field(const json_t *root, const char *name, size_t *ret_count) {
        const json_t *found = NULL;
        const char *key;
        json_t *value;

        *ret_count = 0;
        json_object_foreach ((json_t *)(uintptr_t)root, key, value)
                if (strcasecmp(key, name) == 0) {
                        found = json_is_null(value) ? NULL : value;
                        ++*ret_count;
                }
        return found;
}

static inline size_t request_depth(const json_t *json) {
        size_t deepest = 0;
        const char *key;
        json_t *value;

        for (size_t i = 0; i < json_array_size(json); i++) {
                size_t depth = request_depth(json_array_get(json, i));
                deepest = size_max(deepest, depth);
        }
        json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
                size_t depth = request_depth(value);
                deepest = size_max(deepest, depth);
        }
        return json_is_array(json) || json_is_object(json) ? deepest + 1 : 0;
}

static inline bool request_name_is(const struct request_node *node, const json_t *name) {
        const struct skim_string raw = {node->name, node->name_bytes, true};
        char *text = xmalloc(node->name_bytes + 1);
        bool is_text = skim_decode(&raw, text, node->name_bytes + 1);
        const char *expected = json_is_string(name) ? json_string_value(name) : "";

        bool is_same = is_text ? strcmp(text, expected) == 0
                               : strlen(expected) < json_string_length(name); /* a NUL */
        free(text);
        return is_same;
}

static inline bool request_json_is(const struct request_node *node, const json_t *expected) {
        json_t *json = json_loadb(node->json, node->json_bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                                  NULL);
        bool is_equal = json && json_equal(json, expected);

        json_decref(json);
        return is_equal;
}

/* Whether every candidate is what jansson's @list has. */
static inline bool request_has(const struct request *request, const json_t *list, bool are_names) {
        if (request->has_names != are_names || request->count != json_array_size(list))
                return false;
        for (size_t i = 0; i < request->count; i++) {
                const json_t *item = json_array_get(list, i);
                const json_t *metadata = json_object_get(item, "metadata");
                if (!request_name_is(&request->nodes[i],
                                     are_names ? item : json_object_get(metadata, "name")) ||
                    !request_json_is(&request->nodes[i], item))
                        return false;
        }
        return true;
}

static inline bool request_all_are(const json_t *list, json_type type) {
        bool are = json_is_array(list) || !list || json_is_null(list);

        for (size_t i = 0; i < json_array_size(list); i++)
                are &= json_typeof(json_array_get(list, i)) == type;
        return are;
}

/* Aborts when the property is broken. Return: what became of the document */
static inline enum request_property request_property_check(const void *data, size_t len) {
        struct request request = REQUEST_NULL;
        size_t pods, names, lists;
        json_t *root = NULL;
        /* An exact copy, so that a read past the end is seen. */
        char *text = xmalloc(len);

        if (len > 0)
                memcpy(text, data, len);
        bool is_read = request_parse(&request, text, len, REQUEST_MAX_NODES, NULL) == 0;
        bool is_json = pod_is_json(text, len, &root);
        json_t *unique = json_loadb(text, len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
        const json_t *pod = request_field(root, "Pod", &pods);
        const json_t *node_names = request_field(root, "NodeNames", &names);
        const json_t *nodes = request_field(root, "Nodes", &lists);
        const json_t *items = json_object_get(nodes, "items");
        enum request_property way = is_read ? REQUEST_READ : REQUEST_REFUSED;

        PROPERTY(!is_read || is_json);
        for (size_t i = 0; i < request.count; i++) {
                const struct request_node *node = &request.nodes[i];
                PROPERTY(node->json >= text && node->json + node->json_bytes <= text + len);
                PROPERTY(i == 0 || node->json > node[-1].json + node[-1].json_bytes);
        }
        if (is_read && !root) {
                way = REQUEST_LENIENT;
        } else if (memchr(text, '\0', len)) { /* which jansson drops behind a word such as true */
                PROPERTY(!is_read);
        } else if (json_is_object(root) && (!unique || pods > 1 || names > 1 || lists > 1 ||
                                            request_depth(root) > SKIM_MAX_DEPTH)) {
                way = is_read ? REQUEST_ODD : REQUEST_REFUSED;
        } else {
                bool are_well = json_is_object(root) && request_all_are(node_names, JSON_STRING);
                bool are_nodes = (!nodes || json_is_object(nodes)) &&
                                 request_all_are(items, JSON_OBJECT);
                /* Nodes that come after names are not looked at. */
                PROPERTY(is_read ? are_well && (are_nodes || node_names)
                                 : !(are_well && are_nodes));
                if (is_read)
                        PROPERTY(request_has(&request, node_names ? node_names : items,
                                             node_names != NULL));
                if (is_read && !memchr(text, '\\', len))
                        pod_compare(&request.pod, pod);
        }
        json_decref(root);
        json_decref(unique);
        request_done(&request);
        free(text);
        return way;
}
