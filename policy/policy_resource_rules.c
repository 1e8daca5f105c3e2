#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "policy/policy_rules.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* @len bytes of @inner, the first of @first and the last of @last. */
static bool is_made_of(const char *text, size_t len, const char *first, const char *inner,
                       const char *last) {
        return len > 0 && strspn(text, inner) == len && strchr(first, text[0]) &&
               strchr(last, text[len - 1]);
}

static bool is_series_name(const char *text, size_t len) {
        static const char first[] = LOWER UPPER "_:", inner[] = LOWER UPPER DIGITS "_:";

        return len <= POLICY_SERIES_NAME_MAX && is_made_of(text, len, first, inner, inner);
}

static bool is_label_name(const char *text, size_t len) {
        static const char first[] = LOWER UPPER "_", inner[] = LOWER UPPER DIGITS "_";

        return len <= POLICY_LABEL_NAME_MAX && is_made_of(text, len, first, inner, inner);
}

/* ASCII, so that characters are bytes for the API server's limit and for ours. */
static bool is_label_value(const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (text[i] < ' ' || text[i] > '~')
                        return false;
        return len <= POLICY_LABEL_VALUE_MAX;
}

static bool is_built_in(const char *name) {
        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++)
                if (strcmp(metric_resource_name(r), name) == 0)
                        return true;
        return false;
}

int policy_rule_resource_name(struct policy_reader *reader, const struct tree_node *node,
                              void *value) {
        static const char what[] = "a name of at most 32 of a-z, 0-9 and '_', without \"_usage_\"";
        const char *text = NULL;
        int r = policy_read_text(reader, node, what, &text);

        if (r < 0)
                return r;
        if (node->text_len > POLICY_RESOURCE_NAME_MAX || strstr(text, "_usage_") ||
            !is_made_of(text, node->text_len, LOWER, LOWER DIGITS "_", LOWER DIGITS))
                return policy_reader_expected(reader, node, "%s", what);
        if (is_built_in(text))
                return policy_reader_expected(reader, node, "a name that is not built in");
        memcpy(value, text, node->text_len + 1);
        return 0;
}

int policy_rule_exporter(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "an --exporter's name of at most 32 of a-z, 0-9 and '-'";
        const char *text = NULL;
        int r = policy_read_text(reader, node, what, &text);

        if (r < 0)
                return r;
        if (node->text_len > POLICY_RESOURCE_NAME_MAX ||
            !is_made_of(text, node->text_len, LOWER, LOWER DIGITS "-", LOWER DIGITS))
                return policy_reader_expected(reader, node, "%s", what);
        memcpy(value, text, node->text_len + 1);
        return 0;
}

int policy_rule_series(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] =
                "a series' name of at most 128 letters, digits, '_' and ':', without labels";
        const char *text = NULL;
        int r = policy_read_text(reader, node, what, &text);

        if (r < 0)
                return r;
        if (!is_series_name(text, node->text_len))
                return policy_reader_expected(reader, node, "%s", what);
        memcpy(value, text, node->text_len + 1);
        return 0;
}

/* One of @count words, as its place among them. @what names them all. */
static int read_word(struct policy_reader *reader, const struct tree_node *node, const char *what,
                     const char *const *words, size_t count, size_t *ret) {
        const char *text = NULL;
        int r = policy_read_text(reader, node, what, &text);

        if (r < 0)
                return r;
        for (size_t i = 0; i < count; i++) {
                if (strcmp(words[i], text) == 0) {
                        *ret = i;
                        return 0;
                }
        }
        return policy_reader_expected(reader, node, "%s", what);
}

int policy_rule_resource_kind(struct policy_reader *reader, const struct tree_node *node,
                              void *value) {
        static const char *const words[] = {
                [POLICY_GAUGE] = "gauge",
                [POLICY_COUNTER] = "counter",
        };
        size_t kind = 0;
        int r = read_word(reader, node, "gauge or counter", words, ARRAY_LEN(words), &kind);

        if (r == 0)
                *(enum policy_kind *)value = (enum policy_kind)kind;
        return r;
}

int policy_rule_reduce(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char *const words[] = {
                [POLICY_REDUCE_MAX] = "max",
                [POLICY_REDUCE_MEAN] = "mean",
                [POLICY_REDUCE_SUM] = "sum",
                [POLICY_REDUCE_MIN] = "min",
        };
        size_t reduce = 0;
        int r = read_word(reader, node, "max, mean, sum or min", words, ARRAY_LEN(words), &reduce);

        if (r == 0)
                *(enum policy_reduce *)value = (enum policy_reduce)reduce;
        return r;
}

int policy_rule_match(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "at most 128 printable ASCII characters";
        struct policy_metric *resource = value;

        if (node->kind != TREE_MAP)
                return policy_reader_expected(reader, node, "a map of labels");
        if (node->count > POLICY_MAX_MATCHES)
                return policy_reader_refuse(reader, node, "expected at most %d labels, got %zu",
                                            POLICY_MAX_MATCHES, node->count);
        for (size_t i = 0; i < node->count; i++) {
                const struct tree_node *item = &node->items[i];
                const char *name = node->keys[i];
                if (!is_label_name(name, strlen(name)))
                        return policy_reader_refuse(reader, node,
                                                    "expected labels of at most 64 letters, "
                                                    "digits and '_', got %.80s",
                                                    name);
                if (item->kind != TREE_SCALAR || tree_is_null(item) ||
                    !is_label_value(item->text, item->text_len))
                        return policy_reader_expected_in(reader, name, item, "%s", what);
                struct policy_match *match = &resource->matches[resource->match_count++];
                memcpy(match->name, name, strlen(name) + 1);
                memcpy(match->value, item->text, item->text_len + 1);
        }
        return 0;
}

int policy_rule_capacity(struct policy_reader *reader, const struct tree_node *node, void *value) {
        static const char what[] = "a finite number > 0";
        double capacity = 0;
        int r = policy_read_number(reader, node, what, &capacity);

        if (r < 0)
                return r;
        if (capacity <= 0)
                return policy_reader_expected(reader, node, "%s", what);
        *(double *)value = capacity;
        return 0;
}

int policy_check_resource(struct policy_reader *reader, const struct tree_node *node,
                          size_t index) {
        const struct policy_metric *resources = reader->policy->metrics;

        for (size_t i = 0; i < index; i++)
                if (strcmp(resources[i].name, resources[index].name) == 0)
                        return policy_expect_once(reader, node);
        bool has_series = resources[index].capacity_series[0] != '\0';
        if (has_series == (resources[index].capacity > 0))
                return policy_reader_refuse(reader, node,
                                            "expected either capacity or capacitySeries, got %s",
                                            has_series ? "both" : "neither");
        return 0;
}
