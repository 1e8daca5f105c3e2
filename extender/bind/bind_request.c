#include "extender/bind/bind_request.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/name.h"
#include "codec/skim_fields.h"

static bool is_label(const char *text, size_t len) {
        return name_is_made_of(text, len, SIZE_MAX, NAME_LOWER "-", "-", "-");
}

static bool is_pod_namespace(const char *text) {
        return is_label(text, strlen(text));
}

/* Labels separated by dots. Only the total length has a limit, as in Kubernetes. */
static bool is_subdomain(const char *text) {
        for (;;) {
                size_t len = strcspn(text, ".");
                if (!is_label(text, len))
                        return false;
                if (text[len] == '\0')
                        return true;
                text += len + 1;
        }
}

static bool is_uid(const char *text) {
        return name_is_made_of(text, strlen(text), BIND_UID_MAX, NAME_ANY "-._", "", "");
}

/* @what: the kind of value, for the error */
static int take_member(const struct skim_string *value, const char *member,
                       bool (*is_valid)(const char *text), const char *what, char *ret, size_t size,
                       struct error *err) {
        if (skim_decode(value, ret, size) && is_valid(ret))
                return 0;
        return error_set(err, EINVAL, "%s '%.64s' is not a valid %s", member, ret, what);
}

int bind_request_parse(struct bind_request *ret, const char *text, size_t len, struct error *err) {
        struct args {
                struct skim_string pod_namespace, pod_name, pod_uid, node;
        } args = {0};
        static const struct skim_field fields[] = {
                SKIM_VALUE("PodNamespace", struct args, pod_namespace, skim_field_any_text),
                SKIM_VALUE("PodName", struct args, pod_name, skim_field_any_text),
                SKIM_VALUE("PodUID", struct args, pod_uid, skim_field_any_text),
                SKIM_VALUE("Node", struct args, node, skim_field_any_text),
                {0},
        };
        struct bind_request request;
        struct skim skim;

        if (len > BIND_REQUEST_MAX_BYTES)
                return error_set(err, E2BIG, "%zu bytes, expected at most %d", len,
                                 BIND_REQUEST_MAX_BYTES);
        skim_init(&skim, text, len);
        if (skim_peek(&skim) != '{' || !skim_fields_any_case(&skim, fields, &args) ||
            !skim_at_end(&skim))
                return error_set(err, EBADMSG,
                                 "byte %td of %zu: expected the JSON of an ExtenderBindingArgs "
                                 "object",
                                 skim.at - text, len);

        const struct {
                const struct skim_string *value;
                const char *member;
                bool (*is_valid)(const char *text);
                const char *what;
                char *to;
                size_t size;
        } members[] = {
                {&args.pod_namespace, "PodNamespace", is_pod_namespace, "namespace",
                 request.pod_namespace, sizeof(request.pod_namespace)},
                {&args.pod_name, "PodName", is_subdomain, "pod name", request.pod_name,
                 sizeof(request.pod_name)},
                {&args.pod_uid, "PodUID", is_uid, "UID", request.pod_uid, sizeof(request.pod_uid)},
                {&args.node, "Node", is_subdomain, "node name", request.node, sizeof(request.node)},
        };
        for (size_t i = 0; i < ARRAY_LEN(members); i++) {
                int r = take_member(members[i].value, members[i].member, members[i].is_valid,
                                    members[i].what, members[i].to, members[i].size, err);
                if (r < 0)
                        return r;
        }
        *ret = request;
        return 0;
}
