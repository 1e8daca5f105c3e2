/*
 * Keeps the server's certificate, key and client CA what their files say: they are read again when
 * one of them changes, in any of the ways that net/file_watch.h knows, and on SIGHUP. What cannot
 * be used leaves the old ones in force, all three; it is logged once, counted, shown on
 * /readyz?verbose, and tried again every minute, for it may be a certificate that will be valid.
 *
 * A certificate that has expired is not taken in place of another (http_server_set_tls()); at the
 * start, where there is no other, it is served, with a warning: a client that verifies refuses it,
 * and is no worse off than without a server.
 *
 * Everything runs on the loop's thread.
 */
#pragma once

#include "base/attributes.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/http_server.h"
#include "net/loop.h"

/* Files that belong together change one after the other: they are read so long after the first. */
enum { CERTIFICATES_SETTLE_MS = 500 };

struct certificates_options {
        struct loop *loop; /* all borrowed; they outlive the certificates */
        struct metrics *metrics;
        struct health *health;
        struct http_server *server;   /* started with these files */
        struct http_server_tls files; /* the strings, too */
};

struct certificates;

struct certificates *certificates_new(const struct certificates_options *options);
void certificates_free(struct certificates *certificates);
DEFINE_FREEP(struct certificates, certificates_free);

/** certificates_reload() - read the files now, changed or not (SIGHUP) */
void certificates_reload(struct certificates *certificates);
