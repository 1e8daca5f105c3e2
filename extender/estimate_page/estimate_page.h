/*
 * The page /estimate: the extender's estimate of nodes and workloads, as JSON. The loop's thread
 * renders it at most once a second, so no request of a scheduler waits for it.
 */
#pragma once

#include <stdbool.h>

#include "extender/table/node_table.h"
#include "net/http_server.h"
#include "net/shared_page.h"

/** estimate_page_new() - @loop and @table outlive it */
struct shared_page *estimate_page_new(struct loop *loop, struct node_table *table);

/**
 * estimate_page() - answer GET and HEAD of /estimate; other methods get 405
 * @page: NULL: there is no such page
 * Return: false: another path; @exchange is unchanged
 */
bool estimate_page(struct shared_page *page, struct http_exchange *exchange);
