/*
 * The state machine of a candidate in a leader election by Lease. Pure: it returns actions and
 * takes their results; the time is an argument.
 *
 * The protocol is client-go's. The Lease has a holder and a duration. Every write has the resource
 * version that was read, so that one of two concurrent writers gets 409. The holder renews the
 * Lease every retry_ms. Another candidate may acquire it after it has not changed for its duration.
 * Each candidate measures that on its own monotonic clock, from when it noticed the last change;
 * the times in the spec are informational. The clock includes suspensions (base/clock.h): a holder
 * whose machine was suspended no longer leads.
 *
 * Why there are never two leaders: a candidate leads until renew_deadline_ms after it *sent* its
 * last successful write. Others notice that write later, and then wait for duration_ms, which is
 * longer. The difference (5 s by default) covers different clock rates, a pass of the loop, and
 * writes that the server has received but not yet applied. As with any lease, a write that is
 * delayed longer is still applied: writes under a lease must be harmless if they are late or
 * repeated.
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
        int64_t duration_ms;       /* leaseDurationSeconds: how long other replicas wait */
        int64_t renew_deadline_ms; /* how long the holder leads after it sent a renewal */
        int64_t retry_ms;          /* time between renewals */
};

#define LEASE_TIMING_DEFAULT ((struct lease_timing){15000, 10000, 2000})

/** lease_timing_check() - -EINVAL unless duration > renew deadline > 1.2 * retry > 0, and the
 * duration is at least a second */
_must_check_ int lease_timing_check(const struct lease_timing *timing, struct error *err);

/* The spec of a Lease. Texts are compared and written back, not parsed; long texts are cut. */
struct lease_spec {
        char holder[LEASE_HOLDER_MAX]; /* "": none */
        int64_t duration_s;
        int64_t transitions;
        char acquire_time[TIMESTAMP_MAX];
        char renew_time[TIMESTAMP_MAX];
};

enum lease_action {
        LEASE_REST,   /* the round is over */
        LEASE_READ,   /* GET; then call lease_candidate_read() or _failed() */
        LEASE_CREATE, /* POST the spec of lease_candidate_propose(); then call _written(),
                         _refused() or _failed() */
        LEASE_UPDATE, /* PUT that spec with the last known resource version; then as for CREATE */
};

/* Private, but `seen` can be read. */
struct lease_candidate {
        struct lease_timing timing;
        char identity[LEASE_HOLDER_MAX];
        struct lease_spec seen;  /* the last known spec */
        int64_t changed_mono_ms; /* when `seen` last changed */
        int64_t leads_until_mono_ms;
        bool has_seen;
        bool is_absent;  /* there was no Lease at the last READ */
        bool is_current; /* the Lease can be updated without another READ */
        bool has_read;   /* there was a READ in this round */
        bool has_failed; /* a request of this round failed */
        bool is_leaving;
};

/** lease_candidate_init() - @identity: unique among all processes, past and present */
void lease_candidate_init(struct lease_candidate *candidate, const struct lease_timing *timing,
                          const char *identity);

/** lease_candidate_begin() - begin a round. Return: UPDATE for the leader, and for a leaving
 * holder; REST for a leaving candidate that holds nothing; else READ. After a failed request, a
 * leaving candidate reads first: the request may have been a write that was applied */
enum lease_action lease_candidate_begin(struct lease_candidate *candidate, int64_t now_mono_ms);

/**
 * lease_candidate_read() - take the answer to READ
 * @spec: NULL: there is no Lease
 *
 * A candidate that no longer leads waits until the Lease expires, even if it still holds it.
 * Otherwise, a candidate whose writes are applied, but whose responses are lost, would hold the
 * Lease forever without leading.
 * Return: CREATE or UPDATE if the Lease is free or we lead, else REST. After _leave(): UPDATE if we
 * hold the Lease
 */
enum lease_action lease_candidate_read(struct lease_candidate *candidate,
                                       const struct lease_spec *spec, int64_t now_mono_ms);

/** lease_candidate_propose() - the spec for CREATE or UPDATE. After _leave(), it has no holder, so
 * that another candidate can acquire the Lease at once */
void lease_candidate_propose(const struct lease_candidate *candidate, int64_t now_unix_ms,
                             struct lease_spec *ret);

/**
 * lease_candidate_written() - the write was applied
 * @spec:         from the response
 * @sent_mono_ms: when the request was sent, or earlier
 */
void lease_candidate_written(struct lease_candidate *candidate, const struct lease_spec *spec,
                             int64_t sent_mono_ms, int64_t now_mono_ms);
/** lease_candidate_refused() - the write was rejected because of a concurrent one (404, 409).
 * Return: READ, at most once per round, or REST */
enum lease_action lease_candidate_refused(struct lease_candidate *candidate);
/** lease_candidate_failed() - the request failed, and may have been applied; the round is over */
void lease_candidate_failed(struct lease_candidate *candidate);
/** lease_candidate_leave() - stop leading; the next round releases the Lease */
void lease_candidate_leave(struct lease_candidate *candidate);

/**
 * lease_candidate_next_round_mono_ms() - when to begin the next round
 * @round_mono_ms: when this round began
 * @random:        in [0, 1), a new number for each round, so that candidates do not try together
 *
 * The leader renews every retry_ms. A standby reads after half to three quarters of that, since the
 * age of a spec counts from when the standby notices it, and again when the spec expires. After a
 * failed request, a candidate that does not lead waits for one retry period and up to 1.2 more,
 * client-go's JitterFactor.
 */
int64_t lease_candidate_next_round_mono_ms(const struct lease_candidate *candidate,
                                           int64_t round_mono_ms, int64_t now_mono_ms,
                                           double random);

/** lease_candidate_leads() - whether the candidate may write now */
bool lease_candidate_leads(const struct lease_candidate *candidate, int64_t now_mono_ms);
/** lease_candidate_is_holder() - whether the last known spec names us, expired or not */
bool lease_candidate_is_holder(const struct lease_candidate *candidate);
