/*
 * Memory for request and response bodies, private to the HTTP client and server. It is reused,
 * because fresh pages cost more than parsing a body, and thousands of bodies per minute would
 * fragment the heap. The total is limited. Thread-safe.
 *
 *     body_take() -> a body in use: body_append(), body_text() -> body_give_back()
 *          ^                                                            |
 *          +---------------------------- idle bodies <------------------+
 *
 * body_give_back() frees bodies that are too large to keep. Idle bodies are freed if bodies in use
 * need their memory.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum {
        BODY_PADDING = 64, /* zeros after a body, for parsers that overread */
        BODY_FIRST_BYTES = 256 *
                           1024, /* the first allocation, however large the announced length is */
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
        size_t keep_max_bytes; /* of an idle body */
        size_t bytes;          /* of bodies in use and idle */
        struct body *idle;
        size_t idle_bytes;
};

void body_pool_init(struct body_pool *pool, size_t max_bytes, size_t keep_max_bytes);
/** body_pool_done() - call it after all bodies have been given back */
void body_pool_done(struct body_pool *pool);

/** body_take() - an empty body, until body_give_back() */
struct body *body_take(struct body_pool *pool);
void body_give_back(struct body_pool *pool, struct body *body);

/**
 * body_append() - add @len bytes; the capacity doubles, up to @most
 * Return: false if the limit of the pool is reached: @body is unchanged
 */
bool body_append(struct body_pool *pool, struct body *body, const char *data, size_t len,
                 size_t most);
/** body_text() - the bytes, followed by BODY_PADDING zeros; only after body_append() */
const char *body_text(struct body *body);
