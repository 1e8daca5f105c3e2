/* `trial`: what Plimsoll would do for the cluster, by the trial of an extender. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cli/verb/verb.h"
#include "program/style.h"

extern const struct verb trial_verb;

/** trial_print() - the page /trial for people
 * @from: who says so */
void trial_print(const json_t *page, const char *from, const struct style *style, FILE *out);
