#include "controller/series/query_api.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "net/shared_page.h"

enum {
        VALUE_MAX_BYTES = 256, /* of a parameter */
        ERROR_MAX_BYTES = 1024,
        HEX_DIGITS = 2,
};

/* The vector of one metric. It is kept when the policy no longer has the metric: a policy has at
 * most 64 of them, and clients cannot add any. */
struct vector_page {
        LIST_ENTRY(vector_page) entry;
        struct query_api *api;
        struct shared_page *page;
        char metric[];
};

struct query_api {
        struct loop *loop;
        struct node_series *nodes;
        _Atomic int64_t now_unix_ms; /* of the last request */
        pthread_mutex_t lock;        /* of the list; pages are never removed */
        LIST_HEAD(, vector_page) pages;
};

static const char *const json_headers[] = {"Cache-Control", "no-store", "X-Content-Type-Options",
                                           "nosniff", NULL};
static const char *const method_headers[] = {"Allow", "GET, HEAD, POST", NULL};

/* ---- The request. */

static int hex_value(char c) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *at = c ? strchr(digits, c) : NULL;

        if (!at)
                return -1;
        return at - digits < 16 ? (int)(at - digits) : (int)(at - digits) - 6;
}

/* Decodes a name or value of application/x-www-form-urlencoded. False: it is malformed, has a NUL,
 * or does not fit. */
static bool decode_form_value(const char *text, size_t len, struct buf *out) {
        buf_clear(out);
        for (size_t i = 0; i < len; i++) {
                char c = text[i] == '+' ? ' ' : text[i];
                if (c == '%') {
                        if (len - i <= HEX_DIGITS)
                                return false;
                        int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
                        if (high < 0 || low < 0)
                                return false;
                        c = (char)(high << 4 | low);
                        i += HEX_DIGITS;
                }
                if (c == '\0' || !buf_putc(out, c))
                        return false;
        }
        return buf_puts(out, "");
}

static bool is_form(const struct http_exchange *exchange) {
        static const char type[] = "application/x-www-form-urlencoded";

        return strcmp(exchange->method, "POST") == 0 &&
               strncasecmp(exchange->content_type, type, sizeof(type) - 1) == 0;
}

/* The first value of a parameter, in the form or else in the URL; @out is empty if there is none.
 */
static bool find_parameter(const struct http_exchange *exchange, const char *name,
                           struct buf *out) {
        const char *at = exchange->body, *end = at + (is_form(exchange) ? exchange->body_bytes : 0);

        while (at < end) {
                const char *next = memchr(at, '&', (size_t)(end - at));
                const char *stop = next ? next : end;
                const char *equals = memchr(at, '=', (size_t)(stop - at));
                const char *name_end = equals ? equals : stop;
                if (decode_form_value(at, (size_t)(name_end - at), out) &&
                    strcmp(out->data, name) == 0)
                        return decode_form_value(name_end + (equals != NULL),
                                                 (size_t)(stop - name_end) - (equals != NULL), out);
                at = stop + 1;
        }
        buf_clear(out);
        const char *value = http_query(exchange, name);
        return buf_puts(out, value ? value : "");
}

/* Is there no time, or one close to now? */
static bool is_time_near(const struct buf *text, int64_t now_unix_ms) {
        double s, now_ms = (double)now_unix_ms;
        int64_t at_unix_ms;

        if (text->len == 0)
                return true;
        if (timestamp_parse(text->data, text->len, &at_unix_ms))
                s = (double)at_unix_ms / (double)MS_PER_S;
        else if (!number_parse(text->data, text->len, &s))
                return false;
        return fabs(s * (double)MS_PER_S - now_ms) <= QUERY_API_TIME_SLACK_MS;
}

/* ---- The answer. */

static void write_vector(void *userdata, struct buf *out) {
        const struct vector_page *page = userdata;

        (void)buf_puts(out, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
                            "\"result\":[");
        node_series_samples(page->api->nodes, page->metric, atomic_load(&page->api->now_unix_ms),
                            out);
        (void)buf_puts(out, "\n]}}\n");
}

static struct vector_page *new_vector_page(struct query_api *api, const char *metric) {
        size_t len = strlen(metric);
        struct vector_page *page = xcalloc(1, sizeof(*page) + len + 1);

        page->api = api;
        memcpy(page->metric, metric, len);
        page->page = shared_page_new(&(struct shared_page_options){
                .loop = api->loop,
                .max_bytes = QUERY_API_MAX_BYTES,
                .content_type = "application/json",
                .headers = json_headers,
                .write = write_vector,
                .userdata = page,
        });
        return page;
}

static struct shared_page *page_of_metric(struct query_api *api, const char *metric) {
        struct vector_page *page = NULL;

        (void)pthread_mutex_lock(&api->lock);
        LIST_FOREACH (page, &api->pages, entry)
                if (strcmp(page->metric, metric) == 0)
                        break;
        if (!page) {
                page = new_vector_page(api, metric);
                LIST_INSERT_HEAD(&api->pages, page, entry);
        }
        (void)pthread_mutex_unlock(&api->lock);
        return page->page;
}

static int write_error(struct buf *out, int status, const char *type, const char *text) {
        json_write_object(out, NULL);
        json_write_text(out, "status", "error");
        json_write_text(out, "errorType", type);
        json_write_text(out, "error", text);
        json_write_object_end(out);
        buf_putc(out, '\n');
        return status;
}

static int write_bad_data(struct buf *out, const char *text) {
        return write_error(out, 400, "bad_data", text);
}

/* Returns the status of the answer in @out; 0: the answer is the vector of @query. */
static int write_other_answer(const struct query_api *api, const struct http_exchange *exchange,
                              int64_t now_unix_ms, struct buf *query, struct buf *out) {
        _cleanup_(buf_done) struct buf time = BUF_INIT(VALUE_MAX_BYTES);

        if (!find_parameter(exchange, "query", query))
                return write_bad_data(out, "invalid parameter \"query\": malformed or too long");
        /* Grafana asks for this at a time in 1970. */
        if (strcmp(query->data, "1+1") == 0) {
                (void)buf_printf(out,
                                 "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\","
                                 "\"result\":[%lld,\"2\"]}}\n",
                                 (long long)(now_unix_ms / MS_PER_S));
                return 200;
        }
        if (!find_parameter(exchange, "time", &time) || !is_time_near(&time, now_unix_ms))
                return write_bad_data(out,
                                      "invalid parameter \"time\": only present values are "
                                      "known; leave it out, or use a time within 5 minutes of now");
        int r = node_series_has(api->nodes, query->data);
        if (r == -ENOENT)
                return write_bad_data(out,
                                      "invalid parameter \"query\": not a metric of the policy "
                                      "in force (spec.syncPolicy); PromQL is not supported");
        return r < 0 ? write_error(out, 503, "unavailable", "no node has a recent value") : 0;
}

bool query_api_answer(struct query_api *api, struct http_exchange *exchange, int64_t now_unix_ms) {
        _cleanup_(buf_done) struct buf query = BUF_INIT(VALUE_MAX_BYTES);
        struct buf out = BUF_INIT(ERROR_MAX_BYTES);

        if (strcmp(exchange->path, "/api/v1/query") != 0)
                return false;
        if (strcmp(exchange->method, "GET") != 0 && strcmp(exchange->method, "POST") != 0) {
                exchange->status = 405;
                exchange->reply_headers = method_headers;
                return true;
        }
        int status = write_other_answer(api, exchange, now_unix_ms, &query, &out);
        if (status != 0) {
                http_reply_text(exchange, status, "application/json", &out);
                exchange->reply_headers = json_headers;
                return true;
        }
        atomic_store(&api->now_unix_ms, now_unix_ms);
        shared_page_answer(page_of_metric(api, query.data), exchange);
        return true;
}

struct query_api *query_api_new(struct loop *loop, struct node_series *nodes) {
        struct query_api *api = xcalloc(1, sizeof(*api));

        api->loop = loop;
        api->nodes = nodes;
        (void)pthread_mutex_init(&api->lock, NULL);
        return api;
}

void query_api_free(struct query_api *api) {
        struct vector_page *page = NULL;

        if (!api)
                return;
        while ((page = LIST_FIRST(&api->pages)) != NULL) {
                LIST_REMOVE(page, entry);
                shared_page_free(page->page);
                free(page);
        }
        (void)pthread_mutex_destroy(&api->lock);
        free(api);
}
