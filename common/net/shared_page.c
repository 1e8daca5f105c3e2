#include "net/shared_page.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/mem.h"

struct text {
        atomic_uint refs;
        atomic_uint *count; /* the page's count of texts */
        int64_t expires_mono_ms;
        int status;         /* 500: the text was too large, and is empty */
        struct iovec piece; /* its data is owned */
};

struct shared_page {
        struct shared_page_options options;
        atomic_uint text_count;

        pthread_mutex_t render_lock; /* of the worker that renders */

        pthread_mutex_t lock; /* guards all members below but `age` */
        struct text *text;    /* the newest one; NULL: none */
        /* Suspended, for the loop. */
        struct http_exchange *waiting[SHARED_PAGE_MAX_WAITING];
        size_t waiting_count;
        bool is_stopped;

        struct loop_timer age; /* on the loop */
};

static void text_unref(struct text *text) {
        if (!text || atomic_fetch_sub(&text->refs, 1) > 1)
                return;
        atomic_fetch_sub(text->count, 1);
        free(text->piece.iov_base);
        free(text);
}

static struct text *text_ref(struct text *text) {
        if (text)
                atomic_fetch_add(&text->refs, 1);
        return text;
}

/* Whether there is room for a text in its place. */
static bool can_replace(const struct shared_page *page, struct text *text) {
        return atomic_load(&page->text_count) < SHARED_PAGE_MAX_TEXTS ||
               atomic_load(&text->refs) == 1;
}

/* A reference to the text; NULL: there is none, or it was too old and has been dropped. Then there
 * is room for another one. */
static struct text *find_text(struct shared_page *page) {
        struct text *old = NULL;

        (void)pthread_mutex_lock(&page->lock);
        if (page->text && page->text->expires_mono_ms <= clock_mono_ms() &&
            can_replace(page, page->text))
                old = TAKE_PTR(page->text);
        struct text *text = text_ref(page->text);
        (void)pthread_mutex_unlock(&page->lock);
        text_unref(old);
        return text;
}

/* On the loop's thread: drops the text when it is too old. */
static void look_at_age(void *userdata) {
        struct shared_page *page = userdata;
        struct text *text = find_text(page);

        if (text)
                loop_timer_arm(page->options.loop, &page->age,
                               clock_mono_ms() + SHARED_PAGE_KEEP_MS, look_at_age, page);
        text_unref(text);
}

static struct text *render_text(struct shared_page *page) {
        struct buf out = BUF_INIT(page->options.max_bytes);
        struct text *text = xcalloc(1, sizeof(*text));

        page->options.write(page->options.userdata, &out);
        bool is_whole = !out.overflow;
        if (!is_whole)
                buf_done(&out);
        atomic_init(&text->refs, 2); /* of the page and of the caller */
        text->count = &page->text_count;
        atomic_fetch_add(text->count, 1);
        text->expires_mono_ms = clock_mono_ms() + SHARED_PAGE_KEEP_MS;
        text->status = is_whole ? 200 : 500;
        text->piece.iov_len = out.len;
        text->piece.iov_base = buf_take(&out);

        (void)pthread_mutex_lock(&page->lock);
        page->text = text;
        (void)pthread_mutex_unlock(&page->lock);
        loop_post(page->options.loop, look_at_age, page);
        return text;
}

/* A reference. One thread at a time. */
static struct text *find_or_render(struct shared_page *page) {
        struct text *text = find_text(page);

        return text ? text : render_text(page);
}

/* An http_exchange's release. */
static void release_text(void *userdata) {
        text_unref(userdata);
}

/* @text: the reference is consumed */
static void reply_with_text(const struct shared_page *page, struct http_exchange *exchange,
                            struct text *text) {
        exchange->status = text ? text->status : 503;
        if (!text)
                return;
        exchange->release = release_text;
        exchange->release_userdata = text;
        if (text->status != 200)
                return;
        exchange->reply = &text->piece;
        exchange->reply_count = 1;
        exchange->reply_content_type = page->options.content_type;
        exchange->reply_headers = page->options.headers;
}

/* Without a text: 503. A worker can end an exchange as soon as it is resumed. */
static void answer_waiting(struct shared_page *page, struct text *text) {
        struct http_exchange *waiting[SHARED_PAGE_MAX_WAITING];

        (void)pthread_mutex_lock(&page->lock);
        size_t count = page->waiting_count;
        memcpy(waiting, page->waiting, count * sizeof(*waiting));
        page->waiting_count = 0;
        (void)pthread_mutex_unlock(&page->lock);

        for (size_t i = 0; i < count; i++) {
                reply_with_text(page, waiting[i], text_ref(text));
                http_resume(waiting[i]);
        }
}

/* On the loop's thread. */
static void on_waiting(void *userdata) {
        struct shared_page *page = userdata;
        struct text *text = find_or_render(page);

        answer_waiting(page, text);
        text_unref(text);
}

/* Suspends and queues the request under the lock, so that shared_page_stop() does not miss it.
 * Return: false after shared_page_stop(), or if too many requests wait */
static bool wait_for_text(struct shared_page *page, struct http_exchange *exchange) {
        (void)pthread_mutex_lock(&page->lock);
        bool may_wait = !page->is_stopped && page->waiting_count < SHARED_PAGE_MAX_WAITING;
        bool is_first = page->waiting_count == 0;
        if (may_wait) {
                http_suspend(exchange);
                page->waiting[page->waiting_count++] = exchange;
        }
        if (may_wait && is_first)
                loop_post(page->options.loop, on_waiting, page);
        (void)pthread_mutex_unlock(&page->lock);
        return may_wait;
}

void shared_page_answer(struct shared_page *page, struct http_exchange *exchange) {
        struct text *text = find_text(page);

        assert(!exchange->release);
        if (!text && page->options.is_from_loop) {
                if (wait_for_text(page, exchange))
                        return;
        } else if (!text) {
                (void)pthread_mutex_lock(&page->render_lock);
                text = find_or_render(page);
                (void)pthread_mutex_unlock(&page->render_lock);
        }
        reply_with_text(page, exchange, text);
}

bool shared_page_serve(struct shared_page *page, const char *path, struct http_exchange *exchange) {
        if (!page || strcmp(exchange->path, path) != 0)
                return false;
        if (http_takes(exchange, "GET"))
                shared_page_answer(page, exchange);
        return true;
}

struct shared_page *shared_page_new(const struct shared_page_options *options) {
        struct shared_page *page = xcalloc(1, sizeof(*page));

        page->options = *options;
        (void)pthread_mutex_init(&page->render_lock, NULL);
        (void)pthread_mutex_init(&page->lock, NULL);
        return page;
}

void shared_page_stop(struct shared_page *page) {
        (void)pthread_mutex_lock(&page->lock);
        page->is_stopped = true;
        (void)pthread_mutex_unlock(&page->lock);
        answer_waiting(page, NULL);
}

void shared_page_free(struct shared_page *page) {
        if (!page)
                return;
        loop_timer_disarm(page->options.loop, &page->age);
        text_unref(page->text);
        (void)pthread_mutex_destroy(&page->lock);
        (void)pthread_mutex_destroy(&page->render_lock);
        free(page);
}
