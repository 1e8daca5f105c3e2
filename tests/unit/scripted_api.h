/* A client of an API server that answers from a script, and the loop that it is on. */
#pragma once

#include "cmocka_wrap.h"

#include "kube/kube_api.h"
#include "scripted_server.h"

struct scripted_api {
        struct scripted_server server;
        struct loop *loop;
        struct http_client *client;
        struct kube_access *access;
        struct metrics *metrics;
        struct kube_api *api;
};

/* After the script has been written. The master of @options is the server. */
static inline void scripted_api_start(struct scripted_api *rig,
                                      struct kube_access_options options) {
        struct error err = ERROR_NULL;
        char master[64];

        scripted_server_start(&rig->server);
        (void)snprintf(master, sizeof(master), "http://127.0.0.1:%u", rig->server.port);
        options.master = master;
        if (kube_access_load(&options, &rig->access, &err) < 0)
                fail_msg("%s", err.msg);
        rig->loop = loop_new();
        rig->metrics = metrics_new();
        rig->client = http_client_new(rig->loop,
                                      &(struct http_client_options){.user_agent = "test/1"});
        rig->api = kube_api_new(rig->loop, rig->client, rig->access, rig->metrics);
}

/* What uses the client has gone before. Fails if the server was asked what it did not expect. */
static inline void scripted_api_stop(struct scripted_api *rig) {
        kube_api_free(rig->api);
        http_client_free(rig->client);
        metrics_free(rig->metrics);
        kube_access_free(rig->access);
        loop_free(rig->loop);
        scripted_server_stop(&rig->server);
        if (atomic_load(&rig->server.surprises) > 0)
                fail_msg("the server did not expect: %s", rig->server.surprise);
}
