#include "controller/writing/idle_writer.h"

#include <math.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "controller/node/node_set.h"
#include "controller/pods/pod_set.h"
#include "kube/kube_proto.h"

enum {
        MAX_RETRY_MS = 300000,
        MAX_IN_FLIGHT = 4,
        MAX_CARRIED_MILLI = 1000000000,
        URGENCY_TO_RISE = 0,
        URGENCY_TO_FALL = 1,
};

static struct idle_node *idle_of_job(struct publisher_job *job) {
        return CONTAINER_OF(job, struct idle_node, job);
}

/* @offered_milli: may be IDLE_OFFER_NONE. False: the patch does not fit. */
static bool write_offer(const char *uid, int64_t offered_milli, struct buf *out) {
        static const char *const maps[] = {"capacity", "allocatable"};

        json_write_object(out, NULL);
        if (uid) {
                json_write_object(out, "metadata");
                json_write_text(out, "uid", uid);
                json_write_object_end(out);
        }
        json_write_object(out, "status");
        for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
                json_write_object(out, maps[i]);
                json_write_key(out, KUBE_IDLE_RESOURCE);
                if (offered_milli < 0)
                        buf_puts(out, "null}");
                else
                        buf_printf(out, "\"%lld\"}", (long long)offered_milli);
        }
        return buf_puts(out, "}}");
}

/* The offer in a Node's status; IDLE_OFFER_NONE: there is none.
 * @ret_is_odd: see struct idle_node */
static int64_t read_offer(const json_t *status, bool *ret_is_odd) {
        const char *capacity = json_string_at(status, "capacity", KUBE_IDLE_RESOURCE, NULL);
        const char *allocatable = json_string_at(status, "allocatable", KUBE_IDLE_RESOURCE, NULL);
        double milli = 0;

        if (!capacity && !allocatable) {
                *ret_is_odd = false;
                return IDLE_OFFER_NONE;
        }
        *ret_is_odd = !capacity || !allocatable || strcmp(capacity, allocatable) != 0 ||
                      !quantity_parse(capacity, strlen(capacity), &milli) || milli < 0 ||
                      milli > MAX_CARRIED_MILLI || milli != floor(milli);
        return *ret_is_odd ? 0 : (int64_t)milli;
}

static void delay_rise(struct idle_node *idle) {
        idle->next_rise_mono_ms = publisher_now(idle->job.kind) +
                                  idle->track->compiled->plan.sync_ms;
}

/* May the node's offer change? */
static bool has_offer(const struct idle_node *idle) {
        return idle->track->compiled->policy->idle_line_ratio > 0 ||
               idle->carried_milli != IDLE_OFFER_NONE;
}

/* The next rise is a period later, whichever replica has raised the offer. */
static void note_carried(struct idle_node *idle, int64_t milli) {
        if (milli > idle->carried_milli)
                delay_rise(idle);
        idle->carried_milli = milli;
        if (has_offer(idle))
                publisher_look_again(idle->job.kind);
}

static int64_t next_offer(const struct idle_node *idle, int64_t now_mono_ms) {
        int64_t taken_milli = pod_set_taken_milli(idle->node->set->options.pods, idle->node->name);

        bool is_read = idle->offer.room_milli != IDLE_OFFER_NONE &&
                       node_track_is_fresh(idle->track, now_mono_ms);

        if (!is_read || taken_milli < 0) {
                bool has_room = is_read && idle->offer.room_milli >= idle->carried_milli;
                bool stays = has_room || now_mono_ms < idle->job.grace_until_mono_ms;
                return stays ? idle->carried_milli : IDLE_OFFER_NONE;
        }
        return idle_offer_next(&idle->offer, idle->carried_milli,
                               now_mono_ms >= idle->next_rise_mono_ms, taken_milli);
}

static bool is_offer_wanted(const struct idle_node *idle, int64_t next_milli) {
        return idle->is_odd || next_milli != idle->carried_milli;
}

static bool compose_offer(struct publisher_job *job, struct buf *patch) {
        struct idle_node *idle = idle_of_job(job);

        idle->next_milli = next_offer(idle, publisher_now(job->kind));
        if (!is_offer_wanted(idle, idle->next_milli))
                return false;
        return write_offer(job->uid, idle->next_milli, patch);
}

static void on_offer_done(struct publisher_job *job, enum patch_outcome outcome) {
        struct idle_node *idle = idle_of_job(job);

        if (outcome != PATCH_WRITTEN)
                return;
        note_carried(idle, idle->next_milli);
        idle->is_odd = false;
}

struct patch_kind *idle_writer_new(struct publisher *publisher) {
        return publisher_add_kind(publisher,
                                  &(struct patch_kind_options){.what = "idle CPU",
                                                               .max_in_flight = MAX_IN_FLIGHT,
                                                               .max_retry_ms = MAX_RETRY_MS,
                                                               .compose = compose_offer,
                                                               .on_done = on_offer_done});
}

void idle_writer_replan(struct idle_node *idle) {
        publisher_look_again(idle->job.kind);
        idle->offer.room_milli = IDLE_OFFER_NONE;
        publisher_grant(&idle->job, node_track_settle_ms(idle->track));
        delay_rise(idle);
}

void idle_writer_add(struct patch_kind *offers, struct idle_node *idle, const struct node *node,
                     const struct node_track *track) {
        *idle = (struct idle_node){
                .job.is_of_status = true,
                .node = node,
                .track = track,
                .carried_milli = IDLE_OFFER_NONE,
        };
        publisher_add(offers, &idle->job, node->name);
        idle_writer_replan(idle);
}

void idle_writer_seen(struct idle_node *idle, const json_t *status) {
        note_carried(idle, read_offer(status, &idle->is_odd));
}

void idle_writer_update(struct idle_node *idle, const struct plan_values *values) {
        bool was_known = idle->offer.room_milli != IDLE_OFFER_NONE;

        idle->offer = idle_offer_of(idle->track->compiled->policy, values,
                                    idle->node->kubelet.capacity.cpu_cores);
        if (was_known && idle->offer.room_milli == IDLE_OFFER_NONE)
                idle_writer_replan(idle);
}

void idle_writer_tick(struct patch_kind *offers, bool may_write) {
        int64_t now_mono_ms = publisher_now(offers);
        struct publisher_job *job;
        bool is_needed = false;

        if (!publisher_may_look(offers) || !may_write)
                return;
        TAILQ_FOREACH (job, &offers->jobs, link) {
                const struct idle_node *idle = idle_of_job(job);
                int64_t next_milli = next_offer(idle, now_mono_ms);
                is_needed |= has_offer(idle);
                if (!is_offer_wanted(idle, next_milli))
                        publisher_unwanted(job);
                else
                        publisher_push(job, next_milli < idle->carried_milli ? URGENCY_TO_FALL
                                                                             : URGENCY_TO_RISE);
        }
        if (!is_needed)
                publisher_look_no_more(offers);
}
