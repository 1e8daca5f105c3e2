/* A program's libraries against a server that answers from a script, with a clock that the test
 * sets. Linked with --wrap=clock_gettime. */
#pragma once

#include "cmocka_wrap.h"

#include <sched.h>
#include <semaphore.h>

#include "base/buf.h"
#include "scripted_api.h"
#include "standing_clock.h"

enum { GIVE_UP_S = 60 };

struct fixture {
        struct scripted_api rig;
        char address[64];
        struct buf log;
        sem_t go_on; /* for wait_for_test() */
        struct loop_timer look;
        double (*seen)(void *of);
        void *of;
        double wanted;
        int64_t give_up_s;
};

/* A `before` of the script: the server waits for sem_post(&f->go_on). */
static inline void wait_for_test(void *userdata) {
        struct fixture *f = userdata;

        while (sem_wait(&f->go_on) < 0)
                ;
}

static inline void expect(struct fixture *f, int status, const char *text, const char *more,
                          const char *body) {
        scripted_add(&f->rig.server,
                     (struct scripted_reply){.expect = {text, more},
                                             .response = scripted_http(status, "", body)});
}

static inline void start(struct fixture *f) {
        f->log = BUF_INIT(1 << 16);
        (void)buf_puts(&f->log, "");
        (void)sem_init(&f->go_on, 0, 0);
        f->rig.server.userdata = f;
        scripted_api_start(&f->rig, (struct kube_access_options){0});
        (void)snprintf(f->address, sizeof(f->address), "http://127.0.0.1:%u/", f->rig.server.port);
}

static inline void stop(struct fixture *f) {
        scripted_api_stop(&f->rig);
        buf_done(&f->log);
        (void)sem_destroy(&f->go_on);
        assert_int_equal(atomic_load(&f->rig.server.served), f->rig.server.count);
}

static inline void look(void *userdata) {
        struct fixture *f = userdata;

        if (f->seen(f->of) == f->wanted || atomic_load(&f->rig.server.surprises) > 0 ||
            real_mono_s() > f->give_up_s) {
                loop_stop(f->rig.loop);
                return;
        }
        (void)sched_yield();
        loop_timer_arm(f->rig.loop, &f->look, standing_ms, look, f);
}

/* Runs until @seen of @of is @wanted; at least one turn, in which all that is due happens. */
static inline void run_until(struct fixture *f, double (*seen)(void *of), void *of, double wanted) {
        f->seen = seen;
        f->of = of;
        f->wanted = wanted;
        f->give_up_s = real_mono_s() + GIVE_UP_S;
        loop_timer_arm(f->rig.loop, &f->look, standing_ms, look, f);
        loop_run(f->rig.loop);
        if (seen(of) != wanted)
                fail_msg("%g, not %g; %s; log %s", seen(of), wanted, f->rig.server.surprise,
                         f->log.data);
}

static inline double counted(void *metric) {
        return metrics_value(metric);
}

static inline double served(void *server) {
        return (double)atomic_load(&((struct scripted_server *)server)->served);
}

static inline double nothing(void *of) {
        (void)of;
        return 0;
}

/* Lets @ms pass, and all that is due happen. */
static inline void pass(struct fixture *f, int64_t ms) {
        standing_ms += ms;
        run_until(f, nothing, NULL, 0);
}

static inline void check_log(struct fixture *f, const char *expected) {
        assert_string_equal(f->log.data, expected);
        buf_clear(&f->log);
        (void)buf_puts(&f->log, "");
}
