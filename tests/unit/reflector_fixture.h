/* A reflector against a server that answers from a script, until its log says what it should. */
#pragma once

#include "cmocka_wrap.h"

#include "base/buf.h"
#include "base/clock.h"
#include "kube/reflector.h"
#include "scripted_api.h"

enum { DEADLINE_MS = 30000, LOOK_MS = 3 };

struct fixture {
        struct scripted_api rig;
        struct kube_access_options access; /* to which start() adds the server */
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
                atomic_load(&f->rig.server.served) == f->rig.server.count &&
                (!f->wanted_log || strcmp(f->log.data ? f->log.data : "", f->wanted_log) == 0) &&
                (f->wanted_trouble ? strstr(trouble, f->wanted_trouble) != NULL : *trouble == '\0');

        if (is_done || clock_mono_ms() > f->deadline_mono_ms ||
            atomic_load(&f->rig.server.surprises) > 0)
                loop_stop(f->rig.loop);
        else
                loop_timer_arm(f->rig.loop, &f->look, clock_mono_ms() + LOOK_MS, on_look, f);
}

static inline void start(struct fixture *f) {
        f->log = BUF_INIT(1 << 20);
        (void)buf_puts(&f->log, "");
        scripted_api_start(&f->rig, f->access);
        f->deadline_mono_ms = clock_mono_ms() + DEADLINE_MS;
}

static inline void run(struct fixture *f) {
        loop_timer_arm(f->rig.loop, &f->look, clock_mono_ms(), on_look, f);
        loop_run(f->rig.loop);
        if (atomic_load(&f->rig.server.surprises) > 0)
                fail_msg("the server did not expect, at step %zu: %s",
                         atomic_load(&f->rig.server.served), f->rig.server.surprise);
        if (clock_mono_ms() > f->deadline_mono_ms)
                fail_msg("late: %zu of %zu steps; log '%s', wanted '%s'; trouble '%s'",
                         atomic_load(&f->rig.server.served), f->rig.server.count, f->log.data,
                         f->wanted_log, f->reflector ? reflector_trouble(f->reflector) : "");
}

static inline void stop(struct fixture *f) {
        loop_timer_disarm(f->rig.loop, &f->look);
        reflector_free(f->reflector);
        scripted_api_stop(&f->rig);
        buf_done(&f->log);
}
