#include "controller/source/metrics_api/metrics_api_list.h"

#include <string.h>

#include "base/duration.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "kube/list_page.h"

struct visit {
        metrics_api_item_fn *fn;
        void *userdata;
};

static bool read_usage_amount(const json_t *item, const char *resource, double *ret) {
        const char *text = json_string_at(item, "usage", resource, NULL);
        double amount;

        if (!text || !quantity_parse(text, strlen(text), &amount) || amount <= 0)
                return false;
        *ret = amount;
        return true;
}

static int64_t read_window(const json_t *item) {
        const char *text = json_string_at(item, "window", NULL);
        int64_t window_ms;

        if (!text || duration_parse(text, strlen(text), &window_ms) < 0 || window_ms <= 0)
                return NODE_METRICS_WINDOW_MS;
        return window_ms < NODE_METRICS_MAX_WINDOW_MS ? window_ms : NODE_METRICS_MAX_WINDOW_MS;
}

static bool read_item(const json_t *item, struct metrics_api_item *ret) {
        const char *timestamp = json_string_at(item, "timestamp", NULL);
        struct metrics_api_item metrics = {.window_ms = read_window(item)};

        if (!timestamp || !timestamp_parse(timestamp, strlen(timestamp), &metrics.at_unix_ms))
                return false;
        metrics.has_cpu = read_usage_amount(item, "cpu", &metrics.cpu_cores);
        metrics.has_memory = read_usage_amount(item, "memory", &metrics.memory_bytes);
        *ret = metrics;
        return metrics.has_cpu || metrics.has_memory;
}

static void on_listed_metrics(void *userdata, const char *text, size_t len) {
        const struct visit *visit = userdata;
        json_auto_t *item = NULL;
        struct metrics_api_item metrics;

        if (json_parse(text, len, &item, NULL) < 0)
                return;
        const char *node = json_string_at(item, "metadata", "name", NULL);
        if (!node || !*node)
                return;
        visit->fn(visit->userdata, node, read_item(item, &metrics) ? &metrics : NULL);
}

int metrics_api_list_parse(const char *text, size_t len, metrics_api_item_fn *fn, void *userdata,
                           struct error *err) {
        struct visit visit = {fn, userdata};

        return list_page_parse(text, len, NULL, on_listed_metrics, &visit, NULL, err);
}
