/*
 * Requests of kube-scheduler. Filter and prioritize calls (ExtenderArgs) have a pod and the
 * candidate nodes, either as names (nodeCacheCapable: true) or as whole Node objects, which may be
 * tens of megabytes. Preempt calls (ExtenderPreemptionArgs) have a pod, and the nodes that may be
 * freed for it with their victims.
 *
 * A request is skimmed: one pass over the bytes reads the few relevant fields and skips the rest
 * without copying. The skipped text may be echoed, so it is checked to be JSON. Guarantee: a
 * request takes less than 100 bytes of memory per candidate, including the judge, whatever its text
 * is (measured: 48, by tests/integration/test_extender_memory.py).
 *
 * Field names match in upper and lower case, as in Go's decoder, and null means absent. If a field
 * is repeated, the last one counts; if there are both kinds of candidates, NodeNames counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "policy/pods/pod_facts.h"

/* Candidates in one request, at most: more than the node table has. */
enum { REQUEST_MAX_NODES = 1 << 17 };

struct request_node {
        const char *name; /* still escaped; name_bytes 0: a Node object without a name */
        const char *json; /* the quoted name, the Node object, or the victims on the node */
        uint32_t name_bytes;
        uint32_t json_bytes;
};

struct request {
        bool has_names;       /* the request has NodeNames: reply with names, else with objects */
        struct pod_facts pod; /* all 0 without a pod */
        bool is_held_back;    /* set by the owner: kube-scheduler places the pod by itself */
        /* In the order of the request, with duplicates. In the text, two neighbours are separated
         * by a comma and blanks, so a run of them can be echoed in one piece. */
        struct request_node *nodes;
        size_t count, cap;
        size_t max_count; /* of the document that is being read */
};

#define REQUEST_NULL ((struct request){0})

/** request_done() - release everything */
void request_done(struct request *request);
/** request_reset() - empty the request, but keep the memory of the node array for the next one */
void request_reset(struct request *request);

/**
 * request_parse() - read an ExtenderArgs document
 * @request:   empty (REQUEST_NULL or reset); afterwards it borrows from @text
 * @max_nodes: candidates that it may have, up to REQUEST_MAX_NODES; reading ends there
 * Return: 0; -EINVAL: not such a document; -E2BIG: too many candidates. After an error @request is
 * empty
 */
_must_check_ int request_parse(struct request *request, const char *text, size_t len,
                               size_t max_nodes, struct error *err);
/** request_parse_preemption() - like request_parse(), for an ExtenderPreemptionArgs document with
 * victims as UIDs (nodeCacheCapable: true) or as whole pods */
_must_check_ int request_parse_preemption(struct request *request, const char *text, size_t len,
                                          size_t max_nodes, struct error *err);

/* @uid: still escaped, without quotes */
typedef void request_victim_fn(void *userdata, const struct skim_string *uid);
/**
 * request_victims() - call @fn with each victim on a node of request_parse_preemption()
 * Return: NumPDBViolations
 */
int64_t request_victims(const struct request_node *node, request_victim_fn *fn, void *userdata);
