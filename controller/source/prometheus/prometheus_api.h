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
#include "controller/source/prometheus/prometheus_reply.h"
#include "controller/source/source.h"

enum {
        PROMETHEUS_ADDRESS_MAX = 2048,
        /* A longer one counts as a failure. One of 5,000 nodes has 1 to 3 MB. */
        PROMETHEUS_MAX_REPLY_BYTES = 32 << 20,
};

/**
 * prometheus_address_check() - an absolute http or https URL with a host, and maybe a path
 *
 * No user or password (a URL is logged), no query, no fragment.
 * Return: 0; -EINVAL
 */
_must_check_ int prometheus_address_check(const char *address, struct error *err);

struct prometheus_api;

/** prometheus_api_new() - @source is borrowed. Its URL has been checked, and may have a path:
 * "https://proxy/prometheus/" */
struct prometheus_api *prometheus_api_new(const struct source *source);
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
