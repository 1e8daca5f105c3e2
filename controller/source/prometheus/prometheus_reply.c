#include "controller/source/prometheus/prometheus_reply.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "controller/exposition/exposition.h"

/* Call @fn with the cursor at each member's value, which it must consume. */
typedef bool member_fn(struct skim *skim, const char *key, void *userdata);

static bool walk_object(struct skim *skim, member_fn *fn, void *userdata) {
        struct skim_string key;
        enum skim_step step;
        char text[32];

        if (skim_peek(skim) != '{')
                return false;
        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;)
                if (!fn(skim, skim_decode(&key, text, sizeof(text)) ? text : "", userdata))
                        return false;
        return step == SKIM_END;
}

/* False after the last element, however often it is called. */
static bool next_element(struct skim *array) {
        if (skim_element(array) == SKIM_MORE)
                return true;
        *array = (struct skim){0};
        return false;
}

/* Copy a string into @text, which stays empty for any other value, and, without @may_be_cut, for a
 * string that does not fit. */
static bool take_text(struct skim *skim, char *text, size_t cap, bool may_be_cut) {
        struct skim_string string;

        text[0] = '\0';
        if (skim_peek(skim) != '"')
                return skim_value(skim);
        if (!skim_string(skim, &string))
                return false;
        if (!skim_decode(&string, text, cap) && !may_be_cut)
                text[0] = '\0';
        return true;
}

/* A label or a value: one that does not fit cannot be one that we look for. */
static bool take_label(struct skim *skim, char *text, size_t cap) {
        return take_text(skim, text, cap, false);
}

/* Enter the array at the cursor; any other value is an array without elements. */
static struct skim array_at(const struct skim *skim) {
        struct skim array = *skim;

        if (skim_peek(skim) != '[')
                return (struct skim){0};
        skim_enter(&array);
        return array;
}

/* The envelope */

struct envelope {
        char status[16], result_type[16];
        char error_type[32], error[PROMETHEUS_TEXT_MAX];
        struct skim result; /* at NULL: none */
        size_t warning_count;
        char warning[PROMETHEUS_TEXT_MAX];
};

static bool take_warnings(struct skim *skim, struct envelope *envelope) {
        struct skim warnings = array_at(skim);

        for (envelope->warning_count = 0; next_element(&warnings); envelope->warning_count++) {
                char text[PROMETHEUS_TEXT_MAX];
                bool is_first = envelope->warning_count == 0;
                if (!take_text(&warnings, is_first ? envelope->warning : text, sizeof(text), true))
                        return false;
        }
        return skim_value(skim);
}

static bool take_data_member(struct skim *skim, const char *key, void *userdata) {
        struct envelope *envelope = userdata;

        if (strcmp(key, "resultType") == 0)
                return take_text(skim, envelope->result_type, sizeof(envelope->result_type), true);
        if (strcmp(key, "result") == 0)
                envelope->result = array_at(skim);
        return skim_value(skim);
}

static bool take_member(struct skim *skim, const char *key, void *userdata) {
        struct envelope *envelope = userdata;

        if (strcmp(key, "status") == 0)
                return take_text(skim, envelope->status, sizeof(envelope->status), true);
        if (strcmp(key, "errorType") == 0)
                return take_text(skim, envelope->error_type, sizeof(envelope->error_type), true);
        if (strcmp(key, "error") == 0)
                return take_text(skim, envelope->error, sizeof(envelope->error), true);
        if (strcmp(key, "warnings") == 0)
                return take_warnings(skim, envelope);
        if (strcmp(key, "data") == 0) {
                envelope->result = (struct skim){0};
                envelope->result_type[0] = '\0';
                if (skim_peek(skim) == '{')
                        return walk_object(skim, take_data_member, envelope);
        }
        return skim_value(skim);
}

int prometheus_reply_open(const char *text, size_t len, struct prometheus_reply *ret,
                          struct error *err) {
        struct envelope envelope = {0};
        struct skim skim;

        skim_init(&skim, text, len);
        if (!walk_object(&skim, take_member, &envelope) || !skim_at_end(&skim))
                return error_set(err, EBADMSG,
                                 "not a Prometheus API response: malformed at byte %zu of %zu",
                                 (size_t)(skim.at - text), len);
        if (strcmp(envelope.status, "error") == 0)
                return error_set(err, EREMOTEIO, "%s: %s", envelope.error_type, envelope.error);
        if (strcmp(envelope.status, "success") != 0 || !envelope.result.at ||
            strcmp(envelope.result_type, "vector") != 0)
                return error_set(err, EBADMSG,
                                 "not a Prometheus API response: status \"%s\", resultType \"%s\"",
                                 envelope.status, envelope.result_type);
        *ret = (struct prometheus_reply){
                .warning_count = envelope.warning_count,
                .results = envelope.result,
        };
        memcpy(ret->warning, envelope.warning, sizeof(ret->warning));
        return 0;
}

/* Series: the text has been checked before. */

static bool take_metric_label(struct skim *skim, const char *key, void *userdata) {
        static const char *const names[PROMETHEUS_LABEL_COUNT] = {
                [PROMETHEUS_NAME] = "__name__",
                [PROMETHEUS_INSTANCE] = "instance",
                [PROMETHEUS_NODE] = "node",
                [PROMETHEUS_NODENAME] = "nodename",
                [PROMETHEUS_KUBERNETES_NODE] = "kubernetes_node",
        };
        struct prometheus_series *series = userdata;

        for (size_t i = 0; i < PROMETHEUS_LABEL_COUNT; i++)
                if (strcmp(key, names[i]) == 0)
                        return take_label(skim, series->labels[i], PROMETHEUS_LABEL_MAX);
        return skim_value(skim);
}

/* The value of [1435781451.781,"0.5"]. */
static bool take_series_value(struct skim pair, double *ret_value) {
        char text[NUMBER_TEXT_MAX * 2];

        if (!next_element(&pair))
                return false;
        (void)!skim_value(&pair);
        if (!next_element(&pair))
                return false;
        (void)!take_label(&pair, text, sizeof(text));
        return exposition_number(text, strlen(text), ret_value) && !next_element(&pair);
}

static void forget_labels(struct prometheus_series *series) {
        for (size_t i = 0; i < PROMETHEUS_LABEL_COUNT; i++)
                series->labels[i][0] = '\0';
}

static bool take_series_member(struct skim *skim, const char *key, void *userdata) {
        struct prometheus_series *series = userdata;

        if (strcmp(key, "metric") == 0) {
                forget_labels(series);
                if (skim_peek(skim) == '{')
                        return walk_object(skim, take_metric_label, series);
        } else if (strcmp(key, "value") == 0) {
                series->has_value = take_series_value(array_at(skim), &series->value);
        }
        return skim_value(skim);
}

bool prometheus_reply_next(struct prometheus_reply *reply, struct prometheus_series *ret) {
        while (next_element(&reply->results)) {
                bool is_series = skim_peek(&reply->results) == '{';
                ret->has_value = false;
                forget_labels(ret);
                if (is_series)
                        return walk_object(&reply->results, take_series_member, ret);
                (void)!skim_value(&reply->results);
        }
        return false;
}
