/* What else the simulation asks the estimate. */
#pragma once

#include "extender.h"

/** estimate_extender() - the one that answers next; @self: of the algorithm */
struct extender *estimate_extender(void *self);
/** estimate_facts() - a pod as its extender sees it */
struct pod_facts estimate_facts(const void *self, const struct pod *pod);
