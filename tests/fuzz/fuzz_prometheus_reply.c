/*
 * Reading an answer in place gives what jansson's tree of it holds: the same labels and the same
 * points, in the same order. What jansson refuses may be refused or not, but is read within bounds.
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

static bool point_of(const json_t *pair, struct prometheus_point *ret) {
        const json_t *at = json_array_get(pair, 0), *text = json_array_get(pair, 1);
        const char *value = json_string_value(text);

        if (json_array_size(pair) != 2 || !json_is_number(at) || !value ||
            strlen(value) != json_string_length(text))
                return false;
        ret->at_unix_s = json_number_value(at);
        /* A number of more digits than any double has is not read. */
        return strlen(value) < 64 - 1 && exposition_number(value, strlen(value), &ret->value);
}

static void compare(struct prometheus_reply *reply, const json_t *root) {
        const json_t *result = json_object_get(json_object_get(root, "data"), "result");
        struct prometheus_series series;
        struct prometheus_point point;

        for (size_t i = 0; i < json_array_size(result); i++) {
                const json_t *item = json_array_get(result, i);
                if (!json_is_object(item))
                        continue;
                require(prometheus_reply_next(reply, &series));
                const json_t *metric = json_object_get(item, "metric");
                for (size_t l = 0; l < PROMETHEUS_LABEL_COUNT; l++)
                        require(strcmp(series.labels[l], label_of(metric, names[l])) == 0);

                const json_t *values = json_object_get(item, reply->is_matrix ? "values" : "value");
                struct prometheus_point expected;
                for (size_t p = 0; p < (reply->is_matrix ? json_array_size(values) : 1); p++) {
                        if (!point_of(reply->is_matrix ? json_array_get(values, p) : values,
                                      &expected))
                                continue;
                        require(prometheus_series_next(&series, &point));
                        require(point.at_unix_s == expected.at_unix_s);
                        require(memcmp(&point.value, &expected.value, sizeof(double)) == 0 ||
                                (isnan(point.value) && isnan(expected.value)));
                }
                require(!prometheus_series_next(&series, &point));
        }
        require(!prometheus_reply_next(reply, &series));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(freep) char *text = xmalloc(size + 1);
        struct prometheus_reply reply;
        struct prometheus_series series;
        struct prometheus_point point;
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
                        while (prometheus_series_next(&series, &point))
                                ;
        return 0;
}
