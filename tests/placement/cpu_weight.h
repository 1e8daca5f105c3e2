/*
 * How a kernel shares a node's CPU when more is wanted than there is: by the weights of control
 * groups, in proportion to what their pods request. Pure.
 */
#pragma once

#include <stddef.h>

struct cpu_consumer {
        double weight, wanted_cores;
};

/** cpu_weight() - cpu.weight of a pod: of its shares, 1024 for each core and at least 2, from 1 to
 * 10000, by getCPUWeight() in
 * https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/kubelet/cm/cgroup_manager_linux.go.
 * The kubelet also has a group for each class of pods: all BestEffort ones weigh 1 together */
double cpu_weight(double request_cores);
/** cpu_weight_share() - water filling: nobody gets more than is wanted, and what one leaves is
 * shared by all others. What is given is the smaller of @cores and all that is wanted. */
void cpu_weight_share(const struct cpu_consumer *consumers, size_t count, double cores,
                      double *ret_given_cores);
