/*
 * The pods that are bound, as a descheduler lists them.
 */
#pragma once

#include "world.h"

struct present {
        const struct world *world;
        struct pod **pods;
        size_t count;
        struct present_workload {
                size_t running, waiting; /* pods that run, and pods that do not run yet */
        } * workloads;                   /* [workload] */
};

/** present_list() - released with present_done() */
struct present present_list(const struct world *world);
void present_done(struct present *present);
/** present_used_cores() - CPUs of its node that it used, mean of @window_s or of the time that it
 * runs; 0: it does not */
double present_used_cores(const struct present *present, const struct pod *pod, int64_t window_s);
