#include "net/http_headers.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/attributes.h"

/* RFC 9110, 5.6.2 */
#define TOKEN_CHARACTERS                                                                           \
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

struct headers {
        size_t lengths, encodings, hosts;
        const char *encoding, *host; /* the last one */
        bool is_malformed;
};

/* Whether @key is @name. A longer key has a blank at its end, or a folded line. */
static bool is_key(struct headers *headers, const char *name, const char *key, size_t key_len) {
        size_t len = strlen(name);

        if (strncasecmp(key, name, len) != 0)
                return false;
        headers->is_malformed = headers->is_malformed || key_len != len;
        return true;
}

static enum MHD_Result see_header(void *userdata, enum MHD_ValueKind kind, const char *key,
                                  size_t key_len, const char *value, size_t value_len) {
        struct headers *headers = userdata;

        (void)kind;
        (void)value_len;
        if (key_len == 0 || strspn(key, TOKEN_CHARACTERS) != key_len)
                headers->is_malformed = true;
        if (is_key(headers, MHD_HTTP_HEADER_CONTENT_LENGTH, key, key_len)) {
                headers->lengths++;
        } else if (is_key(headers, MHD_HTTP_HEADER_TRANSFER_ENCODING, key, key_len)) {
                headers->encodings++;
                headers->encoding = value;
        } else if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
                headers->hosts++;
                headers->host = value;
        }
        return MHD_YES;
}

int http_headers_status(struct MHD_Connection *mhd, bool is_loopback) {
        struct headers headers = {0};

        (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, see_header, &headers);
        if (headers.is_malformed || headers.hosts > 1 || headers.lengths + headers.encodings > 1)
                return MHD_HTTP_BAD_REQUEST;
        if (headers.encodings > 0 &&
            (!headers.encoding || strcasecmp(headers.encoding, "chunked") != 0))
                return MHD_HTTP_BAD_REQUEST;
        if (is_loopback && headers.host && !http_host_is_private(headers.host))
                return MHD_HTTP_MISDIRECTED_REQUEST;
        return 0;
}

bool http_host_is_private(const char *host) {
        /* RFC 6761, RFC 6762, ICANN's reservation of 2024, and Services in short. */
        static const char *const top_labels[] = {"localhost", "local", "internal", "svc"};
        size_t len = strcspn(host, ":");

        if (len > 0 && host[len - 1] == '.')
                len--;
        const char *dot = memrchr(host, '.', len);
        if (host[0] == '[' || !dot)
                return true;
        const char *label = dot + 1;
        size_t label_len = (size_t)(host + len - label);
        if (strspn(label, "0123456789") >= label_len)
                return true; /* an IPv4 address: no name ends in a number */
        for (size_t i = 0; i < ARRAY_LEN(top_labels); i++)
                if (label_len == strlen(top_labels[i]) &&
                    strncasecmp(label, top_labels[i], label_len) == 0)
                        return true;
        return false;
}
