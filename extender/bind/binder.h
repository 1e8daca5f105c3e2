/*
 * The verb bind: creates the Binding that assigns a pod to a node, in place of kube-scheduler's own
 * binder. Guarantee: the Binding carries the pod's UID, so a pod that was recreated under the same
 * name is never bound by mistake.
 *
 * A worker of the HTTP server suspends the request and continues with other requests, so filter and
 * prioritize never wait for the API server. The loop's thread, which owns the API client, makes the
 * call, and a worker sends the answer. At most BINDER_MAX_UNDER_WAY binds are in progress; further
 * requests are refused at once, and the scheduler tries these pods again.
 *
 * The Binding is sent once, as by kube-scheduler's own binder. After a failure, the scheduler tries
 * the pod again, unless it sees that the pod is bound: the answer of the API server may have been
 * lost. The answer is {"Error":""}, or the reason of the failure.
 */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "daemon/daemon.h"
#include "net/http_server.h"

/* Less than the requests in flight of the API client (128) and the server's connections (512). */
enum { BINDER_MAX_UNDER_WAY = 100 };
/* The time for a bind. It must be less than the scheduler's httpTimeout, which is 5 s by default.
 */
enum { BINDER_TIMEOUT_MS = 4000 };

struct binder;

/** binder_new() - @daemon is borrowed, and outlives the binder */
struct binder *binder_new(const struct daemon *daemon);
/** binder_free() - after the server has stopped */
void binder_free(struct binder *binder);

/**
 * binder_answer() - execute the ExtenderBindingArgs in @exchange; called by the server's handler
 * Return: 0: the binder answers @exchange, now or later; -E2BIG or -EBADMSG: the request cannot be
 * parsed, and @exchange is unchanged
 */
_must_check_ int binder_answer(struct binder *binder, struct http_exchange *exchange,
                               struct error *err);

/**
 * binder_drain() - refuse new binds, and call @on_drained once when no bind is in progress
 *
 * This takes at most BINDER_TIMEOUT_MS; @on_drained may be called before the function returns.
 */
void binder_drain(struct binder *binder, void (*on_drained)(void *userdata), void *userdata);
/** binder_stop() - answer the binds in progress with an error; before http_server_stop(), after
 * loop_run() has returned */
void binder_stop(struct binder *binder);
