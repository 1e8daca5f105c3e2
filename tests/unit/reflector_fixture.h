/* A reflector against a server that answers from a script, until its log says what it should. */
#pragma once

#include "cmocka_wrap.h"

#include "base/buf.h"
#include "base/clock.h"
#include "kube/kube_api.h"
#include "kube/reflector.h"
#include "scripted_server.h"

enum { DEADLINE_MS = 30000, LOOK_MS = 3 };

struct fixture {
        struct scripted_server server;
        struct loop *loop;
        struct http_client *client;
        struct kube_access_options access; /* to which start() adds the server */
        struct kube_access *config;
        struct metrics *metrics;
        struct kube_api *api;
        struct reflector *reflector;
        struct loop_timer look;
        int64_t deadline_mono_ms;
        struct buf log;
        const char *wanted_log;     /* NULL: whatever */
        const char *wanted_trouble; /* a part of it; NULL: none may be left */
};

/* Done when the script has been used up and the log says what it should; late after DEADLINE_MS. */
static inline void on_look(void *userdata) {
        struct fixture *f = userdata;
        const char *trouble = f->reflector ? reflector_trouble(f->reflector) : "";
        bool is_done =
                atomic_load(&f->server.served) == f->server.count &&
                (!f->wanted_log || strcmp(f->log.data ? f->log.data : "", f->wanted_log) == 0) &&
                (f->wanted_trouble ? strstr(trouble, f->wanted_trouble) != NULL : *trouble == '\0');

        if (is_done || clock_mono_ms() > f->deadline_mono_ms ||
            atomic_load(&f->server.surprises) > 0)
                loop_stop(f->loop);
        else
                loop_timer_arm(f->loop, &f->look, clock_mono_ms() + LOOK_MS, on_look, f);
}

static inline void start(struct fixture *f) {
        struct error err = ERROR_NULL;
        char master[64];

        f->log = BUF_INIT(1 << 20);
        (void)buf_puts(&f->log, "");
        scripted_server_start(&f->server);
        (void)snprintf(master, sizeof(master), "http://127.0.0.1:%u", f->server.port);
        struct kube_access_options options = f->access;
        options.master = master;
        if (kube_access_load(&options, &f->config, &err) < 0)
                fail_msg("%s", err.msg);
        f->loop = loop_new();
        f->metrics = metrics_new();
        f->client = http_client_new(f->loop, &(struct http_client_options){.user_agent = "test/1"});
        f->api = kube_api_new(f->loop, f->client, f->config, f->metrics);
        f->deadline_mono_ms = clock_mono_ms() + DEADLINE_MS;
}

static inline void run(struct fixture *f) {
        loop_timer_arm(f->loop, &f->look, clock_mono_ms(), on_look, f);
        loop_run(f->loop);
        if (atomic_load(&f->server.surprises) > 0)
                fail_msg("the server did not expect, at step %zu: %s",
                         atomic_load(&f->server.served), f->server.surprise);
        if (clock_mono_ms() > f->deadline_mono_ms)
                fail_msg("late: %zu of %zu steps; log '%s', wanted '%s'; trouble '%s'",
                         atomic_load(&f->server.served), f->server.count, f->log.data,
                         f->wanted_log, f->reflector ? reflector_trouble(f->reflector) : "");
}

static inline void stop(struct fixture *f) {
        loop_timer_disarm(f->loop, &f->look);
        reflector_free(f->reflector);
        kube_api_free(f->api);
        http_client_free(f->client);
        metrics_free(f->metrics);
        kube_access_free(f->config);
        loop_free(f->loop);
        scripted_server_stop(&f->server);
        buf_done(&f->log);
}
