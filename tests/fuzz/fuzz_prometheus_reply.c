/*
 * Reading an answer in place gives what jansson's tree of it holds: the same labels and the same
 * values, in the same order. What jansson refuses may be refused or not, but is read within bounds.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "controller/exposition/exposition.h"
#include "controller/source/prometheus/prometheus_reply.h"
#include "fuzz.h"

static const char *const names[PROMETHEUS_LABEL_COUNT] = {"__name__", "instance", "node",
                                                          "nodename", "kubernetes_node"};

/* "" for what is absent, no string, too long, or holds a NUL. */
static const char *label_of(const json_t *metric, const char *name) {
        const json_t *value = json_object_get(metric, name);
        size_t len = json_string_length(value);

        if (!json_is_string(value) || len >= PROMETHEUS_LABEL_MAX ||
            strlen(json_string_value(value)) != len)
                return "";
        return json_string_value(value);
}

static bool value_of(const json_t *pair, double *ret) {
        const json_t *text = json_array_get(pair, 1);
        const char *value = json_string_value(text);

        if (json_array_size(pair) != 2 || !value || strlen(value) != json_string_length(text))
                return false;
        /* A number of more digits than any double has is not read. */
        return strlen(value) < 64 - 1 && exposition_number(value, strlen(value), ret);
}

static void compare(struct prometheus_reply *reply, const json_t *root) {
        const json_t *result = json_object_get(json_object_get(root, "data"), "result");
        struct prometheus_series series;

        for (size_t i = 0; i < json_array_size(result); i++) {
                const json_t *item = json_array_get(result, i);
                if (!json_is_object(item))
                        continue;
                require(prometheus_reply_next(reply, &series));
                const json_t *metric = json_object_get(item, "metric");
                for (size_t l = 0; l < PROMETHEUS_LABEL_COUNT; l++)
                        require(strcmp(series.labels[l], label_of(metric, names[l])) == 0);

                double expected = 0;
                bool has_value = value_of(json_object_get(item, "value"), &expected);
                require(series.has_value == has_value);
                require(!has_value || memcmp(&series.value, &expected, sizeof(double)) == 0 ||
                        (isnan(series.value) && isnan(expected)));
        }
        require(!prometheus_reply_next(reply, &series));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(freep) char *text = xmalloc(size + 1);
        struct prometheus_reply reply;
        struct prometheus_series series;
        struct error err = ERROR_NULL;

        memcpy(text, data, size);
        json_auto_t *root = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
        int r = prometheus_reply_open(text, size, &reply, &err);
        require((r < 0) == (err.msg[0] != '\0'));
        if (r == 0 && root) {
                compare(&reply, root);
                return 0;
        }
        if (r == 0)
                while (prometheus_reply_next(&reply, &series))
                        ;
        return 0;
}
