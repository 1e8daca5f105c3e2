/*
 * The common parts of both daemons: loop, metrics, health, API client, signals on the loop, and the
 * pages /healthz /livez /readyz /metrics /flagz.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kube_access.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/shared_page.h"

/* Zero-initialised; owns all members except the userdata. */
struct daemon {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        struct shared_page *metrics_page;
        char *flagz;                                          /* the text of the page */
        void (*on_signal)(void *userdata, int signal_number); /* NULL until daemon_on_signals() */
        void *signal_userdata;
        int signal_fd;
        struct kube_access *kube_access; /* NULL until daemon_connect(), like the next one */
        struct kube_api *api;
};

/**
 * daemon_init() - create the loop, metrics with their page, and health with a heartbeat
 *
 * @program: the name of the program
 * @flagz:   the text of the page /flagz, consumed; NULL: no such page
 * Return: 0; -EMFILE or -ENFILE
 */
_must_check_ int daemon_init(struct daemon *daemon, const char *program, char *flagz,
                             struct error *err);

/**
 * daemon_connect() - read the configuration of the API server, and create its client
 *
 * Sends nothing.
 * Return: 0; negative errno, see kube_access_load()
 */
_must_check_ int daemon_connect(struct daemon *daemon, const char *program,
                                const struct kube_access_options *options, struct error *err);

/** daemon_done() - call it after all users of @daemon have been freed */
void daemon_done(struct daemon *daemon);

/**
 * daemon_begin() - block SIGTERM, SIGINT and SIGHUP, ignore SIGPIPE, and disable core dumps, which
 * would contain tokens and keys
 *
 * Call it first in main(): threads inherit the mask, and libraries start threads. Other processes
 * of the same user can no longer read the program's memory or environment.
 */
void daemon_begin(void);

/**
 * daemon_on_signals() - call @fn on the loop for each blocked signal, until daemon_done(); call it
 * once
 * Return: 0; the negative errno of signalfd()
 */
_must_check_ int daemon_on_signals(struct daemon *daemon,
                                   void (*fn)(void *userdata, int signal_number), void *userdata,
                                   struct error *err);

/** daemon_metrics_page() - the page /metrics; @loop and @metrics outlive it */
struct shared_page *daemon_metrics_page(struct loop *loop, struct metrics *metrics);

/**
 * daemon_pages() - answer /healthz /livez /readyz /metrics /flagz
 *
 * The first three have kube-apiserver's format: 200 "ok", or 503 with a line per check
 * ("[+] node-watch: 5000 nodes", "[-] policy: ...") and "readyz check failed". With ?verbose, a 200
 * reply has these lines as well. Methods other than GET and HEAD get 405.
 * @daemon: /metrics and /flagz exist only if their members are set
 * Return: false for any other path: @exchange is unchanged
 */
bool daemon_pages(const struct daemon *daemon, struct http_exchange *exchange);
