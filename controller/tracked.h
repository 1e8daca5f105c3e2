/*
 * A node, what has been measured on it, and its place in the queue of patches. node->userdata.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/node/bindings.h"
#include "controller/node/node_set.h"
#include "controller/track/load_history.h"
#include "controller/track/node_track.h"
#include "controller/writing/writer.h"

struct controller;

struct tracked {
        struct writer_node writing; /* its first member */
        struct controller *controller;
        struct node *node;
        struct node_track track;
        struct load_history load;
        uint32_t usable; /* number of metrics, at the last reading */
        uint32_t metrics_row;
};

/** tracked_next() - the next node from *@slot on, which begins with 0; NULL at the end */
struct tracked *tracked_next(const struct node_set *nodes, size_t *slot);
#define TRACKED_FOREACH(t, nodes)                                                                  \
        for (size_t slot_ = 0; ((t) = tracked_next((nodes), &slot_)) != NULL;)

/** tracked_values() - what could be written on the node now */
void tracked_values(const struct tracked *t, const struct compiled_policy *compiled,
                    struct bindings *bindings, int64_t now_mono_ms, int64_t now_unix_ms,
                    struct plan_values *ret);

/* A replica that does not write asks a source that is asked on demand at every third turn: windows
 * go on, since gaps are counted from a minute on. */
enum { TRACKED_STANDBY_TURNS = 3 };

/** tracked_is_wanted() - for source_sink's is_wanted(), of a source that is asked on demand */
bool tracked_is_wanted(const struct tracked *t, const struct compiled_policy *compiled,
                       size_t source, bool is_standby, int64_t now_mono_ms);
