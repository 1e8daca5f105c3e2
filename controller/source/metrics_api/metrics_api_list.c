#include "controller/source/metrics_api/metrics_api_list.h"

#include <string.h>

#include "base/duration.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "kube/list_page.h"

struct visit {
        metrics_api_item_fn *fn;
        void *userdata;
};

/* Adds to @total. */
static bool add_amount(const json_t *usage, const char *resource, double *total) {
        const char *text = json_string_at(usage, resource, NULL);
        double amount;

        if (!text || !quantity_parse(text, strlen(text), &amount) || amount < 0)
                return false;
        *total += amount;
        return true;
}

/* Return: whether there is an amount of all containers, or of the node. */
static bool read_amount(const json_t *item, const char *resource, double *ret) {
        const json_t *containers = json_at(item, "containers", NULL), *container;
        double total = 0;
        size_t i;

        if (!containers && !add_amount(json_at(item, "usage", NULL), resource, &total))
                return false;
        json_array_foreach (containers, i, container)
                if (!add_amount(json_at(container, "usage", NULL), resource, &total))
                        return false;
        *ret = total;
        return total > 0 || (json_array_size(containers) > 0 && strcmp(resource, "cpu") == 0);
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
        metrics.has_cpu = read_amount(item, "cpu", &metrics.cpu_cores);
        metrics.has_memory = read_amount(item, "memory", &metrics.memory_bytes);
        *ret = metrics;
        return metrics.has_cpu || metrics.has_memory;
}

static void on_listed_metrics(void *userdata, const char *text, size_t len) {
        const struct visit *visit = userdata;
        json_auto_t *item = NULL;
        struct metrics_api_item metrics;

        if (json_parse(text, len, &item, NULL) < 0)
                return;
        const char *name = json_string_at(item, "metadata", "name", NULL);
        const char *namespace = json_string_at(item, "metadata", "namespace", NULL);
        if (!name || !*name)
                return;
        _cleanup_(freep) char *full = namespace ? xasprintf("%s/%s", namespace, name) : NULL;
        visit->fn(visit->userdata, full ? full : name, read_item(item, &metrics) ? &metrics : NULL);
}

int metrics_api_list_parse(const char *text, size_t len, metrics_api_item_fn *fn, void *userdata,
                           struct error *err) {
        struct visit visit = {fn, userdata};

        return list_page_parse(text, len, NULL, on_listed_metrics, &visit, NULL, err);
}
