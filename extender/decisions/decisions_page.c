#include "extender/decisions/decisions_page.h"

#include <assert.h>
#include <string.h>

#include "base/json_write.h"
#include "base/name.h"

/* Copies one decision at a time, so no worker waits for more than one copy. */
static void write_list(void *userdata, struct buf *json) {
        uint16_t slots[DECISIONS_MAX];
        size_t count = decisions_list(userdata, slots);
        struct decision decision;
        int64_t confirmed_unix_ms = 0;

        json_write_object(json, NULL);
        json_write_array(json, "decisions");
        for (size_t i = 0; i < count; i++) {
                decisions_at(userdata, slots[i], &decision);
                json_write_line(json);
                decision_json(&decision, 1, json);
                if (confirmed_unix_ms < decision.confirmed_unix_ms)
                        confirmed_unix_ms = decision.confirmed_unix_ms;
        }
        json_write_array_end(json);
        json_write_time(json, "lastConfirmedAt", confirmed_unix_ms);
        json_write_object_end(json);
        buf_putc(json, '\n');
}

struct shared_page *decisions_page_list(struct loop *loop, struct decisions *decisions) {
        return shared_page_new(&(struct shared_page_options){
                .loop = loop,
                .max_bytes = DECISION_JSON_LIST_MAX_BYTES,
                .content_type = "application/json",
                .write = write_list,
                .userdata = decisions,
        });
}

static void reply_one(struct decisions *decisions, const char *full_name,
                      struct http_exchange *exchange) {
        struct buf json = BUF_INIT(DECISION_JSON_MAX_BYTES);
        struct decision decision;

        if (!name_is_of_pod(full_name)) {
                http_reply_error(exchange, 400, "pod: expected NAMESPACE/NAME");
        } else if (!decisions_get(decisions, full_name, http_query(exchange, "uid"), &decision)) {
                http_reply_error(
                        exchange, 404,
                        "no such pod among the last ones that this extender was asked about");
        } else {
                decision_json(&decision, SIZE_MAX, &json);
                buf_putc(&json, '\n');
                assert(!json.overflow);
                http_reply_text(exchange, 200, "application/json", &json);
        }
}

bool decisions_page(struct decisions *decisions, struct shared_page *list,
                    struct http_exchange *exchange) {
        if (strcmp(exchange->path, "/decisions") != 0)
                return false;
        const char *full_name = http_query(exchange, "pod");
        if (!http_takes(exchange, "GET"))
                return true;
        if (full_name)
                reply_one(decisions, full_name, exchange);
        else
                shared_page_answer(list, exchange);
        return true;
}
