/*
 * /api/v1/query of Prometheus' HTTP API, for programs that ask Prometheus for the usage of nodes:
 * the descheduler, and Grafana for single values.
 * https://prometheus.io/docs/prometheus/latest/querying/api/
 *
 * There is no PromQL: a query is the name of a metric of the policy, and the answer is a vector
 * with the labels `__name__` and `instance`, the node's name, over the nodes that have a recent
 * value. `1+1`, with which Grafana tests a data source, is also answered.
 *
 * The vector of a metric is a page (net/shared_page.h), so frequent requests cost little, and slow
 * readers take little memory. Samples have the time at which the page was rendered.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/series/node_series.h"
#include "net/http_server.h"
#include "net/loop.h"

enum {
        QUERY_API_MAX_BODY_BYTES = 64 << 10, /* of a request; larger ones are refused */
        QUERY_API_MAX_BYTES = 16 << 20,      /* of an answer; beyond: 500 */
        /* How far `time` may be from now: Prometheus shows a sample for as long. */
        QUERY_API_TIME_SLACK_MS = 300000,
};

struct query_api;

/** query_api_new() - @loop and @nodes are borrowed, and outlive it */
struct query_api *query_api_new(struct loop *loop, struct node_series *nodes);
/** query_api_free() - on the loop's thread, after the server has stopped */
void query_api_free(struct query_api *api);
DEFINE_FREEP(struct query_api, query_api_free);

/**
 * query_api_answer() - answer /api/v1/query; called by the server's handler, any thread
 *
 * GET, and POST of a form. Parameters: `query`; `time`, a Unix time in seconds or a timestamp in
 * RFC 3339, near @now_unix_ms; other parameters are ignored. Errors have Prometheus' form: 400 for
 * a bad parameter, 503 while no node has a value. Methods other than GET, HEAD and POST get 405.
 * Return: false for any other path; @exchange is then unchanged
 */
bool query_api_answer(struct query_api *api, struct http_exchange *exchange, int64_t now_unix_ms);
