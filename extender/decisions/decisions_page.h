/*
 * The page /decisions, in JSON: the last pods that were asked about, a line each; and
 * /decisions?pod=NAMESPACE/NAME: all that is kept of one pod.
 */
#pragma once

#include <stdbool.h>

#include "extender/decisions/decisions.h"
#include "net/http_server.h"
#include "net/shared_page.h"

/** decisions_page_list() - /decisions without a query; @loop and @decisions outlive it */
struct shared_page *decisions_page_list(struct loop *loop, struct decisions *decisions);

/**
 * decisions_page() - answer GET and HEAD of /decisions. 405 for other methods, 400 for a malformed
 * query, 404 for a pod that is not known; 400 and 404 say why: {"error": "..."}
 * Return: false for any other path; @exchange is then unchanged
 */
bool decisions_page(struct decisions *decisions, struct shared_page *list,
                    struct http_exchange *exchange);
