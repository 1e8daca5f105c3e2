/*
 * What the status page shows of the whole program: the policy, the nodes and the sources, taken
 * from the loop's state on the loop's thread.
 */
#pragma once

#include "base/buf.h"
#include "controller/source_set.h"
#include "controller/tracked.h"
#include "net/health.h"
#include "net/loop.h"

/* All borrowed for the call. */
struct overview {
        struct loop *loop;
        struct health *health;
        const struct compiled_policy *compiled;
        const struct node_set *nodes;
        const struct source_set *sources;
        struct bindings *bindings;
        const char *role; /* "writer", "standby" or "dry run" */
};

/** overview_write() - append it as one JSON object, see controller/web/status_view.h */
void overview_write(const struct overview *of, struct buf *out);
