/* Whether schedulers call the extender, beside the pods that they bind. */
#pragma once

#include <stdbool.h>

#include "cli/doctor/doctor_check.h"

/** doctor_called_ask() - list what was bound since the last call, unless that was lately */
void doctor_called_ask(struct cluster *cluster, struct doctor_facts *facts);
void doctor_called_done(struct doctor_facts *facts);

/** doctor_is_call_known() - whether they say when the last call was */
bool doctor_is_call_known(const struct doctor_facts *facts);
/** doctor_is_called_lately() - by what the extenders say of themselves */
bool doctor_is_called_lately(const struct doctor_facts *facts);
/** doctor_called_check() - a doctor_check_fn */
void doctor_called_check(const struct doctor_facts *facts, struct doctor_finding *finding);
