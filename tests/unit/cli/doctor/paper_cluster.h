/*
 * A cluster on paper, for tests of who looks at one: an API server that answers with the objects of
 * an installation that lacks nothing (tests/data/doctor-cluster.tsv), at a time of its own. Texts
 * of changes may have ' in place of ".
 */
#pragma once

#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/glob.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_facts.h"
#include "net/http_server.h"
#include "tests/unit/fixture/apostrophes.h"
#include "tests/unit/fixture/rows.h"

enum { PAPER_OBJECTS_MAX = 32, PAPER_MAX_BYTES = 1 << 20 };

#define PAPER_NOW_UNIX_MS 1772366400000 /* 2026-03-01T12:00:00Z */

struct paper_change {
        const char *where;     /* a glob of paths; NULL: no change */
        const char *old, *new; /* old NULL: all of it; new NULL: it is gone; a number: a status */
        size_t times;          /* only the first ones of each object; left out: all */
};

struct paper_cluster {
        struct paper_object {
                char *path, *body;    /* owned; body NULL: there is none */
        } objects[PAPER_OBJECTS_MAX]; /* the last one is no path: the file of --scheduler-config */
        size_t object_count;
        struct tree *config; /* of the file that facts were collected with last */
        struct http_server *server;
        struct cluster *cluster;
};

static inline void paper_handle(void *userdata, struct http_exchange *exchange) {
        const struct paper_cluster *paper = userdata;
        const char *body = NULL;

        for (size_t i = 0; i < paper->object_count; i++)
                if (strcmp(exchange->path, paper->objects[i].path) == 0)
                        body = paper->objects[i].body;
        exchange->status = body ? (int)strtol(body, NULL, 10) : 404;
        if (exchange->status != 0)
                return;
        /* With a copy: the client has the reply, and may change the body, before it is released. */
        struct iovec *piece = xmalloc(sizeof(*piece) + strlen(body));
        *piece = (struct iovec){piece + 1, strlen(body)};
        memcpy(piece + 1, body, strlen(body));
        exchange->status = 200;
        exchange->reply_content_type = body[0] == '{' ? "application/json" : "text/plain";
        exchange->reply = piece;
        exchange->reply_count = 1;
        exchange->release = free;
        exchange->release_userdata = piece;
}

/* @text with @new in place of @old; owned by the caller. */
static inline char *paper_replaced(const char *text, const struct paper_change *change,
                                   size_t *count) {
        _cleanup_(freep) char *old = apostrophes_quoted(change->old),
                              *new = apostrophes_quoted(change->new);
        struct buf out = BUF_INIT(PAPER_MAX_BYTES);
        const char *there;

        for (size_t i = 0; (i < change->times || change->times == 0) && (there = strstr(text, old));
             i++) {
                buf_append(&out, text, (size_t)(there - text));
                buf_puts(&out, new);
                text = there + strlen(old);
                ++*count;
        }
        buf_puts(&out, text);
        return buf_take(&out);
}

/* A change that finds nothing to change fails the test. */
static inline void paper_change(struct paper_cluster *paper, const struct paper_change *change) {
        size_t count = 0;

        for (size_t i = 0; i < paper->object_count; i++) {
                struct paper_object *object = &paper->objects[i];
                if (!glob_matches(change->where, object->path, strlen(object->path)))
                        continue;
                char *before = object->body;
                if (!change->old) {
                        object->body = change->new ? apostrophes_quoted(change->new) : NULL;
                        count++;
                } else if (before) {
                        object->body = paper_replaced(before, change, &count);
                }
                free(before);
        }
        if (count == 0)
                fail_msg("%s has no %s", change->where, change->old ? change->old : "place");
}

static inline void paper_clear(struct paper_cluster *paper) {
        for (; paper->object_count > 0; paper->object_count--) {
                free(paper->objects[paper->object_count - 1].path);
                free(paper->objects[paper->object_count - 1].body);
        }
}

/* Puts everything as it was. */
static inline void paper_reset(struct paper_cluster *paper) {
        static const struct paper_change version = {"*/metrics", "VERSION", PLIMSOLL_VERSION};

        paper_clear(paper);
        for (struct rows rows = rows_open("doctor-cluster.tsv"); rows_next(&rows);) {
                char *body = rows.cell_count > 1 ? xstrdup(rows_unescape(rows.cells[1])) : NULL;
                assert_true(paper->object_count < PAPER_OBJECTS_MAX);
                paper->objects[paper->object_count++] = (struct paper_object){
                        xstrdup(rows.cells[0]), body};
        }
        paper_change(paper, &version);
}

static inline int paper_collect(struct paper_cluster *paper, struct doctor_facts *ret,
                                struct error *err) {
        const struct paper_object *file = &paper->objects[paper->object_count - 1];
        struct doctor_options options = {.namespace = "kube-system"};

        tree_free(TAKE_PTR(paper->config));
        if (file->body) {
                assert_int_equal(tree_parse(file->body, strlen(file->body), &paper->config, err),
                                 0);
                options.config_name = file->path;
                options.config = paper->config;
        }
        return doctor_facts_collect(paper->cluster, &options, PAPER_NOW_UNIX_MS, ret, err);
}

static inline int paper_set_up(void **state) {
        struct paper_cluster *paper = xcalloc(1, sizeof(*paper));
        struct error err = ERROR_NULL;
        const struct http_server_options options = {.bind_address = "127.0.0.1",
                                                    .threads = 1,
                                                    .max_body_bytes = PAPER_MAX_BYTES,
                                                    .handler = paper_handle,
                                                    .userdata = paper};

        paper_reset(paper);
        assert_int_equal(setenv("KUBECONFIG", "", 1) | setenv("HOME", "/none", 1), 0);
        assert_int_equal(http_server_start(&options, &paper->server, &err), 0);
        _cleanup_(freep) char *url = xasprintf("http://127.0.0.1:%d",
                                               http_server_port(paper->server));
        struct kube_access *access = NULL;
        const struct kube_access_options options_of_access = {.master = url};
        assert_int_equal(kube_access_load(&options_of_access, &access, &err), 0);
        paper->cluster = cluster_new(access);
        *state = paper;
        return 0;
}

static inline int paper_tear_down(void **state) {
        struct paper_cluster *paper = *state;

        cluster_free(paper->cluster);
        tree_free(paper->config);
        http_server_stop(paper->server, 5000);
        paper_clear(paper);
        free(paper);
        return 0;
}
