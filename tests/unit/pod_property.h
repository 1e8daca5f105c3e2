/*
 * What the unit test and the fuzzer hold the skimmer of pods to: it finds what a plain computation
 * on jansson's tree finds, and refuses what is no JSON.
 */
#pragma once

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "codec/quantity.h"
#include "policy/pods/pod_facts.h"
#include "property.h"

/* A string of ASCII, else "". */
static inline const char *pod_text(const json_t *object, const char *key) {
        const char *text = json_string_value(json_object_get(object, key));

        for (size_t i = 0; text && text[i]; i++)
                if ((unsigned char)text[i] >= 0x80)
                        return "";
        return text ? text : "";
}

static inline int64_t pod_time(const json_t *object, const char *key) {
        const char *text = pod_text(object, key);
        int64_t at_unix_ms = 0;

        return timestamp_parse(text, strlen(text), &at_unix_ms) && at_unix_ms > 0 ? at_unix_ms : 0;
}

/* What @requests says of a resource; negative: nothing that can be read. */
static inline double pod_request(const json_t *requests, const char *resource) {
        const char *text = pod_text(requests, resource);
        double amount = -1;

        return quantity_parse(text, strlen(text), &amount) && amount >= 0 ? amount : -1;
}

static inline const json_t *pod_requests(const json_t *of) {
        return json_object_get(json_object_get(of, "resources"), "requests");
}

static inline double pod_total(const json_t *spec, const char *resource, double most) {
        const json_t *containers = json_object_get(spec, "containers");
        const json_t *init = json_object_get(spec, "initContainers");
        double app = 0, sidecars = 0, starting = 0;

        for (size_t i = 0; i < json_array_size(containers); i++)
                app += fmax(0, pod_request(pod_requests(json_array_get(containers, i)), resource));
        for (size_t i = 0; i < json_array_size(init); i++) {
                const json_t *container = json_array_get(init, i);
                double own = fmax(0, pod_request(pod_requests(container), resource));
                starting = fmax(starting, sidecars + own);
                if (strcmp(pod_text(container, "restartPolicy"), "Always") == 0)
                        sidecars += own;
        }
        double sum = fmax(app + sidecars, starting);
        double given = pod_request(pod_requests(spec), resource);
        double overhead = fmax(0, pod_request(json_object_get(spec, "overhead"), resource));
        return fmin((given >= 0 ? given : sum) + overhead, most);
}

static inline void pod_workload(const json_t *metadata, char *text, size_t text_bytes) {
        const json_t *owners = json_object_get(metadata, "ownerReferences");
        const char *name_space = pod_text(metadata, "namespace");
        const char *hash = pod_text(json_object_get(metadata, "labels"), "pod-template-hash");
        const json_t *owner = NULL;

        text[0] = '\0';
        for (size_t pass = 0; pass < 2 && !owner; pass++)
                for (size_t i = 0; i < json_array_size(owners) && !owner; i++) {
                        const json_t *candidate = json_array_get(owners, i);
                        bool has_name = *pod_text(candidate, "kind") &&
                                        *pod_text(candidate, "name");
                        if (has_name &&
                            (pass == 1 || json_is_true(json_object_get(candidate, "controller"))))
                                owner = candidate;
                }
        const char *kind = pod_text(owner, "kind");
        char *name = xstrdup(pod_text(owner, "name"));
        char *dash = strrchr(name, '-');
        char *suffix = xasprintf("-%s", hash);
        size_t name_len = strlen(name), suffix_len = strlen(suffix);
        if (strcmp(kind, "ReplicaSet") == 0 && *hash && name_len > suffix_len &&
            strcmp(name + name_len - suffix_len, suffix) == 0)
                name[name_len - suffix_len] = '\0';
        else if (strcmp(kind, "Job") == 0 && dash && dash > name && strlen(dash + 1) >= 8 &&
                 strspn(dash + 1, "0123456789") == strlen(dash + 1))
                *dash = '\0';
        if (owner && *name_space && strlen(name_space) <= 63 && strlen(kind) <= 63 &&
            strlen(name) <= 253)
                (void)snprintf(text, text_bytes, "%s/%s/%s", name_space, kind, name);
        free(name);
        free(suffix);
}

static inline int64_t pod_bound(const json_t *pod) {
        const json_t *status = json_object_get(pod, "status");
        const json_t *conditions = json_object_get(status, "conditions");
        int64_t at_unix_ms = 0;

        for (size_t i = 0; i < json_array_size(conditions) && at_unix_ms == 0; i++) {
                const json_t *condition = json_array_get(conditions, i);
                if (strcmp(pod_text(condition, "type"), "PodScheduled") == 0 &&
                    strcmp(pod_text(condition, "status"), "True") == 0)
                        at_unix_ms = pod_time(condition, "lastTransitionTime");
        }
        return at_unix_ms ? at_unix_ms
                          : pod_time(json_object_get(pod, "metadata"), "creationTimestamp");
}

static inline bool pod_has_preferences(const json_t *spec) {
        static const char *const kinds[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
        const json_t *affinity = json_object_get(spec, "affinity");
        const json_t *spread = json_object_get(spec, "topologySpreadConstraints");
        bool has_any = false;

        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                has_any |= json_array_size(json_object_get(
                                   json_object_get(affinity, kinds[i]),
                                   "preferredDuringSchedulingIgnoredDuringExecution")) > 0;
        for (size_t i = 0; i < json_array_size(spread); i++)
                has_any |= strcmp(pod_text(json_array_get(spread, i), "whenUnsatisfiable"),
                                  "ScheduleAnyway") == 0;
        return has_any;
}

static inline bool pod_is_daemonset(const json_t *metadata) {
        const json_t *owners = json_object_get(metadata, "ownerReferences");
        bool is_any = false;

        for (size_t i = 0; i < json_array_size(owners); i++)
                is_any |= strcmp(pod_text(json_array_get(owners, i), "kind"), "DaemonSet") == 0;
        return is_any;
}

static inline bool pod_text_is(const struct skim_string *string, const char *text) {
        return string->len == strlen(text) &&
               (string->len == 0 || memcmp(string->text, text, string->len) == 0);
}

static inline void pod_compare(const struct pod_facts *facts, const json_t *pod) {
        const json_t *metadata = json_object_get(pod, "metadata");
        const json_t *spec = json_object_get(pod, "spec");
        const char *uid = pod_text(metadata, "uid");
        const char *node = pod_text(spec, "nodeName");
        const char *phase = pod_text(json_object_get(pod, "status"), "phase");
        char workload[POD_FACTS_WORKLOAD_MAX + 1];

        pod_workload(metadata, workload, sizeof(workload));
        PROPERTY(facts->id == (*uid ? strmap_hash(uid, strlen(uid)) : 0));
        PROPERTY(pod_text_is(&facts->node, node));
        PROPERTY(pod_text_is(&facts->name, pod_text(metadata, "name")));
        PROPERTY(pod_text_is(&facts->uid, uid));
        PROPERTY(pod_text_is(&facts->name_space, pod_text(metadata, "namespace")));
        PROPERTY(facts->is_daemonset == pod_is_daemonset(metadata));
        PROPERTY(facts->is_mirror == !!json_object_get(json_object_get(metadata, "annotations"),
                                                       "kubernetes.io/config.mirror"));
        PROPERTY(facts->has_preferences == pod_has_preferences(spec));
        PROPERTY(facts->workload_len == strlen(workload));
        PROPERTY(memcmp(facts->workload, workload, facts->workload_len) == 0);
        PROPERTY(facts->request.of[ESTIMATE_CPU] == pod_total(spec, "cpu", 10000));
        PROPERTY(facts->request.of[ESTIMATE_MEM] == pod_total(spec, "memory", 0x1p50));
        PROPERTY(facts->bound_unix_ms == pod_bound(pod));
        PROPERTY(facts->is_finished ==
                 (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0));
}

/* Nothing in it that the skimmer may refuse or read otherwise: escapes, keys that are not ASCII,
 * deep nesting. */
static inline bool pod_is_plain(const char *text, size_t len) {
        size_t brackets = 0;

        for (size_t i = 0; i < len; i++) {
                if (text[i] == '\\' || (unsigned char)text[i] >= 0x80)
                        return false;
                brackets += text[i] == '{' || text[i] == '[';
        }
        return brackets <= SKIM_MAX_DEPTH;
}

/* Whether it is JSON, by jansson, but for what jansson cannot hold. */
static inline bool pod_is_json(const char *text, size_t len, json_t **ret) {
        json_error_t error;

        *ret = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        return *ret || json_error_code(&error) == json_error_numeric_overflow ||
               json_error_code(&error) == json_error_null_byte_in_key ||
               strstr(error.text, "invalid Unicode '\\u"); /* half a pair */
}

/* Aborts when the property is broken; tells whether the text was read. */
static inline bool pod_property_check(const void *data, size_t len) {
        struct pod_facts facts;
        json_t *pod = NULL;
        char *text = xmalloc(len); /* an exact copy, so that a read past the end is seen */

        if (len > 0)
                memcpy(text, data, len);
        bool is_read = pod_facts_skim(&facts, text, len);
        bool is_json = pod_is_json(text, len, &pod);
        PROPERTY(!is_read || is_json);
        if (pod_is_plain(text, len))
                PROPERTY(is_read == is_json || !json_is_object(pod));
        if (is_read && pod) {
                PROPERTY(json_is_object(pod));
                if (!memchr(text, '\\', len))
                        pod_compare(&facts, pod);
        }
        json_decref(pod);
        free(text);
        return is_read;
}
