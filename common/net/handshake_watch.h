/*
 * TLS handshakes that failed, private to http_server.c: counted by reason, and logged once a minute
 * at most, since strangers decide how many there are.
 */
#pragma once

#include "base/attributes.h"
#include "metrics/metrics.h"
#include "net/server_tls.h"

struct handshake_watch;

/** handshake_watch_new() - @metrics outlives it; NULL: none */
struct handshake_watch *handshake_watch_new(struct metrics *metrics);
void handshake_watch_free(struct handshake_watch *watch);

/** handshake_watch_failed() - @peer said something, and it came to nothing; any thread */
void handshake_watch_failed(struct handshake_watch *watch, const struct tls_handshake *handshake,
                            const char *peer);
