/* The explanation for programs. */
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "extender/explain/explain.h"

/* Here jansson returns NULL only without memory: every text is valid UTF-8 already. */
static json_t *must(json_t *value) {
        if (!value)
                mem_exhausted();
        return value;
}

static void set(json_t *object, const char *key, json_t *value) {
        if (json_object_set_new(object, key, must(value)) < 0)
                mem_exhausted();
}

static void append(json_t *array, json_t *value) {
        if (json_array_append_new(array, value) < 0)
                mem_exhausted();
}

/* JSON has no infinity, which the product with a reading of 1e308 may be. */
static json_t *number_json(double value) {
        return number_is_finite(value) ? json_real(value) : json_null();
}

static void set_reading(json_t *object, const struct reading *reading, int64_t now_unix_ms) {
        char text[TIMESTAMP_MAX];

        set(object, "state", json_string(node_reading_state_name(reading->state)));
        if (reading->text)
                set(object, "annotation", json_string(reading->text));
        if (reading->state == READING_MALFORMED)
                set(object, "why", json_string(reading->err.msg));
        if (reading->state == READING_MALFORMED || reading->state == READING_MISSING)
                return;
        set(object, "value", json_real(reading->value));
        timestamp_format_ms(reading->at_unix_ms, text, sizeof(text));
        set(object, "at", json_string(text));
        timestamp_format_ms(reading->expires_unix_ms, text, sizeof(text));
        set(object, "expires", json_string(text));
        set(object, "ageSeconds", json_real((double)(now_unix_ms - reading->at_unix_ms) / 1000));
}

static json_t *predicate_json(const struct explanation *of, size_t row, size_t i) {
        const struct policy_predicate *predicate = &of->policy->predicates[i];
        json_t *object = must(json_object());
        struct reading reading;

        node_table_reading(of->table, row, predicate->metric, of->now_unix_ms, &reading);
        set(object, "metric", json_string(of->policy->sync[predicate->metric].name));
        set(object, "limit", json_real(predicate->limit_ratio));
        set(object, "rejects",
            json_boolean(reading.state == READING_USABLE && predicate->limit_ratio > 0 &&
                         reading.value > predicate->limit_ratio));
        set_reading(object, &reading, of->now_unix_ms);
        return object;
}

static json_t *priority_json(const struct explanation *of, size_t row, size_t i) {
        const struct policy_priority *priority = &of->policy->priorities[i];
        json_t *object = must(json_object());
        struct reading reading;

        node_table_reading(of->table, row, priority->metric, of->now_unix_ms, &reading);
        set(object, "metric", json_string(of->policy->sync[priority->metric].name));
        set(object, "weight", json_real(priority->weight));
        set(object, "scale",
            json_string(priority->scale == POLICY_SCALE_RELATIVE ? "relative" : "absolute"));
        if (priority->scale == POLICY_SCALE_RELATIVE)
                set(object, "largest", json_real(of->largest->usage_ratio[i]));
        double usage = verdict_usage_share(of->policy, i, reading.value, of->largest);
        set(object, "free",
            number_json(reading.state == READING_USABLE ? (1 - usage) * priority->weight * 100
                                                        : 0));
        set_reading(object, &reading, of->now_unix_ms);
        return object;
}

static json_t *node_json(const struct explanation *of, size_t row) {
        const struct policy *policy = of->policy;
        const struct node_verdict *verdict = &of->verdicts[row];
        json_t *object = must(json_object());
        json_t *predicates = must(json_array());
        json_t *priorities = must(json_array());
        json_t *hot = must(json_object());
        struct reading reading;

        set(object, "node", json_string(node_table_name(of->table, row)));
        if (verdict->rejected_by >= 0) {
                const struct policy_predicate *by = &policy->predicates[verdict->rejected_by];
                set(object, "rejectedBy", json_string(policy->sync[by->metric].name));
                set(object, "reason", json_string(by->reason));
        } else {
                set(object, "rejectedBy", json_string(""));
                set(object, "reason", json_string(""));
        }
        set(object, "score100", json_integer(verdict->score100));
        set(object, "score", json_integer(of->scores10[row]));
        for (size_t i = 0; i < policy->predicate_count; i++)
                append(predicates, predicate_json(of, row, i));
        set(object, "predicates", predicates);
        for (size_t i = 0; i < policy->priority_count; i++)
                append(priorities, priority_json(of, row, i));
        set(object, "priorities", priorities);
        node_table_hot_reading(of->table, row, of->now_unix_ms, &reading);
        set_reading(hot, &reading, of->now_unix_ms);
        set(object, "hotValue", hot);
        return object;
}

void explain_print_json(const struct explanation *explanation, FILE *out) {
        json_auto_t *array = must(json_array());

        for (size_t row = 0; row < node_table_count(explanation->table); row++)
                append(array, node_json(explanation, row));
        (void)json_dumpf(array, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        (void)fputc('\n', out);
}
