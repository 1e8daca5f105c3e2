/*
 * When nodes are written: each at its own instants, or sooner when it has nothing that is good;
 * by whichever replica leads; and what the one that led before did not come to. Part of the
 * controller, works on its state.
 */
#pragma once

#include "controller/controller_state.h"

/** writing_init() - the controller's publisher (unless it is a dry run), leader and metrics */
void writing_init(struct controller *c);
/** writing_arm() - the node's first turn; again when the policy has changed */
void writing_arm(struct tracked *t);
/** writing_reading() - @values are new: write at once what readers are waiting for */
void writing_reading(struct tracked *t, const struct plan_values *values);
/** writing_forget() - the node goes */
void writing_forget(struct tracked *t);
