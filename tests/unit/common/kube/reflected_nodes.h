/* Nodes in JSON from a server that answers from a script, and what a reflector of them reports. */
#pragma once

#include "codec/json.h"
#include "tests/unit/fixture/reflector_fixture.h"
#include "tests/unit/fixture/rows.h"

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
#define LIST_HEAD(version, next)                                                                   \
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"" version                      \
        "\",\"continue\":\"" next "\"},\"items\":["
#define LIST(version, next, items) LIST_HEAD(version, next) items "]}"

/* What the reflector asks for. */
#define ANY_LIST "GET /api/v1/nodes?limit=100"
#define FIRST_LIST ANY_LIST " "
#define WATCH(version) "watch=1&resourceVersion=" version "&"

/* "NAME:VERSION"; or it stands for itself. */
static inline void put_object(struct buf *out, const char *word) {
        int len = (int)strcspn(word, ":");

        if (*word == '{')
                (void)buf_puts(out, word);
        else
                (void)buf_printf(out, OBJECT("%.*s", "%s"), len, word, len, word, word + len + 1);
}

static inline void put_event(struct buf *out, const char *word) {
        const char *type = *word == '+'   ? "ADDED"
                           : *word == '~' ? "MODIFIED"
                           : *word == '-' ? "DELETED"
                                          : NULL;

        if (type) {
                (void)buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
                put_object(out, word + 1);
                (void)buf_puts(out, "}\n");
        } else if (*word == '@') {
                (void)buf_printf(out, BOOKMARK("%s"), word + 1);
        } else {
                (void)buf_puts(out, *word == '!' ? EXPIRED : word);
        }
}

static inline void put_list(struct buf *out, char *words) {
        char *next = strsep(&words, " ");
        const char *version = strsep(&next, ",");

        (void)buf_printf(out, LIST_HEAD("%s", "%s"), version, next ? next : "");
        for (char *word; (word = strsep(&words, " "));) {
                put_object(out, word);
                (void)buf_puts(out, words ? "," : "");
        }
        (void)buf_puts(out, "]}");
}

/* A row of a script: what is asked for, how it is answered, and with what. */
static inline void add_step(struct fixture *f, char *const *cells) {
        _cleanup_(buf_done) struct buf body = BUF_INIT(1 << 16);
        const char *how = cells[1];
        bool is_stream = strstr(how, "stream"), is_chunk = strstr(how, "chunk");
        char *response = NULL, *words = cells[2];

        (void)buf_puts(&body, "");
        if (is_stream || is_chunk)
                for (char *word; (word = strsep(&words, " "));)
                        put_event(&body, rows_unescape(word));
        else if (strcmp(how, "200") == 0 && *words != '{')
                put_list(&body, words);
        else
                (void)buf_puts(&body, rows_unescape(words));
        if (is_stream)
                response = scripted_stream(body.data);
        else if (is_chunk)
                response = scripted_chunk(body.data, false);
        else if (strcmp(how, "open") == 0)
                response = buf_take(&body);
        else if (strcmp(how, "closed") != 0)
                /* A server that throttles says for how long. */
                response = scripted_http(
                        atoi(how), strcmp(how, "429") == 0 ? "Retry-After: 0\r\n" : "", body.data);
        answer(f, cells[0], response, strncmp(how, "open", 4) == 0);
}

/* Return: whether there was another script; its last row is @rows' then */
static inline bool next_script(struct rows *rows, struct fixture *f) {
        memset(f, 0, sizeof(*f));
        for (; rows_next(rows); add_step(f, rows->cells))
                if (strcmp(rows->cells[0], "then") == 0) {
                        f->name = rows->place;
                        f->wanted_log = rows->cells[1];
                        f->wanted_trouble = *rows->cells[2] ? rows->cells[2] : NULL;
                        return true;
                }
        return false;
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

/* How often a watch ended for a reason: "short=4 idle=1". */
static inline void check_restarts(struct fixture *f, char *words) {
        for (char *count; (count = strsep(&words, " ")) && *count;) {
                const char *reason = strsep(&count, "=");
                if (restarts(f, reason) != strtod(count, NULL))
                        fail_msg("%s: %g restarts are %s", f->name, restarts(f, reason), reason);
        }
}
