#include "net/handshake_watch.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

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
        pthread_mutex_t lock; /* of all below */
        struct log_limit limit;
        uint64_t unlogged;
};

struct handshake_watch *handshake_watch_new(struct metrics *metrics) {
        struct handshake_watch *watch = xcalloc(1, sizeof(*watch));

        (void)pthread_mutex_init(&watch->lock, NULL);
        for (size_t i = 0; metrics && i < REASON_COUNT; i++)
                watch->failed[i] = metrics_counter(
                        metrics, "plimsoll_tls_handshakes_failed_total",
                        "Failed TLS handshakes: no_client_certificate, client_certificate (not "
                        "trusted), other (plain HTTP, no common version, the client rejected our "
                        "certificate, ...).",
                        LABELS("reason", reason_names[i]));
        return watch;
}

void handshake_watch_free(struct handshake_watch *watch) {
        if (!watch)
                return;
        (void)pthread_mutex_destroy(&watch->lock);
        free(watch);
}

void handshake_watch_failed(struct handshake_watch *watch, const struct tls_handshake *handshake,
                            const char *peer) {
        enum reason reason = handshake->lacks_certificate ? NO_CERTIFICATE
                             : handshake->refusal[0]      ? CERTIFICATE
                                                          : OTHER;
        const char *why = handshake->refusal;
        int64_t now_mono_ms = clock_mono_ms();

        if (watch->failed[reason])
                metrics_inc(watch->failed[reason]);
        if (reason == NO_CERTIFICATE)
                why = "the client sent no certificate";
        else if (reason == OTHER)
                why = handshake->has_begun ? "the client aborted it, or shares no version, cipher "
                                             "or protocol with us"
                                           : "not a TLS handshake";

        pthread_mutex_lock(&watch->lock);
        uint64_t unlogged = watch->unlogged;
        (void)log_limit_minute_ends(&watch->limit, now_mono_ms);
        bool is_due = log_limit_allows(&watch->limit, LINES_PER_MIN);
        watch->unlogged = is_due ? 0 : unlogged + 1;
        pthread_mutex_unlock(&watch->lock);
        if (is_due)
                log_warn(MSG("TLS handshake failed"), STR("peer", peer),
                         STR("reason", reason_names[reason]), STR("error", why),
                         INT("unlogged", unlogged));
}
