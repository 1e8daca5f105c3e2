/*
 * Readiness and liveness, for /readyz and /livez.
 *
 * A readiness check has a name ("node-watch") and a detail. The program is ready if all checks pass
 * and it is not shutting down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "net/loop.h"

struct health;
struct health_check;

struct health *health_new(void);
/** health_free() - with its checks. After health_heartbeat(), call it on the loop's thread */
void health_free(struct health *health);
DEFINE_FREEP(struct health, health_free);

/**
 * health_add() - add a check, which fails until health_pass()
 * @name:   static text, such as "node-watch"
 * @detail: what is missing, and how to supply it
 * Return: borrowed from @health
 */
struct health_check *health_add(struct health *health, const char *name, const char *detail);
/** health_pass() - the check passes; the detail adds facts ("5000 nodes"). Any thread */
void health_pass(struct health_check *check, const char *fmt, ...) _printf_(2, 3);
/** health_fail() - the check fails; the detail names the cause, flag or object. Any thread */
void health_fail(struct health_check *check, const char *fmt, ...) _printf_(2, 3);
/** health_shut_down() - the program is no longer ready, whatever the checks say */
void health_shut_down(struct health *health);

enum { HEALTH_MAX_STUCK_MS = 60 * 1000 };
/**
 * health_heartbeat() - make liveness depend on @loop
 *
 * /healthz and /livez fail if the loop has not run a timer for @max_stuck_ms (HEALTH_MAX_STUCK_MS
 * except in tests). Without a heartbeat, they always pass. Call it on the loop's thread, before the
 * server starts.
 */
void health_heartbeat(struct health *health, struct loop *loop, int64_t max_stuck_ms);

/** health_write_ready() - append one line per check; false if not ready. Any thread */
bool health_write_ready(const struct health *health, struct buf *out);
/** health_write_live() - append the state of the heartbeat; false if it is overdue. Any thread */
bool health_write_live(const struct health *health, struct buf *out);
