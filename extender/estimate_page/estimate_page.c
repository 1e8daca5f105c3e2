#include "extender/estimate_page/estimate_page.h"

#include <string.h>

#include "base/clock.h"
#include "extender/estimate_page/estimate_json.h"

static void write_estimate(void *userdata, struct buf *out) {
        struct node_snapshot *snapshot = node_table_acquire(userdata);

        estimate_json(snapshot, clock_wall_unix_ms(), clock_mono_ms(), out);
        node_snapshot_unref(snapshot);
}

struct shared_page *estimate_page_new(struct loop *loop, struct node_table *table) {
        return shared_page_new(&(struct shared_page_options){
                .loop = loop,
                .is_from_loop = true,
                .max_bytes = ESTIMATE_JSON_MAX_BYTES,
                .content_type = "application/json",
                .write = write_estimate,
                .userdata = table,
        });
}

bool estimate_page(struct shared_page *page, struct http_exchange *exchange) {
        if (!page || strcmp(exchange->path, "/estimate") != 0)
                return false;
        if (strcmp(exchange->method, "GET") != 0)
                exchange->status = 405;
        else
                shared_page_answer(page, exchange);
        return true;
}
