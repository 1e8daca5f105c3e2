/*
 * One candidate of a leader election by Lease: what it has seen, and what it may do next. Pure: it
 * asks for actions, is told what came of them, and the clocks are arguments.
 *
 * The protocol is client-go's. The Lease names its holder and for how long its renewal counts.
 * Every write carries the resource version of what was read, so of two writers one gets 409. The
 * holder renews every retry_ms; another candidate may take the Lease when it has not seen it change
 * for its duration. How old a record is is measured on the reader's own monotonic clock, from when
 * it saw the record change: the times in the record are for people. A holder whose machine was
 * suspended finds that its time is over, for that clock has gone on (base/clock.h).
 *
 * Why there are never two leaders at a time: a candidate leads until renew_deadline_ms after it
 * *sent* its last successful write. Others see that write later than it was sent, and wait for
 * duration_ms from then, which is longer. The difference (5 s of 15 by default) is for clocks that
 * run at different rates, for one turn of the loop, and for writes that the server has received
 * but not yet applied. As with any lease, a write that was delayed on its way for longer than that
 * still lands: what is written under a lease must do no harm when it is late or repeated.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/timestamp.h"

enum {
        LEASE_HOLDER_MAX = 320, /* a host name, '_' and a random part; NUL included */
};

struct lease_timing {
        int64_t duration_ms;       /* for which a renewal counts, for others */
        int64_t renew_deadline_ms; /* after which the holder itself no longer counts on it */
        int64_t retry_ms;          /* between rounds */
};

#define LEASE_TIMING_DEFAULT ((struct lease_timing){15000, 10000, 2000})

/** lease_timing_check() - -EINVAL unless duration > renew deadline > 1.2 * retry > 0 and the
 * duration is at least a second */
_must_check_ int lease_timing_check(const struct lease_timing *timing, struct error *err);

/* A Lease's spec. Texts are compared and sent back, not understood; too long ones are cut. */
struct lease_record {
        char holder[LEASE_HOLDER_MAX]; /* "": nobody */
        int64_t duration_s;
        int64_t transitions;
        char acquire_time[TIMESTAMP_MAX];
        char renew_time[TIMESTAMP_MAX];
};

enum lease_action {
        LEASE_REST,   /* the round is over */
        LEASE_READ,   /* GET, then lease_candidate_read() or _failed() */
        LEASE_CREATE, /* POST what lease_candidate_propose() says, then _written() or _refused() */
        LEASE_UPDATE, /* PUT it over what was read or written last, likewise */
};

/* Everything is private to these functions, but for reading `seen`. */
struct lease_candidate {
        struct lease_timing timing;
        char identity[LEASE_HOLDER_MAX];
        struct lease_record seen;
        int64_t changed_mono_ms; /* when `seen` last changed before our eyes */
        int64_t leads_until_mono_ms;
        bool has_seen;
        bool is_absent;  /* at the last reading */
        bool is_current; /* `seen` may be written over without reading it again */
        bool has_read;   /* in this round */
};

/** lease_candidate_init() - @identity: unique among all processes that there ever were */
void lease_candidate_init(struct lease_candidate *candidate, const struct lease_timing *timing,
                          const char *identity);

/** lease_candidate_begin() - a round begins, retry_ms after the last: READ, or the leader's UPDATE
 */
enum lease_action lease_candidate_begin(struct lease_candidate *candidate, int64_t now_mono_ms);

/**
 * lease_candidate_read() - the answer to READ
 * @record: NULL: there is no Lease
 *
 * Who has ceased to lead has no claim on a Lease that still names it: that has to run out like
 * everybody else's. Otherwise one whose writes arrive while their answers do not would keep the
 * Lease for ever without leading.
 * Return: CREATE or UPDATE when the Lease is free, or we lead, else REST
 */
enum lease_action lease_candidate_read(struct lease_candidate *candidate,
                                       const struct lease_record *record, int64_t now_mono_ms);

/** lease_candidate_propose() - what CREATE or UPDATE shall write */
void lease_candidate_propose(const struct lease_candidate *candidate, int64_t now_unix_ms,
                             struct lease_record *ret);
/** lease_candidate_propose_release() - what gives the Lease away; only when `seen` is ours */
void lease_candidate_propose_release(const struct lease_candidate *candidate, int64_t now_unix_ms,
                                     struct lease_record *ret);

/**
 * lease_candidate_written() - a write of ours is what the server has now
 * @record:       as the server answered it
 * @sent_mono_ms: when the request was sent, or earlier
 */
void lease_candidate_written(struct lease_candidate *candidate, const struct lease_record *record,
                             int64_t sent_mono_ms, int64_t now_mono_ms);
/** lease_candidate_refused() - the server has not written: somebody else was there (404, 409)
 * Return: READ, once a round, or REST */
enum lease_action lease_candidate_refused(struct lease_candidate *candidate);
/** lease_candidate_failed() - nobody knows what has become of the request; the round is over */
void lease_candidate_failed(struct lease_candidate *candidate);
/** lease_candidate_resign() - from now on it doesn't lead */
void lease_candidate_resign(struct lease_candidate *candidate);

/** lease_candidate_leads() - may it write now? */
bool lease_candidate_leads(const struct lease_candidate *candidate, int64_t now_mono_ms);
/** lease_candidate_runs_out_mono_ms() - when the record that was seen last ceases to count unless
 * it changes; in the past when none was seen */
int64_t lease_candidate_runs_out_mono_ms(const struct lease_candidate *candidate);
/** lease_candidate_is_holder() - the record that was seen last names us, whether it still counts */
bool lease_candidate_is_holder(const struct lease_candidate *candidate);
