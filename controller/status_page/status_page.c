#include "controller/status_page/status_page.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "controller/status_page/status_html.h"

#define COMMON_HEADERS                                                                             \
        "X-Content-Type-Options", "nosniff", "Referrer-Policy", "no-referrer", "Cache-Control",    \
                "no-store", "Cross-Origin-Resource-Policy", "same-origin"

static const char *const html_headers[] = {"Content-Security-Policy", status_html_policy,
                                           COMMON_HEADERS, NULL};
static const char *const json_headers[] = {"Content-Security-Policy",
                                           "default-src 'none'; frame-ancestors 'none'",
                                           COMMON_HEADERS, NULL};
static const char *const method_headers[] = {"Allow", "GET, HEAD", NULL};

/* A rendered text; immutable. */
struct text {
        atomic_uint refs;
        atomic_uint *count; /* of the page's texts */
        size_t len;
        char *data;
};

/* A request for the text. It belongs to the worker, but while it is suspended to the loop. */
struct request {
        SLIST_ENTRY(request) link; /* in page->waiting */
        struct http_exchange *exchange;
        struct text *text; /* a reference; NULL: there is none to give */
        struct iovec piece;
};

SLIST_HEAD(request_list, request);

struct status_page {
        struct status_page_options options;
        struct iovec html;

        pthread_mutex_t lock; /* guards these two */
        struct request_list waiting;
        bool is_stopped;

        /* The loop's. */
        struct text *text; /* of the last STATUS_PAGE_KEEP_MS; NULL: none */
        atomic_uint text_count;
        struct loop_timer forget;
};

static void text_unref(struct text *text) {
        if (!text || atomic_fetch_sub(&text->refs, 1) > 1)
                return;
        atomic_fetch_sub(text->count, 1);
        free(text->data);
        free(text);
}

static struct text *text_ref(struct text *text) {
        if (text)
                atomic_fetch_add(&text->refs, 1);
        return text;
}

/* An http_exchange's release, on the worker's thread. */
static void request_free(void *userdata) {
        struct request *request = userdata;

        text_unref(request->text);
        free(request);
}

/* ---- The loop's side. */

static void on_forget(void *userdata) {
        struct status_page *page = userdata;

        text_unref(TAKE_PTR(page->text));
}

/* NULL: too large. */
static struct text *render(struct status_page *page) {
        struct buf out = BUF_INIT(STATUS_PAGE_MAX_BYTES);

        page->options.write(page->options.userdata, &out);
        if (out.overflow) {
                buf_done(&out);
                return NULL;
        }
        struct text *text = xcalloc(1, sizeof(*text));
        atomic_init(&text->refs, 1);
        text->count = &page->text_count;
        atomic_fetch_add(text->count, 1);
        text->len = out.len;
        text->data = buf_take(&out);
        return text;
}

/* Answers all that wait; @status is for those that get no text. The worker may free a request as
 * soon as it is resumed. */
static void answer_waiting(struct status_page *page, struct text *text, int status) {
        (void)pthread_mutex_lock(&page->lock);
        struct request *request = SLIST_FIRST(&page->waiting), *next;
        SLIST_INIT(&page->waiting);
        (void)pthread_mutex_unlock(&page->lock);

        for (; request; request = next) {
                struct http_exchange *exchange = request->exchange;
                next = SLIST_NEXT(request, link);
                exchange->status = text ? 200 : status;
                if (text) {
                        request->text = text_ref(text);
                        request->piece = (struct iovec){text->data, text->len};
                        exchange->reply = &request->piece;
                        exchange->reply_count = 1;
                        exchange->reply_content_type = "application/json";
                        exchange->reply_headers = json_headers;
                }
                http_resume(exchange);
        }
}

static void on_waiting(void *userdata) {
        struct status_page *page = userdata;
        struct loop *loop = page->options.loop;
        bool is_busy = !page->text && atomic_load(&page->text_count) >= STATUS_PAGE_MAX_TEXTS;

        if (!page->text && !is_busy) {
                page->text = render(page);
                loop_timer_arm(loop, &page->forget, loop_now_mono_ms(loop) + STATUS_PAGE_KEEP_MS,
                               on_forget, page);
        }
        answer_waiting(page, page->text, is_busy ? 503 : 500);
}

/* ---- The worker's side. */

/* Suspends and queues the request under the lock by which status_page_stop() would else miss it;
 * false when it has been called. */
static bool wait_for_text(struct status_page *page, struct http_exchange *exchange) {
        struct request *request = NULL;

        (void)pthread_mutex_lock(&page->lock);
        bool is_first = SLIST_EMPTY(&page->waiting);
        bool is_stopped = page->is_stopped;
        if (!is_stopped) {
                request = xcalloc(1, sizeof(*request));
                request->exchange = exchange;
                exchange->release = request_free;
                exchange->release_userdata = request;
                http_suspend(exchange);
                SLIST_INSERT_HEAD(&page->waiting, request, link);
        }
        (void)pthread_mutex_unlock(&page->lock);
        if (!is_stopped && is_first)
                loop_post(page->options.loop, on_waiting, page);
        return !is_stopped;
}

static void reply_html(const struct status_page *page, struct http_exchange *exchange) {
        exchange->status = 200;
        exchange->reply_content_type = "text/html; charset=utf-8";
        exchange->reply_headers = html_headers;
        exchange->reply = &page->html;
        exchange->reply_count = 1;
}

bool status_page_answer(struct status_page *page, struct http_exchange *exchange) {
        bool is_html = strcmp(exchange->path, "/") == 0;

        if (!is_html && strcmp(exchange->path, "/status.json") != 0)
                return false;
        if (strcmp(exchange->method, "GET") != 0) {
                exchange->status = 405;
                exchange->reply_headers = method_headers;
        } else if (is_html) {
                reply_html(page, exchange);
        } else if (!wait_for_text(page, exchange)) {
                exchange->status = 503;
        }
        return true;
}

/* ---- Begin and end. */

struct status_page *status_page_new(const struct status_page_options *options) {
        struct status_page *page = xcalloc(1, sizeof(*page));

        page->options = *options;
        page->html = (struct iovec){(void *)(uintptr_t)status_html, status_html_bytes};
        (void)pthread_mutex_init(&page->lock, NULL);
        return page;
}

void status_page_stop(struct status_page *page) {
        (void)pthread_mutex_lock(&page->lock);
        page->is_stopped = true;
        (void)pthread_mutex_unlock(&page->lock);
        answer_waiting(page, NULL, 503);
}

void status_page_free(struct status_page *page) {
        if (!page)
                return;
        loop_timer_disarm(page->options.loop, &page->forget);
        text_unref(page->text);
        (void)pthread_mutex_destroy(&page->lock);
        free(page);
}
