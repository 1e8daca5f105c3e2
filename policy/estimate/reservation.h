/* A pod that an answer has placed on a node: its load counts there until its binding is seen. */
#pragma once

#include <stdint.h>

#include "policy/estimate/pod_load.h"

enum { RESERVATIONS_MAX = 128 }; /* one more replaces the oldest */

struct reservation {
        uint64_t pod_id;
        uint32_t node_number; /* of node_columns.h */
        int64_t until_mono_ms;
        struct pod_load load;
};
