#include "kube/lease_candidate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Fractions of retry_ms: the minimum wait, and the maximum jitter. */
static const double FAILED_JITTER = 1.2; /* JitterFactor of client-go's leaderelection.go */
static const double STANDBY_WAIT = 0.5, STANDBY_JITTER = 0.25;
static const double EXPIRY_JITTER = 0.05;

/* The type of leaseDurationSeconds and leaseTransitions. */
static const int64_t max_int32 = INT32_MAX;

int lease_timing_check(const struct lease_timing *timing, struct error *err) {
        if (timing->duration_ms < MS_PER_S || timing->duration_ms / MS_PER_S >= max_int32)
                return error_set(err, EINVAL, "the lease duration must be at least a second");
        if (timing->duration_ms <= timing->renew_deadline_ms)
                return error_set(err, EINVAL,
                                 "the lease duration must be longer than the renew deadline");
        if (timing->retry_ms <= 0 ||
            (double)timing->renew_deadline_ms <= FAILED_JITTER * (double)timing->retry_ms)
                return error_set(err, EINVAL,
                                 "the renew deadline must be longer than 1.2 retry periods");
        return 0;
}

static bool specs_are_equal(const struct lease_spec *a, const struct lease_spec *b) {
        return strcmp(a->holder, b->holder) == 0 && a->duration_s == b->duration_s &&
               a->transitions == b->transitions && strcmp(a->acquire_time, b->acquire_time) == 0 &&
               strcmp(a->renew_time, b->renew_time) == 0;
}

void lease_candidate_init(struct lease_candidate *candidate, const struct lease_timing *timing,
                          const char *identity) {
        *candidate = (struct lease_candidate){.timing = *timing, .leads_until_mono_ms = INT64_MIN};
        (void)snprintf(candidate->identity, sizeof(candidate->identity), "%s", identity);
}

bool lease_candidate_is_holder(const struct lease_candidate *candidate) {
        return candidate->has_seen && strcmp(candidate->seen.holder, candidate->identity) == 0;
}

bool lease_candidate_leads(const struct lease_candidate *candidate, int64_t now_mono_ms) {
        return now_mono_ms < candidate->leads_until_mono_ms;
}

static void stop_leading(struct lease_candidate *candidate) {
        candidate->leads_until_mono_ms = INT64_MIN;
}

void lease_candidate_leave(struct lease_candidate *candidate) {
        candidate->is_leaving = true;
        stop_leading(candidate);
}

/* When the last known spec expires unless it changes; in the past if there is none. */
static int64_t runs_out_mono_ms(const struct lease_candidate *candidate) {
        if (!candidate->has_seen)
                return INT64_MIN;
        return candidate->changed_mono_ms + candidate->seen.duration_s * MS_PER_S;
}

enum lease_action lease_candidate_begin(struct lease_candidate *candidate, int64_t now_mono_ms) {
        bool may_have_written = candidate->has_failed;

        candidate->has_read = candidate->has_failed = false;
        if (candidate->is_leaving && !lease_candidate_is_holder(candidate) && !may_have_written)
                return LEASE_REST;
        if (candidate->is_current &&
            (candidate->is_leaving || lease_candidate_leads(candidate, now_mono_ms)))
                return LEASE_UPDATE;
        return LEASE_READ;
}

/* Whether we do not lead, and the Lease has a holder and has not expired. */
static bool is_taken(const struct lease_candidate *candidate, int64_t now_mono_ms) {
        const struct lease_spec *seen = &candidate->seen;

        return candidate->has_seen && seen->holder[0] &&
               !lease_candidate_leads(candidate, now_mono_ms) &&
               now_mono_ms < runs_out_mono_ms(candidate);
}

enum lease_action lease_candidate_read(struct lease_candidate *candidate,
                                       const struct lease_spec *spec, int64_t now_mono_ms) {
        candidate->has_read = candidate->is_current = true;
        candidate->is_absent = !spec;
        /* A deleted Lease counts until it expires: its holder may not have noticed. */
        if (spec && (!candidate->has_seen || !specs_are_equal(spec, &candidate->seen))) {
                candidate->seen = *spec;
                candidate->changed_mono_ms = now_mono_ms;
                candidate->has_seen = true;
        }
        if (candidate->is_leaving)
                return spec && lease_candidate_is_holder(candidate) ? LEASE_UPDATE : LEASE_REST;
        if (!lease_candidate_is_holder(candidate))
                stop_leading(candidate);
        if (is_taken(candidate, now_mono_ms))
                return LEASE_REST;
        return candidate->is_absent ? LEASE_CREATE : LEASE_UPDATE;
}

void lease_candidate_propose(const struct lease_candidate *candidate, int64_t now_unix_ms,
                             struct lease_spec *ret) {
        const struct lease_spec *seen = &candidate->seen;
        bool is_renewal = !candidate->is_absent && lease_candidate_is_holder(candidate);
        struct lease_spec spec = {.duration_s = 1};

        timestamp_format_us(now_unix_ms, spec.renew_time, sizeof(spec.renew_time));
        memcpy(spec.acquire_time, spec.renew_time, sizeof(spec.acquire_time));
        if (!candidate->is_leaving) {
                memcpy(spec.holder, candidate->identity, sizeof(spec.holder));
                spec.duration_s = (candidate->timing.duration_ms + MS_PER_S - 1) / MS_PER_S;
                if (is_renewal && seen->acquire_time[0])
                        memcpy(spec.acquire_time, seen->acquire_time, sizeof(spec.acquire_time));
        }
        if (!candidate->is_absent)
                spec.transitions = seen->transitions + (is_renewal ? 0 : 1);
        if (spec.transitions > max_int32)
                spec.transitions = max_int32;
        *ret = spec;
}

void lease_candidate_written(struct lease_candidate *candidate, const struct lease_spec *spec,
                             int64_t sent_mono_ms, int64_t now_mono_ms) {
        candidate->seen = *spec;
        candidate->changed_mono_ms = now_mono_ms;
        candidate->has_seen = candidate->is_current = true;
        candidate->is_absent = false;
        if (lease_candidate_is_holder(candidate) && !candidate->is_leaving)
                candidate->leads_until_mono_ms = sent_mono_ms + candidate->timing.renew_deadline_ms;
        else
                stop_leading(candidate);
}

enum lease_action lease_candidate_refused(struct lease_candidate *candidate) {
        candidate->is_current = false;
        return candidate->has_read ? LEASE_REST : LEASE_READ;
}

void lease_candidate_failed(struct lease_candidate *candidate) {
        candidate->is_current = false;
        candidate->has_failed = true;
}

int64_t lease_candidate_next_round_mono_ms(const struct lease_candidate *candidate,
                                           int64_t round_mono_ms, int64_t now_mono_ms,
                                           double random) {
        double retry_ms = (double)candidate->timing.retry_ms;
        int64_t expires_mono_ms = runs_out_mono_ms(candidate);

        if (lease_candidate_leads(candidate, now_mono_ms))
                return round_mono_ms + candidate->timing.retry_ms;
        if (candidate->has_failed)
                return now_mono_ms + (int64_t)(retry_ms * (1 + FAILED_JITTER * random));
        int64_t next_mono_ms = now_mono_ms +
                               (int64_t)(retry_ms * (STANDBY_WAIT + STANDBY_JITTER * random));
        if (expires_mono_ms > now_mono_ms && expires_mono_ms < next_mono_ms)
                return expires_mono_ms + (int64_t)(retry_ms * EXPIRY_JITTER * random);
        return next_mono_ms;
}
