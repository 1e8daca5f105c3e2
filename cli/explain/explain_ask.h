/* Asks the extenders of a cluster, through the API server's proxy, what they answered about a pod.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cli/cluster/cluster_extenders.h"

/** explain_is_full_name() - is it "namespace/name" with valid names? Such text can be part of a
 * path and a query */
bool explain_is_full_name(const char *text);

/**
 * explain_ask() - ask every extender, and take the newest answers
 * @full_name:   explain_is_full_name()
 * @ret_why_not: why an extender did not answer; owned by the caller; NULL: all did
 * Return: see explain_decision.h; owned by the caller; NULL: no extender has a decision. If all
 * extenders answered, explain_place_unasked() says why there is none
 */
json_t *explain_ask(const struct cluster_extenders *extenders, const char *full_name,
                    char **ret_why_not);
