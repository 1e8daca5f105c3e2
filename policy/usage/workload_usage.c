#include "policy/usage/workload_usage.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "policy/usage/usage_load.h"

static const double COUNT_MAX = 1e9;

static int parse_number(const char *text, size_t len, double max, double *ret, struct error *err) {
        double value;

        if (!number_parse(text, len, &value))
                return error_set(err, EINVAL, "\"%.*s\" is not a number", (int)len, text);
        if (!(value >= 0 && value <= max))
                return error_set(err, ERANGE, "\"%.*s\" is negative or too large", (int)len, text);
        *ret = value;
        return 0;
}

static int parse_time(const char *text, size_t len, int64_t *ret, struct error *err) {
        if (!timestamp_parse(text, len, ret))
                return error_set(err, EINVAL, "\"%.*s\" is not a time", (int)len, text);
        return 0;
}

/* "41:3,42:120"; its weights are relative to each other. */
static int parse_histogram(const char *text, size_t len, struct usage_histogram *ret,
                           struct error *err) {
        const char *end = text + len;

        while (text < end) {
                const char *comma = memchr(text, ',', (size_t)(end - text));
                const char *stop = comma ? comma : end;
                const char *colon = memchr(text, ':', (size_t)(stop - text));
                uint64_t bucket, weight;
                if (!colon || !number_parse_u64(text, (size_t)(colon - text), &bucket) ||
                    bucket >= USAGE_BUCKETS ||
                    !number_parse_u64(colon + 1, (size_t)(stop - colon - 1), &weight) ||
                    weight > WORKLOAD_USAGE_WEIGHT_MAX)
                        return error_set(err, EINVAL, "\"%.*s\" is not <bucket>:<weight>",
                                         (int)(stop - text), text);
                ret->weights[bucket] = (float)weight;
                text = comma ? comma + 1 : end;
        }
        return 0;
}

/* The loads of a line. */
static const struct {
        const char *key;
        size_t offset;
} loads[] = {
        {"request", offsetof(struct workload_usage, request)},
        {"mean", offsetof(struct workload_usage, mean)},
        {"spread", offsetof(struct workload_usage, spread)},
        {"p95", offsetof(struct workload_usage, p95)},
        {"max", offsetof(struct workload_usage, max)},
        {"week", offsetof(struct workload_usage, week_max)},
};

static bool is_key(const char *key, size_t len, const char *of) {
        return len == strlen(of) && memcmp(key, of, len) == 0;
}

static int parse_value(const char *key, size_t key_len, const char *text, size_t len,
                       struct workload_usage *usage, struct error *err) {
        double number;
        int r;

        for (size_t i = 0; i < ARRAY_LEN(loads); i++)
                if (is_key(key, key_len, loads[i].key))
                        return usage_load_parse(
                                text, len, 1,
                                (struct pod_load *)(void *)((char *)usage + loads[i].offset), err);
        if (is_key(key, key_len, "since"))
                return parse_time(text, len, &usage->since_unix_ms, err);
        if (is_key(key, key_len, "seen"))
                return parse_time(text, len, &usage->seen_unix_ms, err);
        if (is_key(key, key_len, "weight"))
                return parse_number(text, len, COUNT_MAX, &usage->weight, err);
        if (is_key(key, key_len, "cpu"))
                return parse_histogram(text, len, &usage->histograms[ESTIMATE_CPU], err);
        if (is_key(key, key_len, "mem"))
                return parse_histogram(text, len, &usage->histograms[ESTIMATE_MEM], err);
        if (is_key(key, key_len, "pods") || is_key(key, key_len, "guaranteed")) {
                r = parse_number(text, len, COUNT_MAX, &number, err);
                if (r < 0)
                        return r;
                if (key[0] == 'p')
                        usage->pods = (size_t)number;
                else
                        usage->is_guaranteed = number > 0;
        }
        return 0;
}

bool workload_usage_is_name(const char *text, size_t len) {
        if (len == 0 || len > WORKLOAD_USAGE_NAME_MAX)
                return false;
        for (size_t i = 0; i < len; i++)
                if (text[i] <= ' ' || text[i] > '~')
                        return false;
        return true;
}

static int parse_words(const char *at, const char *end, struct workload_usage *ret,
                       struct error *err) {
        bool has_mean = false;

        while (at < end) {
                const char *space = memchr(at, ' ', (size_t)(end - at));
                const char *stop = space ? space : end;
                const char *equals = memchr(at, '=', (size_t)(stop - at));
                if (!equals)
                        return error_set(err, EINVAL, "\"%.*s\" is not <key>=<value>",
                                         (int)(stop - at), at);
                size_t key_len = (size_t)(equals - at);
                int r = parse_value(at, key_len, equals + 1, (size_t)(stop - equals - 1), ret, err);
                if (r < 0)
                        return error_wrap(err, r, "%.*s", (int)key_len, at);
                has_mean |= is_key(at, key_len, "mean");
                at = space ? space + 1 : end;
        }
        return has_mean ? 0 : error_set(err, EINVAL, "there is no mean");
}

int workload_usage_parse(const char *line, size_t len, struct workload_usage_name *ret_name,
                         struct workload_usage *ret, struct error *err) {
        const char *space = len <= WORKLOAD_USAGE_LINE_MAX ? memchr(line, ' ', len) : NULL;
        struct workload_usage usage = {0};

        if (!space || !workload_usage_is_name(line, (size_t)(space - line)))
                return error_set(err, EINVAL, "not a workload's line");
        int r = parse_words(space + 1, line + len, &usage, err);
        if (r < 0)
                return r;
        for (int i = 0; i < ESTIMATE_RESOURCE_COUNT; i++) {
                double weight = usage_histogram_weight(&usage.histograms[i]);
                if (weight > 0)
                        usage_histogram_scale(&usage.histograms[i], usage.weight / weight);
        }
        *ret_name = (struct workload_usage_name){.text = line, .len = (size_t)(space - line)};
        *ret = usage;
        return 0;
}

static void format_histogram(const char *key, const struct usage_histogram *histogram,
                             struct buf *out) {
        float largest = 0;
        char separator = '=';

        for (size_t i = 0; i < USAGE_BUCKETS; i++)
                largest = fmaxf(largest, histogram->weights[i]);
        if (!(largest > 0))
                return;
        (void)buf_printf(out, " %s", key);
        for (size_t i = 0; i < USAGE_BUCKETS; i++) {
                float weight = histogram->weights[i] / largest * WORKLOAD_USAGE_WEIGHT_MAX;
                if (weight >= 0.5F) {
                        (void)buf_printf(out, "%c%zu:%.0f", separator, i, (double)weight);
                        separator = ',';
                }
        }
}

void workload_usage_format(const struct workload_usage *usage, const char *name, size_t name_len,
                           struct buf *out) {
        char since[TIMESTAMP_MAX], seen[TIMESTAMP_MAX];

        timestamp_format_s(usage->since_unix_ms, since, sizeof(since));
        timestamp_format_s(usage->seen_unix_ms, seen, sizeof(seen));
        (void)buf_append(out, name, name_len);
        (void)buf_printf(out, " pods=%zu guaranteed=%d", usage->pods, usage->is_guaranteed);
        for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
                const struct pod_load *load = (const void *)((const char *)usage + loads[i].offset);
                (void)buf_printf(out, " %s=%.4g/%.4g", loads[i].key, load->of[ESTIMATE_CPU],
                                 load->of[ESTIMATE_MEM]);
        }
        (void)buf_printf(out, " since=%s seen=%s weight=%.4g", since, seen, usage->weight);
        format_histogram("cpu", &usage->histograms[ESTIMATE_CPU], out);
        format_histogram("mem", &usage->histograms[ESTIMATE_MEM], out);
        (void)buf_putc(out, '\n');
}

size_t workload_usage_shard(const char *name, size_t name_len, size_t shards) {
        return hash_fnv1a(HASH_FNV1A_INIT, name, name_len) % shards;
}

size_t workload_usage_shards(const char *text) {
        uint64_t count = 1;

        (void)(text && number_parse_u64(text, strlen(text), &count));
        return size_min(size_max((size_t)count, 1), WORKLOADS_SHARDS_MAX);
}

void workload_usage_config_map(size_t shard, char text[static WORKLOADS_CONFIG_MAP_MAX]) {
        if (shard == 0)
                (void)snprintf(text, WORKLOADS_CONFIG_MAP_MAX, "%s", WORKLOADS_CONFIG_MAP);
        else
                (void)snprintf(text, WORKLOADS_CONFIG_MAP_MAX, "%s-%zu", WORKLOADS_CONFIG_MAP,
                               shard);
}
