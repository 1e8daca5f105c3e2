#include "kube/reflector_request.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "kube/kube_api.h"
#include "kube/kube_path.h"

static void add_path_query(struct buf *path, const char *name, const char *value) {
        _cleanup_(freep) char *escaped = kube_escape(value);

        (void)buf_printf(path, "%c%s=%s", memchr(path->data, '?', path->len) ? '&' : '?', name,
                         escaped);
}

static void add_number(struct buf *path, const char *name, int64_t value) {
        char text[24];

        (void)snprintf(text, sizeof(text), "%lld", (long long)value);
        add_path_query(path, name, text);
}

/* All parts of a path have ceilings of their own, except for the selectors, which we choose. */
static struct buf begin_path(const struct reflector_spec *spec, const char *field_selector) {
        struct buf path = BUF_INIT(SIZE_MAX / 2);

        (void)buf_puts(&path, spec->path);
        if (field_selector)
                add_path_query(&path, "fieldSelector", field_selector);
        if (spec->label_selector)
                add_path_query(&path, "labelSelector", spec->label_selector);
        return path;
}

char *reflector_list_path(const struct reflector_spec *spec, const struct reflector_page *page) {
        struct buf path = begin_path(spec, spec->list_field_selector ? spec->list_field_selector
                                                                     : spec->field_selector);

        add_number(&path, "limit", (int64_t)page->limit);
        if (page->continue_token) {
                add_path_query(&path, "continue", page->continue_token);
        } else if (page->not_older_than) {
                add_path_query(&path, "resourceVersion", page->not_older_than);
                add_path_query(&path, "resourceVersionMatch", "NotOlderThan");
        }
        return buf_take(&path);
}

char *reflector_watch_path(const struct reflector_spec *spec, const char *resource_version,
                           int64_t timeout_s) {
        struct buf path = begin_path(spec, spec->field_selector);

        add_path_query(&path, "watch", "1");
        add_path_query(&path, "resourceVersion", resource_version);
        add_path_query(&path, "allowWatchBookmarks", "true");
        add_number(&path, "timeoutSeconds", timeout_s);
        return buf_take(&path);
}
