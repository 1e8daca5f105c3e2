/*
 * The memory of bodies, private to the HTTP client and server: reused by later ones, because fresh
 * pages cost more than parsing a body, and thousands of bodies per minute would fragment the heap.
 * Limited in total. Any thread.
 *
 *     body_take() -> a body in use: body_append(), body_text() -> body_give_back()
 *          ^                                                            |
 *          +---------------------------- idle bodies <------------------+
 *
 * A body that is larger than the pool keeps is freed when it is given back, and idle ones are freed
 * when those in use need the room.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum {
        BODY_PADDING = 64,             /* readable bytes after a body */
        BODY_FIRST_BYTES = 256 * 1024, /* first allocation, however large the announced length */
};

struct body {
        struct body *next; /* private */
        char *data;
        size_t len;
        size_t cap; /* padding included */
};

struct body_pool {
        pthread_mutex_t lock;
        size_t max_bytes;      /* of all bodies */
        size_t keep_max_bytes; /* of one that is idle */
        size_t bytes;          /* in use and idle */
        struct body *idle;
        size_t idle_bytes;
};

void body_pool_init(struct body_pool *pool, size_t max_bytes, size_t keep_max_bytes);
/** body_pool_done() - after every body has been given back */
void body_pool_done(struct body_pool *pool);

/** body_take() - an empty body of any capacity; ends with body_give_back() */
struct body *body_take(struct body_pool *pool);
void body_give_back(struct body_pool *pool, struct body *body);

/**
 * body_append() - add @len bytes; the capacity doubles, up to @most
 * Return: false when the pool's limit is reached; @body is then unchanged
 */
bool body_append(struct body_pool *pool, struct body *body, const char *data, size_t len,
                 size_t most);
/** body_text() - the bytes, and BODY_PADDING zeros behind them; after an append */
const char *body_text(struct body *body);
