/*
 * A client of the API server against a server that answers from a script, while time passes as the
 * test wants. Link with --wrap=clock_gettime.
 */
#pragma once

#include "cmocka_wrap.h"

#include <sys/mman.h>

#include "base/buf.h"
#include "later_clock.h"
#include "net/health.h"
#include "scripted_api.h"

enum { API_LOOK_MS = 2, API_DEADLINE_MS = 20000, API_LOG_MAX_BYTES = 64 << 10 };

struct api_fixture {
        struct scripted_api rig;
        struct health *health;
        struct loop_timer look;
        int64_t pace_ms; /* by which it gets later at each look */
        bool (*is_done)(void *userdata);
        void *userdata;
        int64_t looks;
        char log[API_LOG_MAX_BYTES]; /* of the last run */
};

static inline void api_answer(struct api_fixture *f, int status, const char *body,
                              const char *expect, const char *more) {
        scripted_add(&f->rig.server,
                     (struct scripted_reply){.expect = {expect, more},
                                             .response = scripted_http(status, "", body)});
}

static inline void api_answer_usually(struct api_fixture *f, int status, const char *body,
                                      const char *expect) {
        scripted_add_usual(&f->rig.server,
                           (struct scripted_reply){.expect = {expect},
                                                   .response = scripted_http(status, "", body)});
}

static inline void api_start(struct api_fixture *f) {
        later_ms = 0;
        scripted_api_start(&f->rig, (struct kube_access_options){0});
        f->health = health_new();
}

static inline void api_stop(struct api_fixture *f) {
        health_free(f->health);
        scripted_api_stop(&f->rig);
        assert_int_equal(atomic_load(&f->rig.server.served), f->rig.server.count);
}

static inline void api_look(void *userdata) {
        struct api_fixture *f = userdata;

        if (f->is_done(f->userdata) || atomic_load(&f->rig.server.surprises) > 0 ||
            --f->looks == 0) {
                loop_stop(f->rig.loop);
                return;
        }
        later_ms += f->pace_ms;
        loop_timer_arm(f->rig.loop, &f->look, clock_mono_ms() + API_LOOK_MS, api_look, f);
}

/* Runs until @is_done, or until somebody else stops the loop; what is logged goes to f->log. */
static inline void api_run(struct api_fixture *f, bool (*is_done)(void *userdata), void *userdata) {
        int log_fd = memfd_create("log", MFD_CLOEXEC), old_fd = dup(STDERR_FILENO);

        f->is_done = is_done;
        f->userdata = userdata;
        f->looks = API_DEADLINE_MS / API_LOOK_MS;
        loop_timer_arm(f->rig.loop, &f->look, clock_mono_ms(), api_look, f);
        assert_true(dup2(log_fd, STDERR_FILENO) >= 0);
        loop_run(f->rig.loop);
        assert_true(dup2(old_fd, STDERR_FILENO) >= 0);
        (void)close(old_fd);
        ssize_t len = pread(log_fd, f->log, sizeof(f->log) - 1, 0);
        assert_true(len >= 0);
        f->log[len] = '\0';
        (void)close(log_fd);
        loop_timer_disarm(f->rig.loop, &f->look);
        if (atomic_load(&f->rig.server.surprises) > 0)
                fail_msg("the server did not expect: %s", f->rig.server.surprise);
        if (f->looks == 0)
                fail_msg("late: %zu of %zu requests; %s", atomic_load(&f->rig.server.served),
                         f->rig.server.count, f->log);
}

static inline bool api_is_never(void *userdata) {
        (void)userdata;
        return false;
}

/* The script has been used up. */
static inline bool api_is_served(void *userdata) {
        const struct api_fixture *f = userdata;

        return atomic_load(&f->rig.server.served) == f->rig.server.count;
}

/* How often @text stands in the log. */
static inline size_t api_logged(const struct api_fixture *f, const char *text) {
        size_t count = 0;

        for (const char *at = f->log; (at = strstr(at, text)) != NULL; at++)
                count++;
        return count;
}
