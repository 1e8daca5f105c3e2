/* What `simulate` shows, for people and for programs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/simulate/difference.h"
#include "cli/simulate/placement.h"
#include "cli/simulate/recording.h"
#include "program/style.h"

/* All borrowed. */
struct simulation {
        const struct recording *recording;
        const char *policy_from; /* the file of the simulated policy */
        const struct difference *difference;
        const struct placements *placements;
};

/** simulation_print() - for people
 * @is_wide: every node and placement, not only some of them */
void simulation_print(const struct simulation *simulation, const struct style *style, bool is_wide,
                      FILE *out);
/** simulation_json() - for programs; owned by the caller */
json_t *simulation_json(const struct simulation *simulation);
