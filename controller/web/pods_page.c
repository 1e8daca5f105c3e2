#include "controller/web/pods_page.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/web/status_page.h"

struct pods_page {
        struct loop *loop;
        void (*write)(void *userdata, const char *node, struct buf *out);
        void *userdata;

        pthread_mutex_t lock;                                 /* guards what follows */
        struct http_exchange *waiting[PODS_PAGE_MAX_WAITING]; /* suspended */
        size_t waiting_count;
        bool is_stopped;
};

struct pods_page *pods_page_new(struct loop *loop,
                                void (*write)(void *userdata, const char *node, struct buf *out),
                                void *userdata) {
        struct pods_page *page = xcalloc(1, sizeof(*page));

        page->loop = loop;
        page->write = write;
        page->userdata = userdata;
        (void)pthread_mutex_init(&page->lock, NULL);
        return page;
}

void pods_page_free(struct pods_page *page) {
        if (!page)
                return;
        (void)pthread_mutex_destroy(&page->lock);
        free(page);
}

/* NULL: none waits. */
static struct http_exchange *next_waiting(struct pods_page *page) {
        (void)pthread_mutex_lock(&page->lock);
        struct http_exchange *exchange = page->waiting_count > 0
                                                 ? page->waiting[--page->waiting_count]
                                                 : NULL;
        (void)pthread_mutex_unlock(&page->lock);
        return exchange;
}

/* On the loop's thread. */
static void answer_pods(void *userdata) {
        struct pods_page *page = userdata;
        struct http_exchange *exchange;

        while ((exchange = next_waiting(page)) != NULL) {
                struct buf out = BUF_INIT(PODS_PAGE_MAX_BYTES);
                page->write(page->userdata, http_query(exchange, "node"), &out);
                if (out.overflow)
                        buf_done(&out);
                else
                        http_reply_text(exchange, 200, "application/json", &out);
                exchange->reply_headers = status_json_headers;
                http_resume(exchange);
        }
}

/* Under the lock, so that pods_page_stop() does not miss it. */
static bool wait_for_pods(struct pods_page *page, struct http_exchange *exchange) {
        (void)pthread_mutex_lock(&page->lock);
        bool may_wait = !page->is_stopped && page->waiting_count < PODS_PAGE_MAX_WAITING;
        if (may_wait) {
                http_suspend(exchange);
                page->waiting[page->waiting_count++] = exchange;
        }
        (void)pthread_mutex_unlock(&page->lock);
        if (may_wait)
                loop_post(page->loop, answer_pods, page);
        return may_wait;
}

bool pods_page_answer(struct pods_page *page, struct http_exchange *exchange) {
        const char *node;

        if (strcmp(exchange->path, "/pods") != 0)
                return false;
        if (!http_takes(exchange, "GET"))
                return true;
        if ((node = http_query(exchange, "node")) == NULL || !node[0])
                exchange->status = 400;
        else if (!wait_for_pods(page, exchange))
                exchange->status = 503;
        return true;
}

void pods_page_stop(struct pods_page *page) {
        struct http_exchange *exchange;

        (void)pthread_mutex_lock(&page->lock);
        page->is_stopped = true;
        (void)pthread_mutex_unlock(&page->lock);
        while ((exchange = next_waiting(page)) != NULL) {
                exchange->status = 503;
                http_resume(exchange);
        }
}
