/*
 * Replies as kube-scheduler decodes them: exact Go spelling, every candidate named at most once,
 * never one that the request did not name, integer scores from 0 to 10.
 *
 * A reply is a list of pieces: text of our own, and runs of passing candidates that are sent from
 * where they stand in the request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "extender/answer/answer.h"

struct reply_piece;

struct reply {
        struct iovec *pieces; /* what to send, valid after one of the reply_ functions below */
        size_t count;
        size_t bytes;

        struct buf text;           /* our own text; pieces point into it */
        struct reply_piece *marks; /* the pieces, as long as the text may still move */
        size_t mark_count, mark_cap, piece_cap;
        size_t text_marked; /* text up to here is in marks */
};

void reply_init(struct reply *reply);
void reply_done(struct reply *reply);
/** reply_memory_bytes() - what it has allocated; the request's text, into which it points, is not
 * its own */
size_t reply_memory_bytes(const struct reply *reply);

/**
 * reply_filter() - an ExtenderFilterResult
 *
 * Rejected nodes are in FailedAndUnresolvableNodes with the predicate's reason. So is the first
 * candidate that the shortlist leaves out, with the number of such candidates; the scheduler puts
 * these reasons into the pod's event. The others are not in the reply.
 * @answer: after answer_filter(); the reply borrows the request
 * Return: false when it would be larger than any reply may be
 */
_must_check_ bool reply_filter(struct reply *reply, const struct answer *answer);

/**
 * reply_preempt() - an ExtenderPreemptionResult: the candidates that pass, with their victims
 *
 * A candidate that is not in the reply is vetoed.
 * @answer: after answer_filter() of a request of request_parse_preemption()
 */
_must_check_ bool reply_preempt(struct reply *reply, const struct answer *answer);

/**
 * reply_prioritize() - a HostPriorityList, a bare array: the candidates with a score above 0
 *
 * The scheduler adds 0 for a node that the list does not have, and has less to decode.
 * @answer: after answer_score()
 */
_must_check_ bool reply_prioritize(struct reply *reply, const struct answer *answer);
