/* What else the simulation asks the estimate. */
#pragma once

#include "algorithm.h"
#include "extender.h"

/** estimate_extender() - the one that answers next; @self: of the algorithm */
struct extender *estimate_extender(void *self);
/** estimate_facts() - a pod as its extender sees it */
struct pod_facts estimate_facts(const void *self, const struct pod *pod);
/** rebalance() - what kubectl plimsoll rebalance evicts, see struct algorithm */
size_t rebalance(const struct situation *situation, void *self,
                 struct pod *ret[static EVICTED_MAX]);
/** rebalance_measured() - the same, by a metrics-server that measures what each pod uses */
size_t rebalance_measured(const struct situation *situation, void *self,
                          struct pod *ret[static EVICTED_MAX]);
