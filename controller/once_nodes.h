/*
 * What --once waits for of the nodes, and says of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/node/bindings.h"
#include "controller/node/node_set.h"
#include "controller/track/compiled_policy.h"

/* All borrowed for the call. */
struct once_nodes {
        const struct node_set *nodes;
        const struct bindings *bindings;
        const struct compiled_policy *compiled;
        int64_t now_mono_ms;
};

/** once_nodes_are_listed() - the lists of nodes, and of bindings if the policy needs them, are
 * complete */
bool once_nodes_are_listed(const struct once_nodes *of);
/** once_nodes_unseen() - nodes that have not been asked ONCE_OUTCOMES times by every source that is
 * read, or that answer and have no value yet; computed anew, since a change of policy may change
 * which sources are read */
size_t once_nodes_unseen(const struct once_nodes *of);
/** once_nodes_log_late() - what is missing at the deadline */
void once_nodes_log_late(const struct once_nodes *of);
/** once_nodes_log_unread() - nodes that fail or have no value; return: their number */
size_t once_nodes_log_unread(const struct once_nodes *of);
