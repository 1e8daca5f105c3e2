#include "net/body_pool.h"

#include <stdlib.h>

#include "base/attributes.h"
#include "base/mem.h"

enum {
        FIRST_BYTES = 256 * 1024, /* first allocation, however large the announced length */
        RETAINED_BYTES = 64 * 1024 * 1024,
        SPARE_BYTES = 32 * 1024 * 1024, /* for small bodies beside two of the largest */
};

void body_pool_init(struct body_pool *pool, size_t max_body_bytes) {
        *pool = (struct body_pool){
                .max_bytes = (max_body_bytes + BODY_PADDING) * 2 + SPARE_BYTES,
        };
        (void)pthread_mutex_init(&pool->lock, NULL);
}

static void free_first(struct body_pool *pool) {
        struct body *body = pool->idle;

        pool->idle = body->next;
        pool->idle_bytes -= body->cap;
        pool->bytes -= body->cap;
        free(body->data);
        free(body);
}

void body_pool_done(struct body_pool *pool) {
        while (pool->idle)
                free_first(pool);
        (void)pthread_mutex_destroy(&pool->lock);
}

struct body *body_take(struct body_pool *pool) {
        (void)pthread_mutex_lock(&pool->lock);
        struct body *body = pool->idle;
        if (body) {
                pool->idle = body->next;
                pool->idle_bytes -= body->cap;
        }
        (void)pthread_mutex_unlock(&pool->lock);
        return body ? body : xcalloc(1, sizeof(*body));
}

void body_give_back(struct body_pool *pool, struct body *body) {
        (void)pthread_mutex_lock(&pool->lock);
        body->next = pool->idle;
        pool->idle = body;
        pool->idle_bytes += body->cap;
        if (pool->idle_bytes > RETAINED_BYTES)
                free_first(pool);
        (void)pthread_mutex_unlock(&pool->lock);
}

bool body_reserve(struct body_pool *pool, struct body *body, size_t need, size_t most) {
        if (need + BODY_PADDING <= body->cap)
                return true;

        size_t cap = size_max(size_max(need, body->cap * 2), FIRST_BYTES);
        cap = size_max(size_min(cap, most), need) + BODY_PADDING;
        size_t more = cap - body->cap;
        (void)pthread_mutex_lock(&pool->lock);
        while (pool->bytes + more > pool->max_bytes && pool->idle)
                free_first(pool);
        bool has_room = pool->bytes + more <= pool->max_bytes;
        if (has_room)
                pool->bytes += more;
        (void)pthread_mutex_unlock(&pool->lock);
        if (!has_room)
                return false;
        body->data = xrealloc(body->data, cap);
        body->cap = cap;
        return true;
}
