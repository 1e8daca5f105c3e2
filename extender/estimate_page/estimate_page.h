/*
 * The page /estimate: what the extender's estimate knows of nodes and workloads, in JSON. The
 * loop's thread renders it, once a second at most, so no request of a scheduler waits for it.
 */
#pragma once

#include <stdbool.h>

#include "extender/table/node_table.h"
#include "net/http_server.h"
#include "net/shared_page.h"

/** estimate_page_new() - @loop and @table outlive it */
struct shared_page *estimate_page_new(struct loop *loop, struct node_table *table);

/**
 * estimate_page() - answer GET and HEAD of /estimate; 405 to other methods
 * @page: NULL: there is no such page
 * Return: false for any other path; @exchange is then unchanged
 */
bool estimate_page(struct shared_page *page, struct http_exchange *exchange);
