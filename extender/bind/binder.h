/*
 * The verb bind: in the place of kube-scheduler's own binder, POST the Binding that puts a pod on a
 * node. It carries the pod's UID, so that a pod that was made anew under its old name is not bound
 * on its predecessor's account.
 *
 * A bind begins on a worker of the HTTP server, which suspends the request and goes on with others:
 * however slow the API server is, filter and prioritize do not wait. It is carried out on the
 * loop's thread, where the API client lives, and answered by the worker again. At most
 * BINDER_MAX_UNDER_WAY are under way; what comes beyond them is refused at once, and the scheduler
 * tries that pod again.
 *
 * 429, 5xx and broken connections are tried again until the timeout, which is to be below the
 * scheduler's httpTimeout. A 409 may be our own doing, when an answer was lost on its way: the pod
 * is looked at then, and one that is bound as asked is a success. The answer is {"Error":""}, or
 * says what went wrong.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "extender/table/node_table.h"
#include "extender/table/table_watch.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/http_server.h"
#include "net/loop.h"

/* Below the API client's places (128) and far below the server's connections (512). */
enum { BINDER_MAX_UNDER_WAY = 100 };

struct binder_options {
        struct loop *loop; /* all borrowed; they outlive the binder */
        struct kube_api *api;
        const struct table_watch *table_watch; /* whether nodes are being watched */
        struct node_table *table;
        struct metrics *metrics;
        struct health *health;
        int64_t timeout_ms; /* of a bind, with all its attempts */
};

struct binder;

struct binder *binder_new(const struct binder_options *options);
/** binder_free() - after the server has stopped */
void binder_free(struct binder *binder);
DEFINE_FREEP(struct binder, binder_free);

/**
 * binder_answer() - carry out the ExtenderBindingArgs in @exchange; from the server's handler
 * Return: 0: it is answered, or will be, and no longer the caller's; -E2BIG or -EBADMSG: it cannot
 * be read, and @exchange is as it was
 */
_must_check_ int binder_answer(struct binder *binder, struct http_exchange *exchange,
                               struct error *err);

/**
 * binder_drain() - begin no more binds, and call @on_drained when none is under way
 *
 * That is within the timeout; perhaps at once. Once only.
 */
void binder_drain(struct binder *binder, void (*on_drained)(void *userdata), void *userdata);
/** binder_stop() - answer what is under way with an error; before http_server_stop(), after
 * loop_run() has returned */
void binder_stop(struct binder *binder);
