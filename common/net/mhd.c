#include "net/mhd.h"

#include <gnutls/gnutls.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

enum {
        JOIN_MAX_BYTES = 64 << 10,
        COPY_BYTES = 64 << 10, /* of a reply in many pieces, at a time */
};

/* RFC 9110, 5.6.2 */
#define TOKEN_CHARACTERS                                                                           \
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

void mhd_offer_http_1_1(void *session) {
        static unsigned char name[] = "http/1.1";
        /* Twice: GnuTLS 3.7 writes over a list from its first on, and libmicrohttpd has put
         * http/1.0 into the second place. */
        const gnutls_datum_t protocols[] = {{name, sizeof(name) - 1}, {name, sizeof(name) - 1}};

        (void)gnutls_alpn_set_protocols(session, protocols, ARRAY_LEN(protocols),
                                        GNUTLS_ALPN_MANDATORY);
}

/* ---- Requests. */

struct framing {
        size_t lengths, encodings, hosts;
        bool is_malformed;
};

/* A longer key ends with a blank, or with a folded line. */
static bool is_key(struct framing *framing, const char *name, const char *key, size_t key_len) {
        size_t len = strlen(name);

        if (strncasecmp(key, name, len) != 0)
                return false;
        framing->is_malformed |= key_len != len;
        return true;
}

static enum MHD_Result see_header(void *userdata, enum MHD_ValueKind kind, const char *key,
                                  size_t key_len, const char *value, size_t value_len) {
        static const char chunked[] = "chunked";
        struct framing *framing = userdata;

        (void)kind;
        framing->is_malformed |= strspn(key, TOKEN_CHARACTERS) != key_len;
        framing->lengths += is_key(framing, MHD_HTTP_HEADER_CONTENT_LENGTH, key, key_len);
        framing->hosts += strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0;
        if (is_key(framing, MHD_HTTP_HEADER_TRANSFER_ENCODING, key, key_len)) {
                framing->encodings++;
                framing->is_malformed |= value_len != strlen(chunked) ||
                                         strncasecmp(value, chunked, value_len) != 0;
        }
        return MHD_YES;
}

bool mhd_is_well_framed(struct MHD_Connection *mhd) {
        struct framing framing = {0};

        (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, see_header, &framing);
        return !framing.is_malformed && framing.hosts <= 1 &&
               framing.lengths + framing.encodings <= 1;
}

/* ---- Replies. */

static struct MHD_Response *join_reply_pieces(const struct http_exchange *exchange, size_t bytes) {
        char *whole = xmalloc(bytes), *at = whole;

        for (size_t i = 0; i < exchange->reply_count; i++) {
                memcpy(at, exchange->reply[i].iov_base, exchange->reply[i].iov_len);
                at += exchange->reply[i].iov_len;
        }
        return MHD_create_response_from_buffer(bytes, whole, MHD_RESPMEM_MUST_FREE);
}

static ssize_t copy_reply(void *userdata, uint64_t position, char *to, size_t max) {
        struct mhd_reply *reply = userdata;
        const struct http_exchange *exchange = reply->exchange;
        size_t copied = 0;

        (void)position; /* they follow each other */
        while (copied < max && reply->piece < exchange->reply_count) {
                const struct iovec *piece = &exchange->reply[reply->piece];
                size_t bytes = size_min(max - copied, piece->iov_len - reply->offset);
                memcpy(to + copied, (const char *)piece->iov_base + reply->offset, bytes);
                copied += bytes;
                reply->offset += bytes;
                if (reply->offset == piece->iov_len) {
                        reply->piece++;
                        reply->offset = 0;
                }
        }
        return (ssize_t)copied;
}

/* A single piece is sent with the headers, in one system call and packet: a small reply is joined.
 * A large one is copied bit by bit. */
struct MHD_Response *mhd_response(struct mhd_reply *reply, const struct http_exchange *exchange) {
        static char empty[] = "";
        struct MHD_Response *response = NULL;
        size_t bytes = 0;

        for (size_t i = 0; i < exchange->reply_count; i++)
                bytes += exchange->reply[i].iov_len;
        *reply = (struct mhd_reply){.exchange = exchange};
        if (bytes == 0)
                response = MHD_create_response_from_buffer(0, empty, MHD_RESPMEM_PERSISTENT);
        else if (exchange->reply_count == 1)
                response = MHD_create_response_from_buffer(bytes, exchange->reply[0].iov_base,
                                                           MHD_RESPMEM_PERSISTENT);
        else if (bytes <= JOIN_MAX_BYTES)
                response = join_reply_pieces(exchange, bytes);
        else
                response = MHD_create_response_from_callback(bytes, COPY_BYTES, copy_reply, reply,
                                                             NULL);
        if (!response)
                mem_exhausted();
        return response;
}
