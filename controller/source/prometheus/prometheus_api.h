/*
 * Asking a Prometheus, or whatever answers its HTTP API (Thanos, Mimir, VictoriaMetrics): POST with
 * the query as a form, as Prometheus recommends for long ones; GET where a proxy allows no POST.
 * https://prometheus.io/docs/prometheus/latest/querying/api/
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source/credentials.h"
#include "controller/source/prometheus/prometheus_reply.h"
#include "metrics/metrics.h"
#include "net/http_client.h"
#include "net/loop.h"

enum { PROMETHEUS_ADDRESS_MAX = 2048 };

/* Strings are borrowed. */
struct prometheus_api_options {
        const char *address; /* checked; may have a path: "https://proxy/prometheus/" */
        int64_t timeout_ms;
        int64_t max_reply_bytes; /* > 0 */
        const char *header;      /* of every request, checked; NULL: none */
        struct credentials_options credentials;
};

/**
 * prometheus_address_check() - an absolute http or https URL with a host, and maybe a path
 *
 * No user or password (a URL is logged), no query, no fragment.
 * Return: 0; -EINVAL
 */
_must_check_ int prometheus_address_check(const char *address, struct error *err);

/**
 * prometheus_header_check() - "Name: value" that can be in a request
 *
 * No Authorization: what flags have is logged.
 * Return: 0; -EINVAL
 */
_must_check_ int prometheus_header_check(const char *header, struct error *err);

struct prometheus_api;

struct prometheus_api *prometheus_api_new(struct loop *loop, struct http_client *client,
                                          struct metrics *metrics,
                                          const struct prometheus_api_options *options);
/** prometheus_api_free() - every call has come to its end or was cancelled */
void prometheus_api_free(struct prometheus_api *api);

struct prometheus_answer {
        const char *failure; /* static text, a label of metrics; NULL: there is a reply */
        bool is_down;        /* the failure is not about this query: nothing can be asked */
        struct error err;
        struct prometheus_reply reply; /* borrowed for the callback */
};

/** Called exactly once unless the call was cancelled; the call ends with it, and must not be
 * cancelled any more. It may cancel and begin other calls. */
typedef void prometheus_answer_fn(void *userdata, const struct prometheus_answer *answer);

struct prometheus_call;

/**
 * prometheus_ask() - begin an instant query at the server's present; never calls back from within
 * @query: PromQL, copied
 * Return: borrowed until the callback
 */
struct prometheus_call *prometheus_ask(struct prometheus_api *api, const char *query,
                                       prometheus_answer_fn *on_answer, void *userdata);
/** prometheus_cancel() - end without calling back; NULL is nothing to do */
void prometheus_cancel(struct prometheus_call *call);
