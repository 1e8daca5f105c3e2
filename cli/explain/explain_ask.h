/* What the extenders of a cluster answered about a pod, asked through the API server's proxy. */
#pragma once

#include <jansson.h>

#include "cli/cluster/cluster.h"

struct explain_told {
        json_t *decision; /* owned; see explain_decision.h. NULL: no extender tells */
        char *why_not;    /* owned; why none, or not every extender, tells; NULL: all were asked */
};

/**
 * explain_ask() - ask every extender, and take the newest answers
 * @name_space: where Plimsoll is installed
 * @full_name:  "namespace/name" of a pod, of lower-case letters, digits, "-" and "."
 * @ret:        to be released with explain_told_done()
 */
void explain_ask(struct cluster *cluster, const char *name_space, const char *full_name,
                 struct explain_told *ret);
void explain_told_done(struct explain_told *told);
