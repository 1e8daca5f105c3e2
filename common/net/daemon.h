/*
 * What both programs do as daemons: signals, readiness, and the pages /healthz /livez /readyz
 * /metrics.
 *
 * A readiness check is a named sentence about one thing that must be so ("policy", "node watch").
 * /readyz is 200 when all hold, and ?verbose tells each with the flag or object to look at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "metrics/metrics.h"
#include "net/http_server.h"
#include "net/loop.h"

/**
 * daemon_block_signals() - SIGTERM, SIGINT, SIGHUP are for the signalfd; SIGPIPE is ignored
 *
 * Call it first in main: threads inherit the mask, and libraries start threads.
 */
void daemon_block_signals(void);

typedef void daemon_signal_fn(void *userdata, int signal_number);

struct daemon_signals;
/**
 * daemon_signals_new() - deliver the blocked signals as calls on the loop
 * Return: 0; negative errno when no descriptor can be had
 */
_must_check_ int daemon_signals_new(struct loop *loop, daemon_signal_fn *fn, void *userdata,
                                    struct daemon_signals **ret, struct error *err);
void daemon_signals_free(struct daemon_signals *signals);
DEFINE_FREEP(struct daemon_signals, daemon_signals_free);

struct health;
struct health_check;

struct health *health_new(void);
void health_free(struct health *health);
DEFINE_FREEP(struct health, health_free);

/**
 * health_add() - a check that does not hold yet
 * @name:   static text, "node-watch"
 * @detail: what is missing and where to look, shown until health_pass() or health_fail()
 * Return: borrowed from @health
 */
struct health_check *health_add(struct health *health, const char *name, const char *detail);
/** health_pass() - it holds; @detail may add facts ("5000 nodes"). Any thread. */
void health_pass(struct health_check *check, const char *fmt, ...) _printf_(2, 3);
/** health_fail() - it does not; @detail says why and names the flag or object. Any thread. */
void health_fail(struct health_check *check, const char *fmt, ...) _printf_(2, 3);
/** health_shut_down() - from now on not ready, whatever the checks say */
void health_shut_down(struct health *health);

enum { HEALTH_MAX_STUCK_MS = 60 * 1000 };
/**
 * health_heartbeat() - alive means from now on that @loop turns
 *
 * /healthz and /livez fail once it has not turned for @max_stuck_ms, HEALTH_MAX_STUCK_MS outside of
 * tests. Without a heartbeat they are 200 as long as somebody answers. Call it, and health_free()
 * thereafter, on the loop's thread.
 */
void health_heartbeat(struct health *health, struct loop *loop, int64_t max_stuck_ms);
bool health_is_ready(const struct health *health);

/**
 * daemon_pages() - answer /healthz /livez /readyz /metrics
 *
 * The first three say "ok" with 200, or with 503 what is wrong, one line a check as Kubernetes
 * does:
 * "[+] node-watch: 5000 nodes", "[-] policy: ...", and at the end "readyz check failed". ?verbose
 * shows the lines when all is well too. Any method but GET (and HEAD) is 405.
 * @metrics: may be NULL, /metrics is then not a page of ours
 * Return: false when the path is none of these (nothing is then touched)
 */
bool daemon_pages(const struct health *health, const struct metrics *metrics,
                  struct http_exchange *exchange);

/** daemon_reply_text() - fill in a small text reply; @text is copied, @content_type static */
void daemon_reply_text(struct http_exchange *exchange, int status, const char *content_type,
                       const char *text, size_t len);
