#include "policy/metric_name.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"

static const struct {
        const char *name;
        enum metric_statistic statistic;
} statistics[] = {
        {"avg", METRIC_AVG}, {"max_avg", METRIC_MAX}, {"max", METRIC_MAX}, {"p50", METRIC_P50},
        {"p90", METRIC_P90}, {"p95", METRIC_P95},     {"p99", METRIC_P99},
};

/* The rest of @text after @prefix and @separator; NULL if @text does not begin with them. */
static const char *skip(const char *text, const char *prefix, const char *separator) {
        size_t prefix_len = strlen(prefix), separator_len = strlen(separator);

        if (strncmp(text, prefix, prefix_len) != 0 ||
            strncmp(text + prefix_len, separator, separator_len) != 0)
                return NULL;
        return text + prefix_len + separator_len;
}

static bool window_parse(const char *text, int64_t *ret_ms) {
        static const char units[] = "smhd";
        static const int64_t unit_ms[] = {MS_PER_S, MS_PER_MIN, MS_PER_HOUR, MS_PER_DAY};
        size_t len = strlen(text);
        const char *unit = len < 2 ? NULL : strchr(units, text[len - 1]);
        uint64_t number = 0;
        int64_t window_ms = 0;

        if (!unit || !number_parse_u64(text, len - 1, &number) ||
            __builtin_mul_overflow(number, unit_ms[unit - units], &window_ms) || window_ms == 0)
                return false;
        *ret_ms = window_ms;
        return true;
}

bool metric_query_parse(const char *name, const char *resource_name, unsigned resource,
                        struct metric_query *ret) {
        const char *rest = skip(name, resource_name, "_usage_");

        /* "max" is the beginning of "max_avg": the rest decides. */
        for (size_t s = 0; rest && s < ARRAY_LEN(statistics); s++) {
                const char *window = skip(rest, statistics[s].name, "_");
                int64_t window_ms = 0;
                if (!window || !window_parse(window, &window_ms))
                        continue;
                *ret = (struct metric_query){
                        .resource = resource,
                        .statistic = statistics[s].statistic,
                        .window_ms = window_ms,
                };
                return true;
        }
        return false;
}

/* "5m" of "cpu_usage_avg5m"; @name is not empty */
static const char *window_of(const char *name) {
        const char *digits = name + strlen(name) - 1;
        int64_t window_ms;

        while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
                digits--;
        return window_parse(digits, &window_ms) ? digits : "5m";
}

/* "memory_usage_avg_5m" of mem_usage_avg_5m; gpu_mem is another resource than gpu */
static bool is_longer_word(const char *name, const char *resource_name, const char *candidate) {
        const char *letters = skip(name, resource_name, ""), *usage = strstr(name, "_usage_");

        return letters && usage && letters + strcspn(letters, "_") == usage &&
               strcmp(usage, candidate + strlen(resource_name)) == 0;
}

void metric_query_offer(const char *resource_name, struct nearest *nearest,
                        char ret[static METRIC_NAME_MAX + 1]) {
        /* gpu is not a misspelling of cpu. */
        if (nearest->word[0] != resource_name[0])
                return;
        for (size_t s = 0; s < ARRAY_LEN(statistics); s++) {
                char candidate[METRIC_NAME_MAX + 1];
                struct nearest next = *nearest;
                int len = snprintf(candidate, sizeof(candidate), "%s_usage_%s_%s", resource_name,
                                   statistics[s].name, window_of(nearest->word));
                if (len > METRIC_NAME_MAX)
                        continue;
                nearest_offer(&next, candidate);
                if (is_longer_word(nearest->word, resource_name, candidate))
                        next = (struct nearest){nearest->word, candidate, 1};
                if (next.candidate != candidate)
                        continue;
                memcpy(ret, candidate, (size_t)len + 1);
                nearest->candidate = ret;
                nearest->distance = next.distance;
        }
}

static bool is_letter_or_digit(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool metric_name_is_valid(const char *name) {
        size_t len = strnlen(name, METRIC_NAME_MAX + 1);

        if (len == 0 || len > METRIC_NAME_MAX || !is_letter_or_digit(name[0]) ||
            !is_letter_or_digit(name[len - 1]))
                return false;
        for (size_t i = 0; i < len; i++)
                if (!is_letter_or_digit(name[i]) && !strchr("._-", name[i]))
                        return false;
        return true;
}
