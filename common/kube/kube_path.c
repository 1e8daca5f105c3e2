#include "kube/kube_path.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

char *kube_escape(const char *text) {
        struct buf escaped = BUF_INIT(strlen(text) * 3);

        buf_percent_encode(&escaped, text);
        return buf_take(&escaped);
}

char *kube_path(const char *group, const char *namespace, const char *resource, const char *name,
                const char *suffix) {
        struct buf path = BUF_INIT(SIZE_MAX / 2);

        buf_puts(&path, group);
        if (namespace) {
                buf_puts(&path, "/namespaces/");
                buf_percent_encode(&path, namespace);
        }
        buf_printf(&path, "/%s%s", resource, name ? "/" : "");
        buf_percent_encode(&path, name ? name : "");
        buf_puts(&path, suffix);
        return buf_take(&path);
}
