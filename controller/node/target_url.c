#include "controller/node/target_url.h"

#include <errno.h>
#include <string.h>

#define NODE_PLACE "{node}"
#define ADDRESS_PLACE "{address}"

static bool begins_with(const char *text, const char *prefix) {
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The length of "http://" or "https://"; 0: @url begins with neither. */
static size_t scheme_len(const char *url) {
        if (begins_with(url, "http://"))
                return strlen("http://");
        if (begins_with(url, "https://"))
                return strlen("https://");
        return 0;
}

static bool is_printable(const char *text) {
        for (; *text; text++)
                if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f)
                        return false;
        return true;
}

bool target_url_has_user(const char *url) {
        const char *host = url + scheme_len(url);

        return memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

bool target_url_is_path(const char *path) {
        return path[0] == '/' && is_printable(path) && strpbrk(path, "?#") == NULL;
}

bool target_url_is_valid(const char *url) {
        size_t host = scheme_len(url);

        return host > 0 && strlen(url) < TARGET_URL_MAX && is_printable(url) && url[host] != '\0' &&
               strchr("/?#:", url[host]) == NULL && !target_url_has_user(url);
}

int target_url_check(const char *template, struct error *err) {
        bool names_node = false;

        if (scheme_len(template) == 0)
                return error_set(err, EINVAL, "URL template: must begin with http:// or https://");
        if (target_url_has_user(template))
                return error_set(err, EINVAL,
                                 "URL template: must not contain a user or password: URLs are "
                                 "logged, so put them into files, see --sources");
        if (!is_printable(template))
                return error_set(err, EINVAL,
                                 "URL template: spaces, control and non-ASCII characters must be "
                                 "percent-encoded");
        for (const char *at = template; *at; at++) {
                if (*at == '}')
                        return error_set(err, EINVAL, "URL template: } without {");
                if (*at != '{')
                        continue;
                const char *place = at;
                at = strchr(at, '}');
                if (!at)
                        return error_set(err, EINVAL, "URL template: { without }");
                if (begins_with(place, NODE_PLACE) || begins_with(place, ADDRESS_PLACE))
                        names_node = true;
                else
                        return error_set(err, EINVAL,
                                         "URL template: unknown placeholder \"%.*s\", expected "
                                         "{node} or {address}",
                                         (int)(at - place + 1), place);
        }
        if (!names_node)
                return error_set(err, EINVAL,
                                 "URL template: needs {node} or {address}; otherwise all nodes "
                                 "would have the same page");
        if (!target_url_is_valid(template))
                return error_set(err, EINVAL, "URL template: no host, or too long");
        return 0;
}

bool target_url_needs_address(const char *template) {
        return strstr(template, ADDRESS_PLACE) != NULL;
}

/* RFC 3986 3.2.2: an IPv6 address is a host only in brackets; no other address has a colon. */
static void append_host(struct buf *out, const char *address) {
        if (strchr(address, ':'))
                buf_printf(out, "[%s]", address);
        else
                buf_percent_encode(out, address);
}

bool target_url_of_kubelet(const char *address, uint16_t port, const char *path, struct buf *out) {
        buf_puts(out, "https://");
        append_host(out, address);
        buf_printf(out, ":%u%s", port, path);
        return !out->overflow;
}

bool target_url_build(const char *template, const char *node, const char *address,
                      struct buf *out) {
        const char *authority_end = template + scheme_len(template);
        authority_end += strcspn(authority_end, "/?#");
        for (const char *at = template; *at;) {
                size_t plain = strcspn(at, "{");
                buf_append(out, at, plain);
                at += plain;
                if (begins_with(at, NODE_PLACE)) {
                        buf_percent_encode(out, node);
                        at += strlen(NODE_PLACE);
                } else if (begins_with(at, ADDRESS_PLACE)) {
                        if (at < authority_end)
                                append_host(out, address);
                        else
                                buf_percent_encode(out, address);
                        at += strlen(ADDRESS_PLACE);
                }
        }
        return !out->overflow;
}

bool target_url_add_collectors(const char *const *collectors, size_t count, struct buf *out) {
        bool has_query = strchr(out->data, '?') != NULL;

        for (size_t i = 0; i < count; i++) {
                buf_puts(out, has_query ? "&collect%5B%5D=" : "?collect%5B%5D=");
                buf_percent_encode(out, collectors[i]);
                has_query = true;
        }
        return !out->overflow;
}

const char *target_url_to_log(struct buf *url) {
        if (!url->data)
                return "";
        url->data[strcspn(url->data, "?#")] = '\0';
        return url->data;
}
