/*
 * Readiness and liveness, as shown by /readyz and /livez.
 *
 * A readiness check has a name ("node-watch") and a detail text. The program is ready when all
 * checks pass and it is not shutting down.
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
/** health_free() - frees its checks, too. After health_heartbeat(): on the loop's thread */
void health_free(struct health *health);
DEFINE_FREEP(struct health, health_free);

/**
 * health_add() - add a check, failing until health_pass()
 * @name:   static text, "node-watch"
 * @detail: what is missing and how to supply it
 * Return: borrowed from @health
 */
struct health_check *health_add(struct health *health, const char *name, const char *detail);
/** health_pass() - the check passes; the detail may add facts ("5000 nodes"). Any thread. */
void health_pass(struct health_check *check, const char *fmt, ...) _printf_(2, 3);
/** health_fail() - the check fails; the detail names the cause and the flag or object. Any thread.
 */
void health_fail(struct health_check *check, const char *fmt, ...) _printf_(2, 3);
/** health_shut_down() - not ready from now on, regardless of the checks */
void health_shut_down(struct health *health);

enum { HEALTH_MAX_STUCK_MS = 60 * 1000 };
/**
 * health_heartbeat() - make liveness depend on @loop
 *
 * /healthz and /livez fail once the loop has run no timer for @max_stuck_ms (HEALTH_MAX_STUCK_MS
 * outside of tests). Without a heartbeat they always pass. Call it on the loop's thread, before the
 * server starts.
 */
void health_heartbeat(struct health *health, struct loop *loop, int64_t max_stuck_ms);

/** health_write_ready() - append one line per check; false when not ready. Any thread. */
bool health_write_ready(const struct health *health, struct buf *out);
/** health_write_live() - append the state of the heartbeat; false when it is overdue. Any thread.
 */
bool health_write_live(const struct health *health, struct buf *out);
