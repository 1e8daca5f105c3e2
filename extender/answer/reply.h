/*
 * Replies in the form that kube-scheduler decodes. Guarantee: names are spelt as in Go, each
 * candidate occurs at most once, all candidates come from the request, and scores are integers from
 * 0 to 10.
 *
 * A reply is a list of pieces: generated text, and runs of passing candidates, which are sent
 * directly from the request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "extender/answer/answer.h"

struct reply {
        /* The data to send; valid after one of the functions below. Until then, a piece of the
         * generated text, which may still move, has no address. */
        struct iovec *pieces;
        size_t count, cap;
        size_t bytes;

        struct buf text;    /* the generated text; pieces point into it */
        size_t text_marked; /* the pieces include the text up to here */
};

void reply_init(struct reply *reply);
void reply_done(struct reply *reply);
/** reply_memory_bytes() - the allocated memory, without the text of the request */
size_t reply_memory_bytes(const struct reply *reply);

/**
 * reply_filter() - an ExtenderFilterResult
 *
 * FailedAndUnresolvableNodes has the rejected nodes with the reasons of the predicates, and the
 * first node that the shortlist leaves out with the number of such nodes; the scheduler copies
 * these reasons into the pod's event. Other nodes that are left out are not in the reply.
 * @answer: after answer_filter(); the reply borrows the request
 * Return: false if the reply would be too large
 */
_must_check_ bool reply_filter(struct reply *reply, const struct answer *answer);

/**
 * reply_preempt() - an ExtenderPreemptionResult: the candidates that pass, with their victims
 *
 * A candidate that is missing in the reply is vetoed.
 * @answer: after answer_filter() for a request from request_parse_preemption()
 */
_must_check_ bool reply_preempt(struct reply *reply, const struct answer *answer);

/**
 * reply_prioritize() - a HostPriorityList, a bare array: the candidates with a score above 0
 *
 * The scheduler adds 0 for a node that the list does not have, and has less to decode.
 * @answer: after answer_score()
 */
_must_check_ bool reply_prioritize(struct reply *reply, const struct answer *answer);
