/*
 * The memory of request bodies, private to the HTTP server: kept for the next request, because
 * fresh pages cost more than the parsing of them, and with a ceiling for all of them together. Any
 * thread.
 *
 * Two bodies of the largest size always find room beside some small ones, whatever has been kept.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { BODY_PADDING = 64 }; /* bytes behind a body that are there, too */

struct body {
        struct body *next; /* private */
        char *data;
        size_t cap; /* padding included */
};

struct body_pool {
        pthread_mutex_t lock;
        size_t max_bytes; /* of all bodies */
        size_t bytes;     /* in use and idle */
        struct body *idle;
        size_t idle_bytes;
};

void body_pool_init(struct body_pool *pool, size_t max_body_bytes);
/** body_pool_done() - every body has been given back */
void body_pool_done(struct body_pool *pool);

/** body_take() - a body of any size, perhaps of none; to be given back */
struct body *body_take(struct body_pool *pool);
void body_give_back(struct body_pool *pool, struct body *body);

/**
 * body_reserve() - room for @need bytes and the padding; grows by doubling, no further than @most
 * Return: false when the bodies in use are too large together; nothing has changed then
 */
bool body_reserve(struct body_pool *pool, struct body *body, size_t need, size_t most);
