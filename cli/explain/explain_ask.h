/* Asks the extenders of a cluster, through the API server's proxy, what they answered about pods.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cli/cluster/cluster_extenders.h"

struct explain_answer {
        json_t *decision; /* owned; see explain_decision.h. NULL: no extender has one */
        char *why_not;    /* owned; why none, or not every extender, answered; NULL: all did */
};

/** explain_is_full_name() - "namespace/name" of lower-case letters, digits, "-" and ".", which can
 * be part of a path and a query */
bool explain_is_full_name(const char *text);

/**
 * explain_ask() - ask every extender, and take the newest answers
 * @full_name: explain_is_full_name()
 * @ret:       to be released with explain_answer_done()
 */
void explain_ask(struct cluster *cluster, const struct cluster_extenders *extenders,
                 const char *full_name, struct explain_answer *ret);
void explain_answer_done(struct explain_answer *answer);

/**
 * explain_ask_names() - the pods that any extender was asked about lately
 * @ret_why_not: as explain_answer.why_not
 * Return: {full name: time of the last answer}, owned by the caller
 */
json_t *explain_ask_names(struct cluster *cluster, const struct cluster_extenders *extenders,
                          char **ret_why_not);
