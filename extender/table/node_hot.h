/*
 * The hot value of one node, either counted from a watch of bindings, or read from the annotation
 * node_hot_value. Pure.
 */
#pragma once

#include <stdint.h>

#include "policy/annotation.h"
#include "policy/binding_ring.h"
#include "policy/policy.h"

struct node_hot {
        struct binding_ring bound;         /* recent bindings */
        struct annotation annotated;       /* node_hot_value */
        int64_t annotated_expires_unix_ms; /* READING_NEVER: no annotation */
};

/* The hot value, which is valid until @expires_unix_ms and next changes at @next_change_unix_ms. */
struct node_hot_value {
        double value;
        int64_t expires_unix_ms;
        int64_t next_change_unix_ms;
};

/**
 * node_hot_settle() - the newer one of the count and the annotation
 * @live_until_unix_ms: the end of the watch of bindings; INT64_MIN: it was never live; INT64_MAX:
 * it is live
 */
struct node_hot_value node_hot_settle(struct node_hot *hot, const struct policy *policy,
                                      int64_t live_until_unix_ms, int64_t now_unix_ms);
