/*
 * A form gets an answer in one of the two forms of Prometheus' API, as its status says, and a value
 * only of the metric that is there.
 */
#include <string.h>

#include "base/mem.h"
#include "controller/series/query_api.h"
#include "fuzz.h"

static bool begins(const char *text, const char *with) {
        return strncmp(text, with, strlen(with)) == 0;
}

static struct node_series *one_node(void) {
        static struct policy policy = {.metric_count = 1,
                                       .metrics = {{.name = "cpu_usage_avg_5m"}}};
        struct node_series *nodes = node_series_new(NULL);
        _cleanup_(freep) struct series_row *row = NULL;

        node_series_set_policy(nodes, &policy);
        node_series_keep(nodes, &row, &(struct plan_values){.usable = 1, .ratio = {0.5}});
        node_series_begin(nodes, 1);
        node_series_add(nodes, "n", false, row);
        node_series_publish(nodes);
        return nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static struct query_api *api;
        struct http_exchange exchange = {.method = "POST",
                                         .path = "/api/v1/query",
                                         .content_type = "application/x-www-form-urlencoded",
                                         .body = (const char *)data,
                                         .body_bytes = size};

        if (!api)
                api = query_api_new(loop_new(), one_node());
        require(query_api_answer(api, &exchange, INT64_C(1700000000000)));
        _cleanup_(freep) char *text = xmemdup0(exchange.reply->iov_base, exchange.reply->iov_len);
        exchange.release(exchange.release_userdata);
        require(exchange.status == 200 || exchange.status == 400);
        require(strcmp(text + strlen(text) - 2, "}\n") == 0);
        require(begins(text, exchange.status == 200
                                     ? "{\"status\":\"success\",\"data\":{"
                                     : "{\"status\":\"error\",\"errorType\":\"bad_data\","));
        if (strstr(text, "vector"))
                require(strstr(text, ",\"0.5\"]}") != NULL);
        return 0;
}
