/*
 * The request of kube-scheduler's filter and prioritize calls (ExtenderArgs): a pod, and the
 * candidate nodes either by name (nodeCacheCapable: true) or as whole Node objects, tens of
 * megabytes of them. And that of its preempt calls (ExtenderPreemptionArgs): a pod, and the nodes
 * that may be freed for it with their victims.
 *
 * A request is skimmed: one pass over the bytes that looks at the few fields that matter and steps
 * over everything else, without copying. What is stepped over is checked to be JSON, since it may
 * be echoed, and not interpreted. So a request takes memory for its candidates, whatever its text
 * is: less than 100 bytes for each, with what judges them (measured: 48, by
 * tests/integration/test_extender_memory.py).
 *
 * Fields are found in any case of letters, as Go's decoder finds them, and null is an absent field.
 * Of a repeated field the last one counts, and of both kinds of candidates NodeNames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "policy/pods/pod_facts.h"

/* Candidates in one request: more than the node table has. */
enum { REQUEST_MAX_NODES = 1 << 17 };

struct request_node {
        const char
                *name; /* as it stands in the request; name_bytes 0 when a Node object has none */
        const char *json; /* the quoted name, or the Node object, or the node's victims */
        uint32_t name_bytes;
        uint32_t json_bytes;
};

struct request {
        bool has_names;       /* NodeNames was given; reply with names, else with Node objects */
        struct pod_facts pod; /* all 0 without a pod */
        /* In the request's order; may hold duplicates. Between two of NodeNames or Nodes are a
         * comma and blanks, so that a run of them can be echoed in one piece. */
        struct request_node *nodes;
        size_t count, cap;
};

#define REQUEST_NULL ((struct request){0})

/** request_done() - release everything */
void request_done(struct request *request);
/** request_reset() - make it empty and keep the memory of the node array for the next request */
void request_reset(struct request *request);

/**
 * request_parse() - read an ExtenderArgs document
 * @request: empty (REQUEST_NULL or reset); afterwards it borrows from @text
 * Return: 0; -EINVAL no such document; -E2BIG too many candidates. After an error @request is empty
 */
_must_check_ int request_parse(struct request *request, const char *text, size_t len,
                               struct error *err);
/** request_parse_preemption() - read an ExtenderPreemptionArgs document, with victims as UIDs
 * (nodeCacheCapable: true) or as whole pods; otherwise as request_parse() */
_must_check_ int request_parse_preemption(struct request *request, const char *text, size_t len,
                                          struct error *err);

/* @uid: as it stands between its quotes */
typedef void request_victim_fn(void *userdata, const struct skim_string *uid);
/**
 * request_victims() - call @fn with each victim on a node of request_parse_preemption()
 * Return: NumPDBViolations
 */
int64_t request_victims(const struct request_node *node, request_victim_fn *fn, void *userdata);
