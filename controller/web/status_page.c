#include "controller/web/status_page.h"

#include <string.h>

#include "controller/web/status_html.h"

#define COMMON_HEADERS                                                                             \
        "X-Content-Type-Options", "nosniff", "Referrer-Policy", "no-referrer", "Cache-Control",    \
                "no-store", "Cross-Origin-Resource-Policy", "same-origin"

static const char *const html_headers[] = {"Content-Security-Policy", status_html_policy,
                                           COMMON_HEADERS, NULL};
const char *const status_json_headers[] = {"Content-Security-Policy",
                                           "default-src 'none'; frame-ancestors 'none'",
                                           COMMON_HEADERS, NULL};

struct shared_page *status_page_new(struct loop *loop,
                                    void (*write)(void *userdata, struct buf *out),
                                    void *userdata) {
        return shared_page_new(&(struct shared_page_options){
                .loop = loop,
                .is_from_loop = true,
                .max_bytes = STATUS_PAGE_MAX_BYTES,
                .content_type = "application/json",
                .headers = status_json_headers,
                .write = write,
                .userdata = userdata,
        });
}

static void reply_html(struct http_exchange *exchange) {
        exchange->status = 200;
        exchange->reply_content_type = "text/html; charset=utf-8";
        exchange->reply_headers = html_headers;
        exchange->reply = &status_html;
        exchange->reply_count = 1;
}

bool status_page_answer(struct shared_page *json, struct http_exchange *exchange) {
        if (strcmp(exchange->path, "/") != 0)
                return shared_page_serve(json, "/status.json", exchange);
        if (http_takes(exchange, "GET"))
                reply_html(exchange);
        return true;
}
