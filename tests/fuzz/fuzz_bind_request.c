/* Whatever is accepted can stand in a path and in a JSON string as it is. */
#include "fuzz.h"

#include <string.h>

#include "extender/bind/bind_request.h"
#include "tests/unit/fixture/property.h"

static void check(const char *text, size_t max) {
        size_t len = strlen(text);

        PROPERTY(len > 0 && len <= max);
        PROPERTY(strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-._") == len);
}

/* A segment of its own: not "." or "..", nor anything that begins or ends with a dot. */
static void check_name(const char *text, size_t max) {
        check(text, max);
        PROPERTY(text[0] != '.' && text[strlen(text) - 1] != '.' && !strstr(text, ".."));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct bind_request request;
        /* An exact copy, so that a read past the end is seen. */
        const char *text = (const char *)data;

        if (bind_request_parse(&request, text, size, NULL) == 0) {
                check_name(request.pod_namespace, BIND_NAMESPACE_MAX);
                check_name(request.pod_name, BIND_NAME_MAX);
                check_name(request.node, BIND_NAME_MAX);
                check(request.pod_uid, BIND_UID_MAX);
        }
        return 0;
}
