/*
 * What the runs of one algorithm in one scenario come to, as a table or as JSON.
 */
#pragma once

#include "simulation.h"

enum { REPORT_MAX_SEEDS = 100 };

struct result {
        const char *scenario, *algorithm;
        size_t count;
        struct outcome outcomes[REPORT_MAX_SEEDS]; /* of one seed after the other */
};

void report_table_head(void);
/** report_table_row() - @base NULL: nothing to compare with */
void report_table_row(const struct result *result, const struct result *base);
/** report_json() - one object, with every seed's outcome */
void report_json(const struct result *result, const struct result *base);
/** report_world() - one object of JSON: the nodes and all pods that arrive, of one seed. Loads are
 * without what varies in time, except for recorded ones. */
void report_world(const struct scenario *scenario, uint64_t seed);
