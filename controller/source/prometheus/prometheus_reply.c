#include "controller/source/prometheus/prometheus_reply.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "codec/skim_fields.h"
#include "controller/exposition/exposition.h"

/* False after the last element, however often it is called. */
static bool next_element(struct skim *array) {
        if (skim_element(array) == SKIM_MORE)
                return true;
        *array = (struct skim){0};
        return false;
}

/* Enter the array at the cursor; any other value is an array without elements. */
static struct skim array_at(const struct skim *skim) {
        struct skim array = *skim;

        if (skim_peek(skim) != '[')
                return (struct skim){0};
        skim_enter(&array);
        return array;
}

/* Decode the string at the cursor. Any other value is "", and so is a string that does not fit: it
 * cannot be one that we look for. */
static bool read_decoded(struct skim *skim, char *text, size_t cap) {
        struct skim_string string;
        bool is_well = skim_field_any_text(skim, &string);

        if (!string.text || !skim_decode(&string, text, cap))
                text[0] = '\0';
        return is_well;
}

/* The envelope */

struct warnings {
        size_t count;
        struct skim_string first;
};

struct envelope {
        struct skim_string status, error_type, error;
        struct data {
                struct skim_string result_type;
                struct skim result; /* at NULL: none */
        } data;
        struct warnings warnings;
};

static bool read_warning(struct skim *skim, void *ret) {
        struct warnings *warnings = ret;

        return warnings->count++ == 0 ? skim_field_any_text(skim, &warnings->first)
                                      : skim_value(skim);
}

static bool read_result(struct skim *skim, void *ret) {
        *(struct skim *)ret = array_at(skim);
        return skim_value(skim);
}

static const struct skim_field data_fields[] = {
        SKIM_TEXT("resultType", struct data, result_type),
        SKIM_VALUE("result", struct data, result, read_result),
        {0},
};

static const struct skim_field envelope_fields[] = {
        SKIM_TEXT("status", struct envelope, status),
        SKIM_VALUE("errorType", struct envelope, error_type, skim_field_any_text),
        SKIM_VALUE("error", struct envelope, error, skim_field_any_text),
        SKIM_LIST("warnings", struct envelope, warnings, read_warning),
        SKIM_OBJECT("data", struct envelope, data, data_fields),
        {0},
};

/* What is only shown is cut. */
static const char *shown(const struct skim_string *string, char text[static PROMETHEUS_TEXT_MAX]) {
        text[0] = '\0';
        if (string->text)
                (void)!skim_decode(string, text, PROMETHEUS_TEXT_MAX);
        return text;
}

int prometheus_reply_open(const char *text, size_t len, struct prometheus_reply *ret,
                          struct error *err) {
        char first[PROMETHEUS_TEXT_MAX], second[PROMETHEUS_TEXT_MAX];
        struct envelope envelope = {0};
        const struct data *data = &envelope.data;
        struct skim skim;

        skim_init(&skim, text, len);
        if (!skim_fields(&skim, envelope_fields, &envelope) || !skim_at_end(&skim))
                return error_set(err, EBADMSG,
                                 "not a Prometheus API response: malformed at byte %zu of %zu",
                                 (size_t)(skim.at - text), len);
        if (skim_is(&envelope.status, "error"))
                return error_set(err, EREMOTEIO, "%s: %s", shown(&envelope.error_type, first),
                                 shown(&envelope.error, second));
        if (!skim_is(&envelope.status, "success") || !data->result.at ||
            !skim_is(&data->result_type, "vector"))
                return error_set(err, EBADMSG,
                                 "not a Prometheus API response: status \"%s\", resultType \"%s\"",
                                 shown(&envelope.status, first), shown(&data->result_type, second));
        ret->warning_count = envelope.warnings.count;
        ret->results = data->result;
        (void)shown(&envelope.warnings.first, ret->warning);
        return 0;
}

/* Series: the text has been checked before. */

static bool read_label(struct skim *skim, void *ret) {
        return read_decoded(skim, ret, PROMETHEUS_LABEL_MAX);
}

#define LABEL(key, label)                                                                          \
        {                                                                                          \
                SKIM_ONLY(key, char[PROMETHEUS_LABEL_MAX]), .at = (label)*PROMETHEUS_LABEL_MAX,    \
                                                            .read = read_label                     \
        }

static const struct skim_field label_fields[] = {
        LABEL("__name__", PROMETHEUS_NAME),
        LABEL("instance", PROMETHEUS_INSTANCE),
        LABEL("node", PROMETHEUS_NODE),
        LABEL("nodename", PROMETHEUS_NODENAME),
        LABEL("kubernetes_node", PROMETHEUS_KUBERNETES_NODE),
        {0},
};

/* The value of [1435781451.781,"0.5"]. */
static bool read_series_value(struct skim *skim, void *ret) {
        struct prometheus_series *series = ret;
        struct skim pair = array_at(skim);
        char text[NUMBER_TEXT_MAX * 2] = "";

        series->has_value = next_element(&pair) && skim_value(&pair) && next_element(&pair) &&
                            read_decoded(&pair, text, sizeof(text)) &&
                            exposition_number(text, strlen(text), &series->value) &&
                            !next_element(&pair);
        return skim_value(skim);
}

bool prometheus_reply_next(struct prometheus_reply *reply, struct prometheus_series *ret) {
        static const struct skim_field fields[] = {
                SKIM_OBJECT("metric", struct prometheus_series, labels, label_fields),
                {SKIM_ONLY("value", struct prometheus_series), .read = read_series_value},
                {0},
        };

        while (next_element(&reply->results)) {
                bool is_series = skim_peek(&reply->results) == '{';
                *ret = (struct prometheus_series){0};
                if (!skim_fields(&reply->results, fields, ret))
                        return false;
                if (is_series)
                        return true;
        }
        return false;
}
