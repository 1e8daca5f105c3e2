/*
 * The pages /decisions, with one line for each of the last pods, and /decisions?pod=NAMESPACE/NAME,
 * with everything about one pod; &uid=UID prefers one of several pods with the name. Both are JSON.
 */
#pragma once

#include <stdbool.h>

#include "extender/decisions/decisions.h"
#include "net/http_server.h"
#include "net/shared_page.h"

/** decisions_page_list() - /decisions without a query; @loop and @decisions outlive it */
struct shared_page *decisions_page_list(struct loop *loop, struct decisions *decisions);

/**
 * decisions_page() - answer GET and HEAD of /decisions. Other methods get 405, malformed queries
 * 400, unknown pods 404; the reply to the last two is {"error": "..."} Return: false: another path;
 * @exchange is unchanged
 */
bool decisions_page(struct decisions *decisions, struct shared_page *list,
                    struct http_exchange *exchange);
