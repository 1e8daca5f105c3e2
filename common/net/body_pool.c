#include "net/body_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/mem.h"

enum {
        RETAINED_BYTES = 64 * 1024 * 1024,
};

void body_pool_init(struct body_pool *pool, size_t max_bytes, size_t keep_max_bytes) {
        *pool = (struct body_pool){.max_bytes = max_bytes, .keep_max_bytes = keep_max_bytes};
        (void)pthread_mutex_init(&pool->lock, NULL);
}

static void free_first_idle(struct body_pool *pool) {
        struct body *body = pool->idle;

        pool->idle = body->next;
        pool->idle_bytes -= body->cap;
        pool->bytes -= body->cap;
        free(body->data);
        free(body);
}

void body_pool_done(struct body_pool *pool) {
        while (pool->idle)
                free_first_idle(pool);
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
        if (!body)
                return xcalloc(1, sizeof(*body));
        body->len = 0;
        return body;
}

void body_give_back(struct body_pool *pool, struct body *body) {
        (void)pthread_mutex_lock(&pool->lock);
        body->next = pool->idle;
        pool->idle = body;
        pool->idle_bytes += body->cap;
        if (body->cap > pool->keep_max_bytes || pool->idle_bytes > RETAINED_BYTES)
                free_first_idle(pool);
        (void)pthread_mutex_unlock(&pool->lock);
}

static bool body_reserve(struct body_pool *pool, struct body *body, size_t need, size_t most) {
        if (need + BODY_PADDING <= body->cap)
                return true;

        size_t cap = size_max(size_max(need, body->cap * 2), BODY_FIRST_BYTES);
        cap = size_max(size_min(cap, most), need) + BODY_PADDING;
        size_t more = cap - body->cap;
        (void)pthread_mutex_lock(&pool->lock);
        while (pool->bytes + more > pool->max_bytes && pool->idle)
                free_first_idle(pool);
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

bool body_append(struct body_pool *pool, struct body *body, const char *data, size_t len,
                 size_t most) {
        if (!body_reserve(pool, body, body->len + len, most))
                return false;
        memcpy(body->data + body->len, data, len);
        body->len += len;
        return true;
}

const char *body_text(struct body *body) {
        memset(body->data + body->len, 0, BODY_PADDING);
        return body->data;
}
