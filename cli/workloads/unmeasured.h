/* Why nothing is measured of workloads, and what to do. */
#pragma once

#include "cli/cluster/cluster.h"

/** unmeasured_why() - look for the reason: the policy, the controllers, the kubelets
 * @namespace: where Plimsoll is installed
 * Return: a sentence for people, owned by the caller */
char *unmeasured_why(struct cluster *cluster);
