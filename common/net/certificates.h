/*
 * Reloads the server's certificate, key and client CA when one of the files has changed, a second
 * later, since the three change one after the other (net/file_watch.h), and on SIGHUP. A failed
 * reload keeps all three current ones; it is logged once, counted, shown on /readyz?verbose, and
 * retried every minute, since a certificate may become valid.
 *
 * An expired certificate never replaces another one (http_server_set_tls()). At start it is
 * served, with a warning.
 *
 * Everything runs on the loop's thread.
 */
#pragma once

#include "base/attributes.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/http_server.h"
#include "net/loop.h"

struct certificates_options {
        struct loop *loop; /* all borrowed; they outlive the certificates */
        struct metrics *metrics;
        struct health *health;
        struct http_server_tls files; /* the strings are borrowed, too */
};

struct certificates;

/** certificates_new() - watches the files from now on; to be called before the server loads them,
 * so that no change behind that is missed */
struct certificates *certificates_new(const struct certificates_options *options);
/** certificates_serve() - @server was started with the same files; once, before the loop runs.
 * Borrowed */
void certificates_serve(struct certificates *certificates, struct http_server *server);
void certificates_free(struct certificates *certificates);
DEFINE_FREEP(struct certificates, certificates_free);

/** certificates_reload() - read the files now, changed or not (SIGHUP) */
void certificates_reload(struct certificates *certificates);
