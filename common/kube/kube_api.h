/*
 * Calls to the API server: credentials, deadlines, ceilings, retries and metrics in one place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kube_access.h"
#include "metrics/metrics.h"
#include "net/http_client.h"
#include "net/loop.h"

struct kube_api;
struct kube_call;

/** kube_api_new() - @config, @client, @metrics are borrowed and outlive it; @metrics may be NULL */
struct kube_api *kube_api_new(struct loop *loop, struct http_client *client,
                              struct kube_access *config, struct metrics *metrics);
/** kube_api_free() - cancels all calls, without callbacks */
void kube_api_free(struct kube_api *api);
DEFINE_FREEP(struct kube_api, kube_api_free);
/** kube_api_clock_ahead_ms() - by how much this machine's clock was ahead of the API server's at
 * the last answer, within a second; negative: behind; 0 before there is one */
int64_t kube_api_clock_ahead_ms(const struct kube_api *api);

/* The outcome of a call; expected ones are states, not errors. */
enum kube_outcome {
        KUBE_OK,
        KUBE_UNAUTHORIZED, /* 401, after the credentials were read again once */
        KUBE_FORBIDDEN,    /* 403: RBAC is missing a rule */
        KUBE_NOT_FOUND,    /* 404 */
        KUBE_CONFLICT,     /* 409 */
        KUBE_GONE,         /* 410: the resource version or continue token is too old */
        KUBE_INVALID,      /* 400, 415, 422: our request is wrong */
        KUBE_THROTTLED,    /* 429, after the retries */
        KUBE_UNAVAILABLE,  /* no connection, 5xx or a cut answer, after the retries */
        KUBE_BAD_ANSWER,   /* 2xx with a body that we cannot read, or one past the ceiling; HTML */
};

const char *kube_outcome_name(enum kube_outcome outcome);

struct kube_answer {
        enum kube_outcome outcome;
        int status;       /* HTTP status, 0 without an answer */
        const char *body; /* borrowed for the callback */
        size_t body_bytes;
        struct error err;          /* the message of the server's Status, if there is one */
        int64_t retry_after_ms;    /* as in struct http_response */
        enum http_failure failure; /* of the last attempt's transfer */
};

typedef void kube_done_fn(void *userdata, const struct kube_answer *answer);

/*
 * A deadline that moves, for writes under a lease. Evaluated before every attempt, and compared
 * with the clock once more when the connection is ready. So neither a pause between attempts nor a
 * suspended process sends a request after the lease has ended.
 */
struct kube_fence {
        /* NULL: no deadline. A time in the past: nothing may be sent. */
        int64_t (*until_mono_ms)(const void *userdata);
        const void *userdata;
};

/* Path and body are copied by kube_start(); the other texts must outlive the call. */
struct kube_request {
        const char *method;       /* "GET", "POST", "PUT", "PATCH", "DELETE" */
        const char *path;         /* with the query, percent-encoded: see kube_path.h */
        const char *resource;     /* label of metrics: "nodes"; NULL: "" */
        const char *accept;       /* NULL: application/json */
        const char *content_type; /* of the body; NULL: application/json */
        const char *body;         /* NULL: none */
        size_t body_bytes;
        int64_t timeout_ms;    /* of one attempt; 0: 10 s */
        size_t max_body_bytes; /* 0: 8 MiB */
        int max_retries;       /* beyond the first attempt; 0: none. GET, PUT and PATCH only */
        bool wants_gzip;       /* for lists */
        bool is_urgent;        /* own connections and queue, for leases */
        /* No attempt starts at or after these times. A running attempt times out at the one that
         * was valid when it started. give_up_mono_ms 0: none. */
        int64_t give_up_mono_ms;
        struct kube_fence fence;
        /* Streams (watches): pieces of a 2xx body go here, the answer's body is then empty. There
         * are no retries after the first piece. on_data may cancel the call. */
        http_data_fn *on_data;
        int64_t idle_timeout_ms;   /* without receiving a byte; 0: off */
        int64_t answer_timeout_ms; /* until the response headers; 0: off */
        kube_done_fn *on_done;
        void *userdata;
};

/**
 * kube_start() - start a call
 *
 * Retries, up to max_retries: 429 and 5xx with Retry-After after that time, connection errors and
 * other 5xx with jittered backoff. A 429 without Retry-After is final, as in client-go. A 401 is
 * retried once with fresh credentials, for any method. on_done is called once, on a later turn of
 * the loop, with the call already freed.
 */
struct kube_call *kube_start(struct kube_api *api, const struct kube_request *request);
/** kube_is_answered() - the headers of a 2xx response were received */
bool kube_is_answered(const struct kube_call *call);
/** kube_cancel() - end without a callback; @call may be NULL */
void kube_cancel(struct kube_call *call);

/* The Accept header for nothing but metadata: list, and single objects (watch, patch reply). */
#define KUBE_ACCEPT_METADATA_LIST                                                                  \
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
#define KUBE_ACCEPT_METADATA                                                                       \
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

/* Without a version in it, so that managedFields does not grow. */
#define KUBE_FIELD_MANAGER "plimsoll-controller"
