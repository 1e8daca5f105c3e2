/*
 * Failed TLS handshakes, private to the HTTP server: counted by reason, and logged at most once a
 * minute, since any client can cause them.
 */
#pragma once

#include "metrics/metrics.h"
#include "net/server_tls.h"

struct handshake_watch;

/** handshake_watch_new() - @metrics is borrowed; NULL: no metrics */
struct handshake_watch *handshake_watch_new(struct metrics *metrics);
void handshake_watch_free(struct handshake_watch *watch);

/** handshake_watch_failed() - count and log a failed handshake of @peer; any thread */
void handshake_watch_failed(struct handshake_watch *watch, const struct tls_handshake *handshake,
                            const char *peer);
