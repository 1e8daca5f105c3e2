/*
 * The state machine of one candidate in a leader election by Lease. Pure: it returns actions, takes
 * their results, and the time is an argument.
 *
 * The protocol is client-go's. The Lease has a holder and a duration. Every write carries the
 * resource version that was read, so that one of two concurrent writers gets 409. The holder renews
 * every retry_ms; another candidate may acquire the Lease when it has not seen it change for its
 * duration. The age of a spec is measured on the reader's monotonic clock, from when it saw the
 * spec change; the times in the spec are informational. That clock includes suspends
 * (base/clock.h), so a holder whose machine was suspended no longer leads.
 *
 * Why there are never two leaders at a time: a candidate leads until renew_deadline_ms after it
 * *sent* its last successful write. Others see that write later, and wait for duration_ms from
 * then, which is longer. The difference (5 s by default) covers clocks of different rates, one turn
 * of the loop, and writes that the server has received but not yet applied. As with any lease, a
 * write that is delayed for longer is still applied: what is written under a lease must be harmless
 * when late or repeated.
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
        int64_t duration_ms;       /* leaseDurationSeconds: the other replicas wait this long */
        int64_t renew_deadline_ms; /* the holder leads this long after a renewal was sent */
        int64_t retry_ms;          /* between the leader's renewals */
};

#define LEASE_TIMING_DEFAULT ((struct lease_timing){15000, 10000, 2000})

/** lease_timing_check() - -EINVAL unless duration > renew deadline > 1.2 * retry > 0 and the
 * duration is at least a second */
_must_check_ int lease_timing_check(const struct lease_timing *timing, struct error *err);

/* A Lease's spec. Texts are compared and sent back, not parsed; too long ones are cut. */
struct lease_spec {
        char holder[LEASE_HOLDER_MAX]; /* "": none */
        int64_t duration_s;
        int64_t transitions;
        char acquire_time[TIMESTAMP_MAX];
        char renew_time[TIMESTAMP_MAX];
};

enum lease_action {
        LEASE_REST,   /* the round is over */
        LEASE_READ,   /* GET, then lease_candidate_read() or _failed() */
        LEASE_CREATE, /* POST the spec of lease_candidate_propose(), then _written() or _refused()
                       */
        LEASE_UPDATE, /* PUT it over what was read or written last, likewise */
};

/* Private, except that `seen` may be read. */
struct lease_candidate {
        struct lease_timing timing;
        char identity[LEASE_HOLDER_MAX];
        struct lease_spec seen;
        int64_t changed_mono_ms; /* when we last saw `seen` change */
        int64_t leads_until_mono_ms;
        bool has_seen;
        bool is_absent;  /* at the last reading */
        bool is_current; /* `seen` may be updated without reading it again */
        bool has_read;   /* in this round */
        bool has_failed; /* a request of this round failed */
        bool is_leaving;
};

/** lease_candidate_init() - @identity: unique among all processes that there ever were */
void lease_candidate_init(struct lease_candidate *candidate, const struct lease_timing *timing,
                          const char *identity);

/** lease_candidate_begin() - a round begins: READ, or UPDATE of the leader or of the holder that
 * leaves, or REST once nothing of ours is to be released. Behind a failure one who leaves reads:
 * that may have been a write, and it may have been applied */
enum lease_action lease_candidate_begin(struct lease_candidate *candidate, int64_t now_mono_ms);

/**
 * lease_candidate_read() - the answer to READ
 * @spec: NULL: there is no Lease
 *
 * A candidate that no longer leads waits for the Lease to expire even if the Lease still names it.
 * Otherwise one whose writes are applied while the responses get lost would hold the Lease for ever
 * without leading.
 * Return: CREATE or UPDATE when the Lease is free, or we lead, else REST; after _leave(): UPDATE
 * when it names us
 */
enum lease_action lease_candidate_read(struct lease_candidate *candidate,
                                       const struct lease_spec *spec, int64_t now_mono_ms);

/** lease_candidate_propose() - the spec for CREATE or UPDATE; after _leave() one without a holder,
 * so that another candidate can take the Lease at once */
void lease_candidate_propose(const struct lease_candidate *candidate, int64_t now_unix_ms,
                             struct lease_spec *ret);

/**
 * lease_candidate_written() - our write was applied
 * @spec:       from the server's response
 * @sent_mono_ms: when the request was sent, or earlier
 */
void lease_candidate_written(struct lease_candidate *candidate, const struct lease_spec *spec,
                             int64_t sent_mono_ms, int64_t now_mono_ms);
/** lease_candidate_refused() - the write was rejected because of a concurrent one (404, 409)
 * Return: READ, once a round, or REST */
enum lease_action lease_candidate_refused(struct lease_candidate *candidate);
/** lease_candidate_failed() - the request may or may not have been applied; the round is over */
void lease_candidate_failed(struct lease_candidate *candidate);
/** lease_candidate_leave() - stop leading; the next round releases the Lease */
void lease_candidate_leave(struct lease_candidate *candidate);

/**
 * lease_candidate_next_round_mono_ms() - when the next round should begin
 * @round_mono_ms: when this one began
 * @random:        [0, 1), drawn anew for each round: candidates must not try together
 *
 * The leader renews every retry_ms. A standby reads after half to three quarters of it, since the
 * age of a spec counts from when we saw its change, and again as soon as the spec expires.
 * After a failed request, a candidate that does not lead waits longer, by up to client-go's
 * JitterFactor of 1.2 retry periods.
 */
int64_t lease_candidate_next_round_mono_ms(const struct lease_candidate *candidate,
                                           int64_t round_mono_ms, int64_t now_mono_ms,
                                           double random);

/** lease_candidate_leads() - whether it may write now */
bool lease_candidate_leads(const struct lease_candidate *candidate, int64_t now_mono_ms);
/** lease_candidate_is_holder() - the spec seen last names us, expired or not */
bool lease_candidate_is_holder(const struct lease_candidate *candidate);
