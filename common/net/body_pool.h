/*
 * The memory of request bodies, private to the HTTP server: reused by later requests, because fresh
 * pages cost more than parsing them, and limited in total. Any thread.
 *
 * The limit has room for two bodies of the largest size and some small ones.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { BODY_PADDING = 64 }; /* readable bytes after a body */

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
/** body_pool_done() - after every body has been given back */
void body_pool_done(struct body_pool *pool);

/** body_take() - a body of any capacity, perhaps 0; ends with body_give_back() */
struct body *body_take(struct body_pool *pool);
void body_give_back(struct body_pool *pool, struct body *body);

/**
 * body_reserve() - make room for @need bytes and the padding; doubles, up to @most
 * Return: false when the pool's limit is reached; @body is then unchanged
 */
bool body_reserve(struct body_pool *pool, struct body *body, size_t need, size_t most);
