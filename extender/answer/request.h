/*
 * The request of kube-scheduler's filter and prioritize calls (ExtenderArgs): a pod, and the
 * candidate nodes either by name (nodeCacheCapable: true) or as whole Node objects, tens of
 * megabytes of them.
 *
 * The usual request is skimmed: one pass over the bytes that looks at the few fields that matter
 * and steps over everything else, without copying. What is stepped over is checked to be JSON,
 * since it may be echoed, and not interpreted. A request that the skimmer cannot vouch for (odd
 * types, keys with escapes, names that are not ASCII, deep nesting, any syntax that surprises it)
 * is parsed by jansson instead, whose verdict is final. Both give the same result on every document
 * that jansson accepts; the skimmer also takes numbers that jansson cannot hold, and halves of
 * surrogate pairs.
 *
 * Fields are found by their exact Go spelling, or else in any case of letters, as Go's decoder
 * takes them. Of a repeated field the last one counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "policy/pods/pod_facts.h"

enum {
        REQUEST_MAX_NODES = 1 << 20,        /* candidates in one request */
        REQUEST_STRICT_MAX_BYTES = 8 << 20, /* jansson's tree takes up to 20 times this */
};

struct request_node {
        const char *name; /* decoded; name_bytes 0 when a Node object has none */
        const char *json; /* what a reply echoes: the quoted name, or the Node object */
        uint32_t name_bytes;
        uint32_t json_bytes;
};

struct request {
        bool has_names; /* NodeNames was given; reply with names, else with Node objects */
        /* json of the nodes lies in one text, in order, with a comma and blanks between, so that
         * a run of them can be echoed in one piece */
        bool is_contiguous;
        struct pod_facts pod;       /* all 0 without a pod; has_preferences if it cannot be read */
        struct request_node *nodes; /* in the request's order; may hold duplicates */
        size_t count, cap;

        char **owned; /* decoded and rendered text */
        size_t owned_len, owned_cap;
};

#define REQUEST_NULL ((struct request){0})

/** request_done() - release everything */
void request_done(struct request *request);
/** request_reset() - make it empty and keep the memory of the node array for the next request */
void request_reset(struct request *request);

/**
 * request_parse() - read an ExtenderArgs document
 * @request: empty (REQUEST_NULL or reset); afterwards it borrows from @text
 * Return: 0; -EINVAL no such document; -E2BIG above a ceiling. After an error @request is empty
 */
_must_check_ int request_parse(struct request *request, const char *text, size_t len,
                               struct error *err);

/* The two parsers, for tests, fuzzing and the benchmark. */

/** request_skim() - false if it cannot vouch for the document; then @request is empty */
_must_check_ bool request_skim(struct request *request, const char *text, size_t len);
/** request_parse_strict() - by jansson; @request borrows nothing */
_must_check_ int request_parse_strict(struct request *request, const char *text, size_t len,
                                      struct error *err);

/**
 * request_parse_preemption() - read an ExtenderPreemptionArgs document: a pod, and the nodes that
 * may be freed for it with their victims, as UIDs (nodeCacheCapable: true) or whole pods
 *
 * The candidates' json is an entry of the reply: the quoted name, a colon and the victims by UID.
 * @request borrows nothing.
 * Return: as request_parse()
 */
_must_check_ int request_parse_preemption(struct request *request, const char *text, size_t len,
                                          struct error *err);
