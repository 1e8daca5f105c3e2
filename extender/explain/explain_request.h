/*
 * The body of POST /explain:
 *
 *     {"pod": {...}, "policy": "spec: ...", "nodes": [{...}], "select": ["node-a"], "terms": true,
 *      "at": "2026-07-23T11:25:54Z"}
 *
 * Each member may be absent. It is skimmed, since a tree of a hostile body would take many times
 * its size; nodes are read one by one. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/skim.h"
#include "policy/pods/pod_facts.h"

/* The JSON of a value in the body. */
struct explain_span {
        const char *text; /* NULL: absent */
        size_t len;
};

struct explain_request {
        bool has_pod;
        struct pod_facts pod;              /* borrows from the body */
        char *policy;                      /* owned; NULL: the policy in force */
        struct explain_span nodes, select; /* arrays */
        bool has_no_terms;                 /* only verdicts, scores and headrooms */
        int64_t at_unix_ms;                /* 0: now */
};

/** explain_request_parse() - read @body; @ret is released with explain_request_done()
 * Return: 0; -EINVAL: @err names the member */
_must_check_ int explain_request_parse(const char *body, size_t body_bytes,
                                       struct explain_request *ret, struct error *err);
void explain_request_done(struct explain_request *request);
