/* The output of `simulate`, for people and for programs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/simulate/difference.h"
#include "program/style.h"

/* All borrowed. */
struct simulation {
        const char *in_force_from; /* the origin of the policy in force */
        const char *policy_from;   /* the file of the simulated policy */
        const struct difference *difference;
};

/** simulation_print() - for people
 * @is_wide: all nodes, not only some */
void simulation_print(const struct simulation *simulation, const struct style *style, bool is_wide,
                      FILE *out);
/** simulation_json() - for programs; owned by the caller */
json_t *simulation_json(const struct simulation *simulation);
