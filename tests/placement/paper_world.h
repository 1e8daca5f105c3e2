/* Worlds for tests: a stream as it stands in a scenario file, and nodes. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "tests/unit/fixture/test.h"
#include "world.h"

/* @nodes of @cores, and one stream, measured from the beginning for a day. */
static inline struct scenario paper_scenario(size_t nodes, double cores, const char *stream) {
        struct scenario scenario = {.stream_count = 1, .shape_count = 1, .restarts_s = -1};
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct error err = ERROR_NULL;

        scenario.measured_s = 86400;
        scenario.shapes[0].count = nodes;
        scenario.shapes[0].cores = cores;
        if (tree_parse(stream, strlen(stream), &tree, &err) < 0 ||
            stream_read(tree_root(tree), &scenario.streams[0], &err) < 0)
                fail_msg("%s: %s", stream, err.msg);
        return scenario;
}
