/*
 * Counts failed TLS handshakes by reason, and logs at most one per minute, since any client can
 * cause them. Private to the HTTP server.
 */
#pragma once

#include "metrics/metrics.h"
#include "net/server_tls.h"

struct handshake_watch;

/** handshake_watch_new() - for free(); @metrics is borrowed; NULL: no metrics */
struct handshake_watch *handshake_watch_new(struct metrics *metrics);

/** handshake_watch_failed() - count and log a failed handshake with @peer; any thread */
void handshake_watch_failed(struct handshake_watch *watch, const struct tls_handshake *handshake,
                            const char *peer);
