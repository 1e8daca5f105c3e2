/*
 * The page /nodes: each node with what the extender knows about it, and its verdict and score for a
 * pod without requests, as JSON. A loop of its own renders it at most once a second, so neither the
 * loop nor a request of a scheduler waits for it.
 */
#pragma once

#include "extender/table/node_table.h"
#include "net/shared_page.h"

/* 600 bytes per node with a usual policy: 100,000 nodes need 60 MB. */
enum { NODES_PAGE_MAX_BYTES = 128 << 20 };

/** nodes_page_new() - both borrowed; they outlive it. @side renders it */
struct shared_page *nodes_page_new(struct loop *side, struct node_table *table);
/** nodes_page_write() - the text of the page */
void nodes_page_write(const struct node_snapshot *snapshot, int64_t now_unix_ms,
                      int64_t now_mono_ms, struct buf *out);
