/*
 * A form gets an answer in one of the two forms of Prometheus' API, as its status says, and a value
 * only of the metric that is there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/series/query_api.h"
#include "fuzz.h"

static bool begins(const char *text, const char *with) {
        return strncmp(text, with, strlen(with)) == 0;
}

static struct node_metrics *one_node(struct policy *policy) {
        struct node_metrics *nodes = node_metrics_new(NULL);

        node_metrics_set_policy(nodes, policy);
        require(node_metrics_begin(nodes, 1));
        uint32_t row = node_metrics_add(nodes, "n", NODE_METRICS_NONE);
        node_metrics_publish(nodes);
        node_metrics_set(nodes, row, &(struct plan_values){.usable = 1, .ratio = {0.5}});
        return nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct policy policy = {.metric_count = 1, .metrics = {{.name = "cpu_usage_avg_5m"}}};
        _cleanup_(node_metrics_freep) struct node_metrics *nodes = one_node(&policy);
        struct query_api api = {.nodes = nodes};
        struct http_exchange exchange = {.method = "POST",
                                         .path = "/api/v1/query",
                                         .content_type = "application/x-www-form-urlencoded",
                                         .body = (const char *)data,
                                         .body_bytes = size};

        require(query_api_answer(&api, &exchange, INT64_C(1700000000000)));
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
