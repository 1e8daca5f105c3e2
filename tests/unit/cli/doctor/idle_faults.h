/* The faults around idle CPU, for the table of faults. */
#pragma once

#include "paper_fault.h"

#define IDLE_POLICY "*/dynamicschedulerpolicies/default"
#define IDLE_NODES "/api/v1/nodes"
#define IDLE_ANYHOW                                                                                \
        { IDLE_POLICY, "{'scoring': 'estimate'}", "{'scoring': 'estimate'}, 'idle': {}" }
#define SOURCES_ARE(sources)                                                                       \
        { PAPER_CONTROLLER_FLAGS, "node-exporter,kubelet", sources }
#define IDLE IDLE_ANYHOW, SOURCES_ARE("kubelet,node-exporter")
#define OFFERS(capacity, allocatable, times)                                                       \
        {                                                                                          \
                IDLE_NODES, "'status': {'conditions'",                                             \
                        "'status': {'capacity': {'cpu': '8'" capacity "}, 'allocatable': {"        \
                        "'cpu': '8'" allocatable "}, 'conditions'",                                \
                        times                                                                      \
        }
#define OFFER(milli) ", 'plimsoll.io/idle-milli-cpu': '" milli "'"
#define OFFERED OFFERS(OFFER("4k"), OFFER("4k"), 0)
#define REQUESTING(name, requests, spec, rest)                                                     \
        "{'metadata': {'namespace': 'a', 'name': '" name "'}, 'spec': {'containers': "             \
        "[{'resources': {'requests': {" requests "}}}]" spec "}" rest "}"
#define CPU_ONE "'cpu': '1'"
#define IDLE_TWO "'plimsoll.io/idle-milli-cpu': '2000'"
#define PHASE(phase) ", 'status': {'phase': '" phase "'}"
#define BATCH(name, rest) REQUESTING(name, CPU_ONE ", " IDLE_TWO, "", rest)
#define MIXED_PODS                                                                                 \
        BATCH("b", PHASE("Pending"))                                                               \
        ", " BATCH("c", "") ", " BATCH("d", PHASE("Failed")) ", " REQUESTING(                      \
                "e", IDLE_TWO, "", "") ", " REQUESTING("f", CPU_ONE, "", "") ", {'\\u0061': 1}"

static const struct paper_fault idle_faults[] = {
        {.changes = {IDLE, OFFERED}},
        {"idle-rights", DOCTOR_FAULT, "it may not patch nodes/status", .changes = {IDLE},
         .denied = {"plimsoll-controller", "nodes\",\"subresource\":\"status"}},
        /* Without spec.idle it is not needed. */
        {.denied = {"plimsoll-controller", "nodes\",\"subresource\":\"status"}},
        {"idle-source", DOCTOR_WARNING,
         "--metrics-source=node-exporter,kubelet does not begin with kubelet",
         .changes = {IDLE_ANYHOW, OFFERED}},
        {"idle-source", DOCTOR_WARNING, "kubelets",
         .changes = {IDLE_ANYHOW, OFFERED, SOURCES_ARE("kubelets,x")}},
        {"idle-source", DOCTOR_WARNING, "kubelex",
         .changes = {IDLE_ANYHOW, OFFERED, SOURCES_ARE("kubelex")}},
        {.changes = {IDLE_ANYHOW, OFFERED, SOURCES_ARE("kubelet")}},
        {"idle-offers", DOCTOR_FAULT,
         "4 of 4 nodes offer no idle CPU, although the policy has spec.idle: node-0, "
         "node-1, node-2, ...",
         .changes = {IDLE}},
        {"idle-offers", DOCTOR_WARNING,
         "3 of 4 nodes offer no idle CPU, although the policy has spec.idle: node-1",
         .changes = {IDLE, OFFERS(OFFER("0"), OFFER("0"), 1)}},
        {"idle-offers", DOCTOR_WARNING,
         "1 of 4 nodes offer no idle CPU, although the policy has spec.idle (capacity and "
         "allocatable differ): node-0",
         .changes = {IDLE, OFFERS(OFFER("0"), OFFER("4k"), 1), OFFERED}},
        /* One whose batch pods have taken more than is left offers nothing. */
        {"idle-offers", DOCTOR_WARNING,
         "3 of 4 nodes offer no idle CPU, although the policy has spec.idle: node-1",
         .changes = {IDLE, PODS_ARE(REQUESTING("b", IDLE_TWO, ", 'nodeName': 'node-0'", ""))}},
        {"idle-offers", DOCTOR_FAULT, "(capacity and allocatable differ)",
         .changes = {IDLE, OFFERS(OFFER("4k"), "", 0)}},
        {"idle-offers", DOCTOR_FAULT, "(capacity and allocatable differ)",
         .changes = {IDLE, OFFERS("", OFFER("4k"), 0)}},
        /* Nodes that are not read offer nothing. */
        {"annotations", DOCTOR_WARNING, "1 of 4",
         .changes = {IDLE,
                     {IDLE_NODES, "'annotations'", "'a'", 1},
                     OFFERED,
                     {IDLE_NODES, OFFER("4k"), "", 2}}},
        {"annotations-fresh", DOCTOR_FAULT, "4 of 4",
         .changes = {IDLE, {IDLE_NODES, PAPER_FRESH, "0.25000,2026-03-01T11:00:00Z"}}},
        {"idle-left", DOCTOR_WARNING,
         "1 of 4 nodes still offer idle CPU, although the policy has no spec.idle: node-0",
         .changes = {OFFERS(OFFER("0"), OFFER("0"), 1)}},
        {"idle-left", DOCTOR_WARNING, "4 of 4", .changes = {OFFERS(OFFER("4k"), "", 0)}},
        {"idle-left", DOCTOR_WARNING, "4 of 4", .changes = {OFFERS("", OFFER("4k"), 0)}},
        /* Whether it has is not known. */
        {"policy-valid", DOCTOR_FAULT, "spec", .changes = {{IDLE_POLICY, "0.8", "'x'"}, OFFERED}},
        {"idle-pods", DOCTOR_WARNING, "2 pods with requests for both CPU and idle CPU: a/b, a/c",
         .changes = {IDLE, OFFERED, PODS_ARE(MIXED_PODS)}},
        {"idle-pods", DOCTOR_UNKNOWN, "GET /api/v1/pods",
         .changes = {IDLE, OFFERED, {"/api/v1/pods", NULL, "403"}}},
        {.changes = {PODS_ARE(BATCH("b", ""))}},
};
