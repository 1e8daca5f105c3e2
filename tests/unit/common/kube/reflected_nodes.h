/* Nodes in JSON from a server that answers from a script, and what a reflector of them reports. */
#pragma once

#include "codec/json.h"
#include "tests/unit/fixture/reflector_fixture.h"

#define OBJECT(name, version)                                                                      \
        "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name                                   \
        "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT_OF(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define EVENT(type, name, version) EVENT_OF(type, OBJECT(name, version))
#define BOOKMARK(version)                                                                          \
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}"  \
        "\n"
#define EXPIRED                                                                                    \
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"                        \
        "\"reason\":\"Expired\",\"message\":\"too old resource version\"}}\n"
#define LIST(version, next, items)                                                                 \
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"" version                      \
        "\",\"continue\":\"" next "\"},\"items\":[" items "]}"

/* What the reflector asks for. */
#define ANY_LIST "GET /api/v1/nodes?limit=100"
#define FIRST_LIST ANY_LIST " "
#define RELIST(version) ANY_LIST "&resourceVersion=" version "&resourceVersionMatch=NotOlderThan "
#define WATCH(version) "watch=1&resourceVersion=" version "&"

/* What is asked for, and the answer: an HTTP status, or one of these. */
struct step {
        const char *expect;
        enum {
                STREAM = -1,
                STREAM_OPEN = -2,
                CHUNK_CUT = -3,
                CHUNK_OPEN = -4,
                RAW_OPEN = -5,
                CLOSED = -6
        } status;
        const char *body;
};

static inline char *response_of(const struct step *step) {
        if (step->status == CLOSED)
                return NULL;
        if (step->status == RAW_OPEN)
                return xstrdup(step->body);
        if (step->status == CHUNK_CUT || step->status == CHUNK_OPEN)
                return scripted_chunk(step->body, false);
        if (step->status < 0)
                return scripted_stream(step->body);
        /* A server that throttles says for how long. */
        return scripted_http((int)step->status, step->status == 429 ? "Retry-After: 0\r\n" : "",
                             step->body);
}

/* @steps: the last one is all zero */
static inline void add_steps(struct fixture *f, const struct step *steps) {
        for (; steps->expect; steps++)
                answer(f, steps->expect, response_of(steps),
                       steps->status == STREAM_OPEN || steps->status == CHUNK_OPEN ||
                               steps->status == RAW_OPEN);
}

/* "+ a;", or "+ a/UID;" if that is not "u-a" */
static inline void on_event(void *userdata, enum reflector_event event, const json_t *object) {
        struct fixture *f = userdata;
        const char *name = json_string_at(object, "metadata", "name", NULL);
        const char *uid = json_string_at(object, "metadata", "uid", NULL);

        assert_non_null(name);
        (void)buf_printf(&f->log, "%c %s", event == REFLECTOR_DELETED ? '-' : '+', name);
        if (uid && (strncmp(uid, "u-", 2) != 0 || strcmp(uid + 2, name) != 0))
                (void)buf_printf(&f->log, "/%s", uid);
        (void)buf_putc(&f->log, ';');
}

/* @wish: what differs from the usual */
static inline void begin_reflecting(struct fixture *f, const struct reflector_spec *wish) {
        struct reflector_spec spec = *wish;

        spec.name = "nodes";
        spec.path = "/api/v1/nodes";
        if (!spec.on_text)
                spec.on_event = on_event;
        if (spec.first_pause_ms == 0)
                spec.first_pause_ms = 2;
        spec.userdata = f;
        f->reflector = reflector_new(f->rig.loop, f->rig.api, f->rig.metrics, &spec);
}

/* How often a watch ended for a reason. */
struct restart {
        const char *reason;
        int count;
};

static inline void check_restarts(struct fixture *f, const struct restart *wanted, size_t count) {
        for (size_t i = 0; i < count && wanted[i].reason; i++)
                if (restarts(f, wanted[i].reason) != wanted[i].count)
                        fail_msg("%s: %g restarts are %s", f->name, restarts(f, wanted[i].reason),
                                 wanted[i].reason);
}
