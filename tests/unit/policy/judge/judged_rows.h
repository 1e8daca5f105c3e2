/* Nodes in the rows of a table of tests/data. */
#pragma once

#include "judged_nodes.h"
#include "tests/unit/fixture/rows.h"

enum { JUDGED_ROW_NODES = 4 };

/* From the fifth cell on each is a node: "name: readings; labels". The last of @ret has no name. */
static inline void judged_row_nodes(const struct rows *rows,
                                    struct judged_node ret[static JUDGED_ROW_NODES + 1]) {
        for (size_t i = 0; i < JUDGED_ROW_NODES && *rows->cells[4 + i]; i++) {
                char *rest = rows->cells[4 + i];
                ret[i].name = strsep(&rest, ":");
                ret[i].readings = strsep(&rest, ";");
                ret[i].labels = rest;
        }
}
