#include "extender/bind/bind_request.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/name.h"
#include "codec/json.h"

static bool is_label(const char *text, size_t len) {
        return name_is_made_of(text, len, SIZE_MAX, NAME_LOWER "-", "-", "-");
}

static bool is_pod_namespace(const char *text) {
        return is_label(text, strlen(text));
}

/* Labels with a dot between each two; only the whole has a limit, as in Kubernetes. */
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

/* @what: what the member is, for the error */
static int read_member(const json_t *args, const char *member, bool (*is_valid)(const char *text),
                       const char *what, char *ret, size_t size, struct error *err) {
        const json_t *value = json_member(args, member);

        const char *text = json_string_value(value);
        if (value && !text && json_typeof(value) != JSON_NULL)
                return error_set(err, EBADMSG, "%s: expected a string", member);
        if (!text)
                text = "";
        size_t len = json_string_length(value);
        if (len >= size || strlen(text) != len || !is_valid(text))
                return error_set(err, EINVAL, "%s '%.64s' is not a valid %s", member, text, what);
        memcpy(ret, text, len + 1);
        return 0;
}

int bind_request_parse(struct bind_request *ret, const char *text, size_t len, struct error *err) {
        struct bind_request request;
        json_auto_t *args = NULL;

        if (len > BIND_REQUEST_MAX_BYTES)
                return error_set(err, E2BIG, "%zu bytes, expected at most %d", len,
                                 BIND_REQUEST_MAX_BYTES);
        if (json_parse(text, len, &args, err) < 0)
                return -EBADMSG;
        if (json_typeof(args) != JSON_OBJECT)
                return error_set(err, EBADMSG, "expected an ExtenderBindingArgs object");

        const struct {
                const char *member;
                bool (*is_valid)(const char *text);
                const char *what;
                char *value;
                size_t size;
        } members[] = {
                {"PodNamespace", is_pod_namespace, "namespace", request.pod_namespace,
                 sizeof(request.pod_namespace)},
                {"PodName", is_subdomain, "pod name", request.pod_name, sizeof(request.pod_name)},
                {"PodUID", is_uid, "UID", request.pod_uid, sizeof(request.pod_uid)},
                {"Node", is_subdomain, "node name", request.node, sizeof(request.node)},
        };
        for (size_t i = 0; i < ARRAY_LEN(members); i++) {
                int r = read_member(args, members[i].member, members[i].is_valid, members[i].what,
                                    members[i].value, members[i].size, err);
                if (r < 0)
                        return r;
        }
        *ret = request;
        return 0;
}
