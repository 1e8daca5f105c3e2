/* Whatever metrics.k8s.io may answer, what is handed on can be computed with. */

#include "codec/quantity.h"
#include "controller/source/metrics_api/metrics_api_list.h"
#include "fuzz.h"

static void check_amount(bool is_known, double amount) {
        require(amount >= 0 && amount <= QUANTITY_MAX);
        require(is_known || amount == 0);
}

static void check(void *userdata, const char *node, const struct metrics_api_item *metrics) {
        size_t *calls = userdata;

        ++*calls;
        require(node[0] != '\0');
        if (!metrics)
                return;
        require(metrics->has_cpu || metrics->has_memory);
        check_amount(metrics->has_cpu, metrics->cpu_cores);
        check_amount(metrics->has_memory, metrics->memory_bytes);
        require(metrics->window_ms > 0 && metrics->window_ms <= NODE_METRICS_MAX_WINDOW_MS);
        /* Years 0000 to 9999: differences of two do not overflow. */
        require(llabs(metrics->at_unix_ms) < INT64_C(1) << 50);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;
        struct error err = ERROR_NULL;
        size_t calls = 0;

        int r = metrics_api_list_parse(text, size, check, &calls, &err);
        require((r < 0) == (err.msg[0] != '\0'));
        require(calls <= size / 2); /* an item has two braces at the least */
        return 0;
}
