/*
 * The hot value of one node: counted from the bindings that a watch shows, or read from the
 * annotation node_hot_value. Pure.
 */
#pragma once

#include <stdint.h>

#include "policy/annotation.h"
#include "policy/binding_ring.h"
#include "policy/policy.h"

struct node_hot {
        struct binding_ring bound;         /* recent bindings */
        struct annotation annotated;       /* node_hot_value */
        int64_t annotated_expires_unix_ms; /* READING_NEVER: there is none */
};

/* The value in use, which counts until @expires_unix_ms, and when it changes by itself. */
struct node_hot_value {
        double value;
        int64_t expires_unix_ms;
        int64_t next_change_unix_ms;
};

/**
 * node_hot_settle() - the count or the annotation, whichever is newer
 * @live_until_unix_ms: until when the watch of bindings was live; INT64_MIN: never; INT64_MAX: it
 *                      is live
 */
struct node_hot_value node_hot_settle(struct node_hot *hot, const struct policy *policy,
                                      int64_t live_until_unix_ms, int64_t now_unix_ms);
