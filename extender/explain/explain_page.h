/*
 * POST /explain: what the extender would answer about a pod, with every term of each node. The
 * nodes are those of its table, or those in the request: these are judged in a table of their own,
 * by the policy in the request or the one in force. It shares the estimate by the names of nodes:
 * their readings are those in the request, and what is in flight there is what the extender knows,
 * unless the request is about another time ("at").
 *
 * It runs on a loop of its own, one request at a time: others get 429 with Retry-After. Bodies of
 * more than EXPLAIN_MAX_BYTES or EXPLAIN_NODES_MAX nodes get 413, and requests that take longer
 * than EXPLAIN_MAX_MS get 503. All of it together takes some 250 MiB at most.
 */
#pragma once

#include <stdbool.h>

#include "extender/table/node_table.h"
#include "net/http_server.h"
#include "net/loop.h"

enum {
        EXPLAIN_MAX_BYTES = 64 << 20,
        EXPLAIN_REPLY_MAX_BYTES = 64 << 20, /* some 25,000 nodes */
        EXPLAIN_NODES_MAX = 20000,          /* of a request; 3 KiB each with 64 metrics */
        EXPLAIN_NODE_MAX_BYTES = 2 << 20,   /* etcd keeps at most 1.5 MiB */
        EXPLAIN_MAX_MS = 5000,
};

struct explain_page;

/** explain_page_new() - @side and @table are borrowed and outlive it
 * @style: of the table: how to read annotations of nodes in requests */
struct explain_page *explain_page_new(struct loop *side, struct node_table *table,
                                      const struct node_table_options *style);
/** explain_page_stop() - answer waiting and later requests with 503; after @side has ended */
void explain_page_stop(struct explain_page *page);
/** explain_page_free() - after the server has stopped */
void explain_page_free(struct explain_page *page);

/** explain_page() - answer POST /explain, now or later; other methods get 405. An error has the
 * body
 * {"error": "..."}. Return: false: another path; @exchange is unchanged */
bool explain_page(struct explain_page *page, struct http_exchange *exchange);
