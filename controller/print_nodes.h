/*
 * What a dry run prints of all nodes, by name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/node/bindings.h"
#include "controller/node/node_set.h"
#include "controller/print/report.h"
#include "controller/track/compiled_policy.h"

/* All borrowed for the call. */
struct print_nodes {
        const struct node_set *nodes;
        const struct compiled_policy *compiled;
        struct bindings *bindings;
        enum report_format output;
        bool is_repeated; /* see printout_begin() */
        int64_t now_mono_ms, now_unix_ms;
};

/** print_nodes() - false: standard output is closed */
bool print_nodes(const struct print_nodes *of);
