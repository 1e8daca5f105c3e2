/*
 * For clusters without an extender, which have taints by load: the status page of a controller, in
 * the form of an extender's page /nodes. It has no scores, since no scheduler asks for one.
 */
#pragma once

#include <jansson.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"

/** top_status_page() - /nodes of what @status says; each row has its origin as "said". Owned by the
 * caller */
json_t *top_status_page(json_t *status);

/**
 * top_status_ask() - the page of the first controller that answers
 * @why:      no extender answers
 * @ret_from: for people: the controller, the time and @why; owned by the caller
 * Return: 0; -ENODATA: none answers either
 */
_must_check_ int top_status_ask(struct cluster *cluster, const char *why, json_t **ret,
                                char **ret_from, struct error *err);
