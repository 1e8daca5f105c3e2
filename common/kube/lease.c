#include "kube/lease.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum {
        REQUEST_TIMEOUT_MAX_MS = 5000,
        RELEASE_TIMEOUT_MS = MS_PER_S,
        ANSWER_MAX_BYTES = 1 << 20,
        HOST_NAME_MAX_BYTES = 256,
};

/*
 * A round is some calls in a row: read the Lease, write it, and so again after a conflict. What the
 * timer means, and what comes next:
 *
 *   WAITING       the next round  -> ASKING. lease_release() -> RELEASING
 *   ASKING        none            -> WAITING after the round. lease_release() -> RELEASING, or
 *                                    LAST_WRITE if a write is in flight
 *   LAST_WRITE    patience        -> RELEASING when it ends, or when the write ends
 *   RELEASING     none            -> RELEASED after the round
 *   RELEASED      now             -> on_released is called
 */
enum lease_state { LEASE_WAITING, LEASE_ASKING, LEASE_LAST_WRITE, LEASE_RELEASING, LEASE_RELEASED };

struct lease {
        struct loop *loop;
        struct kube_api *api;
        struct lease_events events;
        struct lease_candidate candidate;
        char *namespace, *name, *collection_path, *path;

        json_t *object; /* the Lease when it was last read or written; NULL: none */
        struct kube_call *call;
        enum lease_action action; /* of `call` */
        int64_t sent_mono_ms, round_mono_ms;
        enum lease_state state;
        struct loop_timer timer, term;

        bool is_leading;               /* as last reported */
        char leader[LEASE_HOLDER_MAX]; /* as last reported */
        char trouble[ERROR_MSG_MAX];
        lease_released_fn *on_released;
        void *released_userdata;

        struct metrics_series *leader_gauge, *transitions;
};

char *lease_identity_new(void) {
        char host[HOST_NAME_MAX_BYTES + 1] = "";

        /* Linux has no longer ones. An empty name is fine: the random part is unique. */
        (void)gethostname(host, HOST_NAME_MAX_BYTES);
        return xasprintf("%s_%016llx", host, (unsigned long long)random_below(INT64_MAX));
}

/* The object and its fields */

static void read_spec_text(const json_t *spec, const char *key, char *text, size_t text_bytes) {
        const char *value = json_string_at(spec, key, NULL);

        (void)snprintf(text, text_bytes, "%s", value ? value : "");
}

static int64_t read_spec_count(const json_t *spec, const char *key) {
        json_int_t value = json_int_at(0, spec, key, NULL);

        return value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (int64_t)value;
}

static void read_lease_spec(const json_t *object, struct lease_spec *ret) {
        const json_t *spec = json_at(object, "spec", NULL);

        read_spec_text(spec, "holderIdentity", ret->holder, sizeof(ret->holder));
        read_spec_text(spec, "acquireTime", ret->acquire_time, sizeof(ret->acquire_time));
        read_spec_text(spec, "renewTime", ret->renew_time, sizeof(ret->renew_time));
        /* Too long for a time. It would be written back, perhaps cut within a character. */
        if (strlen(ret->acquire_time) == sizeof(ret->acquire_time) - 1)
                ret->acquire_time[0] = '\0';
        ret->duration_s = read_spec_count(spec, "leaseDurationSeconds");
        ret->transitions = read_spec_count(spec, "leaseTransitions");
}

/* The object as read, with its other fields, and with the five fields of @spec. */
static char *lease_render(const struct lease *lease, const struct lease_spec *spec) {
        json_auto_t *object = json_pack("{s:{s:s, s:s}}", "metadata", "name", lease->name,
                                        "namespace", lease->namespace);
        json_t *json = json_object();

        json_object_update(object, lease->object);
        json_object_update(json, json_object_get(object, "spec"));
        json_object_update_new(json, json_pack("{s:s, s:I, s:s, s:s, s:I}", "holderIdentity",
                                               spec->holder, "leaseDurationSeconds",
                                               (json_int_t)spec->duration_s, "acquireTime",
                                               spec->acquire_time, "renewTime", spec->renew_time,
                                               "leaseTransitions", (json_int_t)spec->transitions));
        json_object_update_new(object,
                               json_pack("{s:s, s:s, s:o}", "apiVersion", "coordination.k8s.io/v1",
                                         "kind", "Lease", "spec", json));
        return json_dumps(object, JSON_COMPACT);
}

static void forget_object(struct lease *lease) {
        json_decref(TAKE_PTR(lease->object));
}

/* An update needs metadata.name, and the resourceVersion for conflicts. */
static bool keep_object(struct lease *lease, const struct kube_answer *answer) {
        json_auto_t *object = NULL;

        if (json_parse(answer->body, answer->body_bytes, &object, NULL) < 0 ||
            !json_string_at(object, "metadata", "resourceVersion", NULL) ||
            !json_string_at(object, "metadata", "name", NULL))
                return false;
        forget_object(lease);
        lease->object = TAKE_PTR(object);
        return true;
}

/* Events */

static void update(void *userdata);

static bool is_releasing(const struct lease *lease) {
        return lease->state >= LEASE_LAST_WRITE;
}

static void update_leading(struct lease *lease) {
        bool is_leading = lease_is_leading(lease);

        if (is_leading)
                loop_timer_arm(lease->loop, &lease->term, lease_until_mono_ms(lease), update,
                               lease);
        else
                loop_timer_disarm(lease->loop, &lease->term);
        if (is_leading == lease->is_leading)
                return;
        lease->is_leading = is_leading;
        metrics_set(lease->leader_gauge, is_leading);
        metrics_inc(lease->transitions);
        if (is_leading) {
                log_info(MSG("started leading"), STR("lease", lease->name),
                         STR("namespace", lease->namespace),
                         STR("identity", lease->candidate.identity));
                lease->events.on_started_leading(lease->events.userdata);
                return;
        }
        if (is_releasing(lease))
                log_info(MSG("releasing lease"), STR("lease", lease->name));
        else
                log_warn(MSG("stopped leading"), STR("lease", lease->name),
                         STR("holder", lease->candidate.seen.holder), STR("error", lease->trouble));
        lease->events.on_stopped_leading(lease->events.userdata);
}

/* Also called when the term ends. */
static void update(void *userdata) {
        struct lease *lease = userdata;
        const char *holder = lease->candidate.seen.holder;

        update_leading(lease);
        if (!lease->candidate.has_seen || strcmp(holder, lease->leader) == 0)
                return;
        (void)snprintf(lease->leader, sizeof(lease->leader), "%s", holder);
        if (!holder[0])
                log_info(MSG("lease has no holder"), STR("lease", lease->name));
        else if (!lease_candidate_is_holder(&lease->candidate))
                log_info(MSG("new leader elected"), STR("lease", lease->name),
                         STR("leader", holder));
}

static void lease_set_trouble(struct lease *lease, const struct kube_answer *answer) {
        bool was_well = !lease->trouble[0];

        (void)snprintf(lease->trouble, sizeof(lease->trouble), "%s",
                       answer->err.msg[0] ? answer->err.msg : kube_outcome_name(answer->outcome));
        if (was_well && !is_releasing(lease))
                log_warn(MSG("cannot acquire or renew lease"), STR("lease", lease->name),
                         STR("namespace", lease->namespace),
                         STR("reason", kube_outcome_name(answer->outcome)),
                         STR("error", lease->trouble));
}

static void lease_clear_trouble(struct lease *lease) {
        if (lease->trouble[0])
                log_info(MSG("lease requests succeed again"), STR("lease", lease->name));
        lease->trouble[0] = '\0';
}

/* Rounds */

static void on_lease_answer(void *userdata, const struct kube_answer *answer);
static void on_lease_timer(void *userdata);

static void enter(struct lease *lease, enum lease_state state, int64_t timer_mono_ms) {
        lease->state = state;
        loop_timer_arm(lease->loop, &lease->timer, timer_mono_ms, on_lease_timer, lease);
}

static void lease_end_round(struct lease *lease) {
        int64_t now_mono_ms = loop_now_mono_ms(lease->loop);

        if (is_releasing(lease)) {
                enter(lease, LEASE_RELEASED, now_mono_ms);
                return;
        }
        double random = (double)random_below(INT64_C(1) << 32) * 0x1p-32;
        enter(lease, LEASE_WAITING,
              lease_candidate_next_round_mono_ms(&lease->candidate, lease->round_mono_ms,
                                                 now_mono_ms, random));
}

static void lease_send(struct lease *lease, enum lease_action action, const char *body,
                       int64_t timeout_ms) {
        static const char *const methods[] = {
                [LEASE_READ] = "GET", [LEASE_CREATE] = "POST", [LEASE_UPDATE] = "PUT"};

        lease->action = action;
        lease->sent_mono_ms = loop_now_mono_ms(lease->loop);
        lease->call = kube_start(
                lease->api,
                &(struct kube_request){
                        .method = methods[action],
                        .path = action == LEASE_CREATE ? lease->collection_path : lease->path,
                        .resource = "leases",
                        .body = body,
                        .body_bytes = body ? strlen(body) : 0,
                        .timeout_ms = timeout_ms,
                        .max_body_bytes = ANSWER_MAX_BYTES,
                        .is_urgent = true,
                        .on_done = on_lease_answer,
                        .userdata = lease,
                });
}

static void act(struct lease *lease, enum lease_action action) {
        int64_t timeout_ms = is_releasing(lease) ? RELEASE_TIMEOUT_MS
                                                 : lease->candidate.timing.renew_deadline_ms / 2;
        struct lease_spec spec;
        _cleanup_(freep) char *body = NULL;

        if (action == LEASE_REST) {
                lease_end_round(lease);
                return;
        }
        if (action == LEASE_CREATE)
                forget_object(lease);
        if (action != LEASE_READ) {
                lease_candidate_propose(&lease->candidate, loop_now_unix_ms(lease->loop), &spec);
                body = lease_render(lease, &spec);
        }
        lease_send(lease, action, body,
                   timeout_ms < REQUEST_TIMEOUT_MAX_MS ? timeout_ms : REQUEST_TIMEOUT_MAX_MS);
}

static void begin_round(struct lease *lease, enum lease_state state) {
        loop_timer_disarm(lease->loop, &lease->timer);
        lease->state = state;
        lease->round_mono_ms = loop_now_mono_ms(lease->loop);
        act(lease, lease_candidate_begin(&lease->candidate, lease->round_mono_ms));
}

static void on_good_answer(struct lease *lease, const struct kube_answer *answer,
                           enum lease_action *ret_next) {
        int64_t now_mono_ms = loop_now_mono_ms(lease->loop);
        struct lease_spec spec;

        if (!keep_object(lease, answer)) {
                lease_candidate_failed(&lease->candidate);
                lease_set_trouble(lease, &(struct kube_answer){.outcome = KUBE_BAD_ANSWER});
                return;
        }
        lease_clear_trouble(lease);
        read_lease_spec(lease->object, &spec);
        if (lease->action == LEASE_READ)
                *ret_next = lease_candidate_read(&lease->candidate, &spec, now_mono_ms);
        else
                lease_candidate_written(&lease->candidate, &spec, lease->sent_mono_ms, now_mono_ms);
}

static void on_lease_answer(void *userdata, const struct kube_answer *answer) {
        struct lease *lease = userdata;
        enum lease_action next = LEASE_REST;

        lease->call = NULL;
        if (answer->outcome == KUBE_OK) {
                on_good_answer(lease, answer, &next);
        } else if (answer->outcome == KUBE_NOT_FOUND && lease->action == LEASE_READ) {
                next = lease_candidate_read(&lease->candidate, NULL, loop_now_mono_ms(lease->loop));
        } else if (answer->outcome == KUBE_CONFLICT ||
                   (answer->outcome == KUBE_NOT_FOUND && lease->action == LEASE_UPDATE)) {
                next = lease_candidate_refused(&lease->candidate);
        } else {
                lease_candidate_failed(&lease->candidate);
                lease_set_trouble(lease, answer);
        }
        if (lease->state == LEASE_LAST_WRITE) {
                begin_round(lease, LEASE_RELEASING);
                return;
        }
        if (is_releasing(lease) && next == LEASE_REST && answer->outcome != KUBE_OK &&
            answer->outcome != KUBE_NOT_FOUND)
                log_warn(MSG("cannot release lease, it will expire"), STR("lease", lease->name),
                         STR("reason", kube_outcome_name(answer->outcome)),
                         STR("error", answer->err.msg));
        update(lease);
        act(lease, next);
}

static void on_lease_timer(void *userdata) {
        struct lease *lease = userdata;

        if (lease->state == LEASE_WAITING) {
                begin_round(lease, LEASE_ASKING);
        } else if (lease->state == LEASE_LAST_WRITE) {
                lease_candidate_failed(&lease->candidate);
                kube_cancel(TAKE_PTR(lease->call));
                begin_round(lease, LEASE_RELEASING);
        } else {
                lease->on_released(lease->released_userdata);
        }
}

void lease_release(struct lease *lease, lease_released_fn *on_done, void *userdata) {
        assert(!is_releasing(lease));

        lease->on_released = on_done;
        lease->released_userdata = userdata;
        lease->state = lease->call && lease->action != LEASE_READ ? LEASE_LAST_WRITE
                                                                  : LEASE_RELEASING;
        lease_candidate_leave(&lease->candidate);
        update(lease);
        if (lease->state == LEASE_LAST_WRITE) {
                /* Cancelled, it could still be applied after the release. */
                enter(lease, LEASE_LAST_WRITE, loop_now_mono_ms(lease->loop) + RELEASE_TIMEOUT_MS);
                return;
        }
        kube_cancel(TAKE_PTR(lease->call));
        begin_round(lease, LEASE_RELEASING);
}

struct metrics_series *lease_leader_gauge(struct metrics *metrics) {
        return metrics_gauge(metrics, "plimsoll_leader",
                             "1 on the replica that writes, 0 on a standby.", NULL);
}

struct lease *lease_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                        const struct lease_options *options) {
        struct lease *lease = xcalloc(1, sizeof(*lease));

        lease->loop = loop;
        lease->api = api;
        lease->events = options->events;
        lease_candidate_init(&lease->candidate, &options->timing, options->identity);
        lease->namespace = xstrdup(options->namespace);
        lease->name = xstrdup(options->name);
        lease->collection_path = kube_path(KUBE_COORDINATION, options->namespace, "leases", NULL,
                                           "");
        lease->path = kube_path(KUBE_COORDINATION, options->namespace, "leases", options->name, "");
        lease->leader_gauge = lease_leader_gauge(metrics);
        lease->transitions = metrics_counter(metrics, "plimsoll_lease_transitions_total",
                                             "Times this replica started or stopped leading.",
                                             NULL);
        enter(lease, LEASE_WAITING, loop_now_mono_ms(loop));
        return lease;
}

void lease_free(struct lease *lease) {
        if (!lease)
                return;
        kube_cancel(lease->call);
        loop_timer_disarm(lease->loop, &lease->timer);
        loop_timer_disarm(lease->loop, &lease->term);
        forget_object(lease);
        free(lease->namespace);
        free(lease->name);
        free(lease->collection_path);
        free(lease->path);
        free(lease);
}

bool lease_is_leading(const struct lease *lease) {
        return lease_candidate_leads(&lease->candidate, loop_now_mono_ms(lease->loop));
}

int64_t lease_until_mono_ms(const struct lease *lease) {
        return lease->candidate.leads_until_mono_ms;
}

bool lease_is_settled(const struct lease *lease) {
        return lease->candidate.has_seen;
}

const char *lease_identity(const struct lease *lease) {
        return lease->candidate.identity;
}

const char *lease_leader(const struct lease *lease) {
        return lease->leader;
}

const char *lease_trouble(const struct lease *lease) {
        return lease->trouble;
}
