/*
 * Queries to Prometheus, or to another server with its HTTP API (Thanos, Mimir, VictoriaMetrics).
 * They are sent by POST as a form, which Prometheus recommends for long queries.
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
        /* A longer reply is a failure. A reply about 5,000 nodes has 1 to 3 MB. */
        PROMETHEUS_MAX_REPLY_BYTES = 32 << 20,
};

/** prometheus_address_check() - is it valid (target_url_is_valid()), and without query and
 * fragment? Return: 0; -EINVAL */
_must_check_ int prometheus_address_check(const char *address, struct error *err);

struct prometheus_api;

/** prometheus_api_new() - @source is borrowed. Its URL has been checked, and may have a path:
 * "https://proxy/prometheus/" */
struct prometheus_api *prometheus_api_new(const struct source *source);
/** prometheus_api_free() - every call has ended or was cancelled */
void prometheus_api_free(struct prometheus_api *api);

struct prometheus_answer {
        const char *failure; /* static text, a label of metrics; NULL: there is a reply */
        bool is_down;        /* the failure concerns all queries */
        struct error err;
        struct prometheus_reply reply; /* borrowed for the callback */
};

/** Called exactly once unless the call is cancelled. It ends the call, which must not be cancelled
 * afterwards. It may cancel and start other calls. */
typedef void prometheus_answer_fn(void *userdata, const struct prometheus_answer *answer);

struct prometheus_call;

/**
 * prometheus_ask() - start an instant query at the server's time; does not call back from within
 * @query: PromQL, copied
 * Return: borrowed until the callback
 */
struct prometheus_call *prometheus_ask(struct prometheus_api *api, const char *query,
                                       prometheus_answer_fn *on_answer, void *userdata);
/** prometheus_cancel() - end without calling back; @call may be NULL */
void prometheus_cancel(struct prometheus_call *call);
