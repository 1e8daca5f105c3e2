/*
 * Reloads the server's certificate, key and client CA on SIGHUP and one second after one of the
 * files has changed, since the three change one after the other (net/file_watch.h). A failed reload
 * keeps all three. It is logged once, counted, shown on /readyz?verbose, and retried every minute,
 * since a certificate may become valid.
 *
 * An expired certificate never replaces another one (http_server_set_tls()). At startup, it is
 * served with a warning.
 *
 * Everything runs on the loop's thread.
 */
#pragma once

#include "metrics/metrics.h"
#include "net/health.h"
#include "net/http_server.h"
#include "net/loop.h"

struct certificates_options {
        struct loop *loop; /* borrowed, like all members: they outlive the certificates */
        struct metrics *metrics;
        struct health *health;
        struct http_server_tls files; /* with borrowed strings */
};

struct certificates;

/** certificates_new() - start to watch the files; call it before the server loads them, so that no
 * change is missed */
struct certificates *certificates_new(const struct certificates_options *options);
/** certificates_serve() - set the server, which was started with the same files; once, before the
 * loop runs. @server is borrowed */
void certificates_serve(struct certificates *certificates, struct http_server *server);
void certificates_free(struct certificates *certificates);

/** certificates_reload() - read the files now, even if they have not changed (SIGHUP) */
void certificates_reload(struct certificates *certificates);
