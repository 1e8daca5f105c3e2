/*
 * Calls to the API server, with credentials, deadlines, ceilings, retries and metrics.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kube/kube_access.h"
#include "metrics/metrics.h"
#include "net/http_client.h"
#include "net/loop.h"

struct kube_api;
struct kube_call;

/** kube_api_new() - all are borrowed, and outlive it except @user_agent; @metrics can be NULL */
struct kube_api *kube_api_new(struct loop *loop, const char *user_agent, struct kube_access *config,
                              struct metrics *metrics);
/** kube_api_free() - cancels all calls, without callbacks; not in a callback of a call */
void kube_api_free(struct kube_api *api);
/** kube_api_clock_ahead_ms() - how far this machine's clock was ahead of the API server's at its
 * last answer, within a second; negative: it was slow; 0 before the first answer */
int64_t kube_api_clock_ahead_ms(const struct kube_api *api);

/* The outcome of a call. */
enum kube_outcome {
        KUBE_OK,
        KUBE_UNAUTHORIZED, /* 401, even with credentials that were read again */
        KUBE_FORBIDDEN,    /* 403: an RBAC rule is missing */
        KUBE_NOT_FOUND,    /* 404 */
        KUBE_CONFLICT,     /* 409 */
        KUBE_GONE,         /* 410: the resource version or continue token is too old */
        KUBE_INVALID,      /* 400, 415, 422: our request is wrong */
        KUBE_THROTTLED,    /* 429, after the retries */
        KUBE_UNAVAILABLE,  /* no connection, 5xx or an incomplete answer, after the retries */
        KUBE_BAD_ANSWER,   /* 2xx with a malformed or too large body; HTML */
};

const char *kube_outcome_name(enum kube_outcome outcome);

struct kube_answer {
        enum kube_outcome outcome;
        int status;       /* HTTP status; 0 without an answer */
        const char *body; /* borrowed during the callback */
        size_t body_bytes;
        struct error err;          /* the message of the server's Status, if any */
        int64_t retry_after_ms;    /* as in struct http_response */
        enum http_failure failure; /* of the last attempt */
};

typedef void kube_done_fn(void *userdata, const struct kube_answer *answer);

/*
 * A deadline that can move, for writes under a lease. It is evaluated before every attempt, and
 * again when the connection is ready: neither after a pause between attempts nor after a suspension
 * of the process is a request sent when the lease has ended.
 */
struct kube_fence {
        /* NULL: no deadline. A time in the past: nothing is sent. */
        int64_t (*until_mono_ms)(const void *userdata);
        const void *userdata;
};

/* kube_start() copies path and body; the other texts must outlive the call. */
struct kube_request {
        const char *method;       /* "GET", "POST", "PUT", "PATCH", "DELETE" */
        const char *path;         /* with the query, percent-encoded: see kube_path.h */
        const char *resource;     /* label of metrics, such as "nodes"; NULL without metrics */
        const char *accept;       /* NULL: application/json */
        const char *content_type; /* of the body; NULL: application/json */
        const char *body;         /* NULL: none */
        size_t body_bytes;
        int64_t timeout_ms;    /* of one attempt; 0: 10 s */
        size_t max_body_bytes; /* 0: 8 MiB */
        int max_retries;       /* after the first attempt. Only GET, PUT and PATCH are retried */
        bool wants_gzip;       /* for lists */
        bool is_urgent;        /* own connections and queue, for leases */
        /* No attempt starts at or after these times; a running attempt ends at the times that were
         * valid at its start. give_up_mono_ms 0: none. */
        int64_t give_up_mono_ms;
        struct kube_fence fence;
        /* For streams (watches): gets the pieces of a 2xx body; the body of the answer is empty.
         * There are no retries after the first piece. It can cancel the call. */
        http_data_fn *on_data;
        kube_done_fn *on_done;
        void *userdata;
};

/**
 * kube_start() - start a call
 *
 * Up to max_retries retries: after the time in Retry-After for 429 and 5xx, else with jittered
 * backoff for connection errors and 5xx. A 429 without Retry-After is final, as in client-go. A 401
 * is retried once with fresh credentials, for any method. on_done is called once, on a later pass
 * of the loop, when the call is already freed.
 */
struct kube_call *kube_start(struct kube_api *api, const struct kube_request *request);
/** kube_is_answered() - whether the headers of a 2xx response have been received */
bool kube_is_answered(const struct kube_call *call);
/** kube_cancel() - end the call without a callback; @call can be NULL */
void kube_cancel(struct kube_call *call);

/* The Accept header for only the metadata of an object. */
#define KUBE_ACCEPT_METADATA                                                                       \
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

/* Without a version, so that managedFields does not grow. */
#define KUBE_FIELD_MANAGER "plimsoll-controller"
