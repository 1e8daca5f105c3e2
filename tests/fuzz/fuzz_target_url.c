/*
 * A template that is accepted gives, for any node, a URL to the host that the template names: what
 * comes from the API server cannot add a path, a query, a user or another host.
 */
#include <string.h>

#include "base/mem.h"
#include "controller/node/target_url.h"
#include "fuzz.h"

static size_t count(const char *text, char c) {
        size_t n = 0;

        for (; *text; text++)
                n += *text == c;
        return n;
}

/* Input: template, node's name and address, by NUL. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(freep) char *copy = xmemdup0((const char *)data, size);
        const char *end = copy + size;
        const char *template = copy;
        const char *node = template + strlen(template) < end ? template + strlen(template) + 1 : "";
        const char *address = *node && node + strlen(node) < end ? node + strlen(node) + 1 : "";
        struct error err = ERROR_NULL;

        /* As node_set.c lets them through: IP addresses and DNS names. */
        if (strspn(address, "0123456789abcdefghijklmnopqrstuvwxyz.:-") != strlen(address))
                return 0;
        int r = target_url_check(template, &err);
        require((r < 0) == (err.msg[0] != '\0'));
        if (r < 0)
                return 0;

        struct buf plain = BUF_INIT(1 << 20), url = BUF_INIT(1 << 20);
        require(target_url_build(template, "n", "a", &plain));
        require(target_url_build(template, node, address, &url));
        static const char structure[] = "/?#@&=";
        for (const char *c = structure; *c; c++)
                require(count(url.data, *c) == count(plain.data, *c));
        require(strcspn(url.data, " \r\n\t") == url.len);
        require(strncmp(url.data, template, 7) == 0); /* "http://" or "https:/" */
        buf_done(&plain);
        buf_done(&url);
        return 0;
}
