#include "net/handshake_watch.h"

#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/mem.h"

enum { LINES_PER_MIN = 1 };

enum reason { NO_CERTIFICATE, CERTIFICATE, OTHER, REASON_COUNT };

static const char *const reason_names[] = {
        [NO_CERTIFICATE] = "no_client_certificate",
        [CERTIFICATE] = "client_certificate",
        [OTHER] = "other",
};

struct handshake_watch {
        struct metrics_series *failed[REASON_COUNT];
        struct log_limit limit;
};

struct handshake_watch *handshake_watch_new(struct metrics *metrics) {
        struct handshake_watch *watch = xcalloc(1, sizeof(*watch));

        for (size_t i = 0; metrics && i < REASON_COUNT; i++)
                watch->failed[i] = metrics_counter(
                        metrics, "plimsoll_tls_handshakes_failed_total",
                        "Failed TLS handshakes: no_client_certificate, client_certificate (not "
                        "trusted), other (plain HTTP, no common version, the client rejected our "
                        "certificate, ...).",
                        LABELS("reason", reason_names[i]));
        return watch;
}

void handshake_watch_failed(struct handshake_watch *watch, const struct tls_handshake *handshake,
                            const char *peer) {
        enum reason reason = handshake->lacks_certificate ? NO_CERTIFICATE
                             : handshake->refusal[0]      ? CERTIFICATE
                                                          : OTHER;
        const char *why = handshake->refusal;
        uint64_t unlogged;

        if (watch->failed[reason])
                metrics_inc(watch->failed[reason]);
        if (reason == NO_CERTIFICATE)
                why = "the client sent no certificate";
        else if (reason == OTHER)
                why = handshake->has_begun ? "the client aborted it, or shares no version, cipher "
                                             "or protocol with us"
                                           : "not a TLS handshake";

        if (log_limit_allows(&watch->limit, LINES_PER_MIN, clock_mono_ms(), &unlogged))
                log_warn(MSG("TLS handshake failed"), STR("peer", peer),
                         STR("reason", reason_names[reason]), STR("error", why),
                         INT("unlogged", unlogged));
}
