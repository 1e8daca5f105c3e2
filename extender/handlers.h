/*
 * The extender's HTTP handlers: POST .../filter, .../prioritize, .../preempt and, if enabled,
 * .../bind under any prefix, the pages of daemon/daemon.h, /decisions, /nodes, /explain and /trial.
 * They run on the server's worker threads and read snapshots of the node table.
 *
 * Guarantee: a fault in the extender never rejects a node. Nodes that are not in the table pass,
 * and a request that cannot be parsed gets a status other than 200 without a body. The scheduler
 * treats this as a failed extender, which it skips if the extender is ignorable. Such a request
 * never gets an empty list of nodes.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "daemon/daemon.h"
#include "extender/bind/binder.h"
#include "extender/decisions/decisions.h"
#include "extender/explain/explain_page.h"
#include "extender/table/node_table.h"
#include "extender/trial/trial.h"
#include "net/http_server.h"

/* The parts of the program that answer requests. */
struct handlers_parts {
        const struct daemon *daemon;        /* all borrowed; they outlive the handlers */
        struct node_table *table;           /* with metrics */
        struct binder *binder;              /* NULL: no such verb */
        struct decisions *decisions;        /* NULL: no decisions are kept, and there is no page */
        struct shared_page *decisions_list; /* the page with all decisions */
        struct shared_page *nodes_page;     /* NULL: there is no such page, like the next two */
        struct shared_page *trial_page;
        struct explain_page *explain_page;
        struct trial *trial; /* NULL: there is none */
        bool is_debug;       /* one log line per request */
};

struct handlers;

struct handlers *handlers_new(const struct handlers_parts *parts);
/** handlers_free() - after the server has stopped */
void handlers_free(struct handlers *handlers);

/** handlers_answer() - an http_handler_fn; @userdata is the struct handlers */
void handlers_answer(void *userdata, struct http_exchange *exchange);
/** handlers_answer_page() - the same for pages only: verbs get 404 */
void handlers_answer_page(void *userdata, struct http_exchange *exchange);
