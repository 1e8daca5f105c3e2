/*
 * The verb bind: POST the Binding that assigns a pod to a node, instead of kube-scheduler's own
 * binder. The Binding carries the pod's UID, so that a pod recreated under the same name is not
 * bound by mistake.
 *
 * A worker of the HTTP server takes the request, suspends it and goes on with other requests, so
 * that filter and prioritize do not wait for the API server. The call is made on the loop's thread,
 * where the API client lives, and the worker sends the answer. At most BINDER_MAX_UNDER_WAY binds
 * are in progress; beyond that a request is refused at once, and the scheduler retries the pod.
 *
 * 429, 5xx and broken connections are retried until BINDER_TIMEOUT_MS. A 409 may follow from an
 * earlier attempt whose answer was lost: then the pod is read, and if it is bound as requested,
 * this is a success. The answer is {"Error":""}, or the reason of the failure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "daemon/daemon.h"
#include "net/http_server.h"

/* Below the API client's requests in flight (128) and the server's connections (512). */
enum { BINDER_MAX_UNDER_WAY = 100 };
/* Of a bind with all its attempts: less than the scheduler waits for an answer (httpTimeout), which
 * is 5 s by default. */
enum { BINDER_TIMEOUT_MS = 4000 };

struct binder;

/** binder_new() - @daemon is borrowed, and outlives the binder */
struct binder *binder_new(const struct daemon *daemon);
/** binder_free() - after the server has stopped */
void binder_free(struct binder *binder);

/**
 * binder_answer() - execute the ExtenderBindingArgs in @exchange; called by the server's handler
 * Return: 0: @exchange is answered, or will be, and is no longer the caller's; -E2BIG or -EBADMSG:
 * not parsable, and @exchange is unchanged
 */
_must_check_ int binder_answer(struct binder *binder, struct http_exchange *exchange,
                               struct error *err);

/**
 * binder_drain() - start no more binds, and call @on_drained once when none is in progress
 *
 * This takes at most BINDER_TIMEOUT_MS; @on_drained may be called at once.
 */
void binder_drain(struct binder *binder, void (*on_drained)(void *userdata), void *userdata);
/** binder_stop() - answer the binds in progress with an error; before http_server_stop(), after
 * loop_run() has returned */
void binder_stop(struct binder *binder);
