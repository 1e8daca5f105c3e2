/*
 * Parses replies of Prometheus' HTTP API to /api/v1/query in place, without building a tree: a
 * reply about 5,000 nodes needs no memory except for its text. Pure.
 * https://prometheus.io/docs/prometheus/latest/querying/api/
 *
 *     {"status":"success","data":{"resultType":"vector","result":[
 *         {"metric":{"__name__":"up","instance":"10.0.0.7:9100"},"value":[1435781451.781,"1"]}]}}
 *     {"status":"error","errorType":"bad_data","error":"..."}      also with a 2xx status
 *
 * The text must be JSON with at most SKIM_MAX_DEPTH levels. Unknown members are ignored. Keys may
 * come in any order, and the last of a repeated key counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/skim.h"

enum {
        PROMETHEUS_LABEL_MAX = 256, /* a longer one cannot name a node, and is read as "" */
        PROMETHEUS_TEXT_MAX = 200,  /* errors and warnings are truncated */
};

/* The labels that can name a node, "" if absent; instance has priority. */
enum prometheus_label {
        PROMETHEUS_NAME, /* __name__ */
        PROMETHEUS_INSTANCE,
        PROMETHEUS_NODE,
        PROMETHEUS_NODENAME,
        PROMETHEUS_KUBERNETES_NODE,
        PROMETHEUS_LABEL_COUNT,
};

struct prometheus_series {
        char labels[PROMETHEUS_LABEL_COUNT][PROMETHEUS_LABEL_MAX];
        bool has_value; /* false: the value is missing or malformed */
        double value;   /* may be NaN or infinite */
};

struct prometheus_reply {
        size_t warning_count;              /* > 0: the result may be incomplete */
        char warning[PROMETHEUS_TEXT_MAX]; /* the first */
        struct skim results;               /* private */
};

/**
 * prometheus_reply_open() - check the whole reply, and go to the first series
 * @text: borrowed until the last series has been read
 * @ret:  set on success only
 * Return: 0; -EBADMSG if it is not such a reply; -EREMOTEIO if Prometheus reports an error: @err is
 * "errorType: error"
 */
_must_check_ int prometheus_reply_open(const char *text, size_t len, struct prometheus_reply *ret,
                                       struct error *err);

/** prometheus_reply_next() - the next series; false after the last */
bool prometheus_reply_next(struct prometheus_reply *reply, struct prometheus_series *ret);
