/* What the parts of node_reading.c have in common. */
#pragma once

enum { NODE_MAX_DEVICES = 1024 }; /* of one kind on one node */

/* Bytes since a machine's start; beyond, a double does not see an interval's difference any more,
 * and a counter that is nonsense looks like one that stands still. */
#define NODE_COUNTER_MAX 1e18

/* What became of a sample. */
enum node_take {
        NODE_TAKEN,
        NODE_NOT_COUNTED, /* of a device that is none of ours */
        NODE_REPEATED,    /* of a repeated series the first one counts */
        NODE_UNUSABLE,    /* a label is missing, the value makes no sense, or there are too many */
};
