/*
 * The shortlist: if many nodes pass a filter call, only the best few are in the answer.
 *
 * The scheduler decodes every name in the answer, and scores each of these nodes with all its
 * plugins, although most have no chance. So the filter answers with the best nodes by the policy's
 * scoring. Nodes that are left out were not rejected, so no list in the answer has them.
 *
 * Guarantee: the shortlist makes no pod unschedulable.
 *
 * - Extenders are called after the scheduler's own filters, so every candidate meets the pod's hard
 *   requirements: resources, required affinity, topologySpreadConstraints with DoNotSchedule,
 *   volumes. Any candidate will do, and if one passes, the shortlist has one.
 * - A later step may fail: another extender rejects the whole shortlist, or a Reserve or Permit
 *   plugin or the binding fails. The scheduler then records this in the pod's status and retries
 *   the pod, and a retried pod gets all nodes (pod_facts.is_retry). No state is kept between calls,
 *   so any replica may answer. An idle scheduler (SchedulerPopFromBackoffQ, Kubernetes 1.33) may
 *   retry before it sees its own change of the status: the pod then gets a second shortlist, and
 *   all nodes some milliseconds later.
 * - A scheduler that finds no node for a pod looks for pods to evict. Since 1.31 it skips nodes
 * that an extender has left out; older versions look there, and find nothing to evict. In both
 * cases the pod is retried.
 *
 * Rules of the choice:
 *
 * - Zones. The scheduler spreads the pods of a Deployment or Service over zones by default. The
 * best nodes may all be in the zone that already has most of these pods. So all zones get the same
 *   number of places, however many nodes they have, and the scheduler has the same choice in each
 *   zone. A zone with fewer nodes than places leaves the rest to the other zones. Each zone has at
 *   least one place, even if the list gets longer. A hard constraint leaves candidates only in the
 *   zones that it allows, and these share all places.
 * - Preferences. A pod that prefers some nodes (pod_facts.h) gets the whole list, unless the policy
 *   has shortlistFor: all.
 * - Nodes with a taint of effect PreferNoSchedule are idle because pods avoid them. They form a
 * zone of their own, so they do not displace other nodes.
 *
 * Candidates without a row get the remaining places. If no passing candidate has a row, as after a
 * start without the API server, the answer has all candidates.
 *
 * Pure except for its memory, which is reused. Two passes over the candidates, without sorting:
 * scores are counted in levels per zone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SHORTLIST_LEVELS = 256, /* level 0 is the best */
        /* shortlist: auto */
        SHORTLIST_AUTO_PLACES = 16,
        SHORTLIST_AUTO_MIN_CANDIDATES = 65,
        SHORTLIST_ZONES_MAX = 256,
        SHORTLIST_STRANGERS = SHORTLIST_ZONES_MAX, /* the group of candidates without a row */
        SHORTLIST_GROUPS,
        SHORTLIST_NO_GROUP = UINT16_MAX, /* the candidate does not take part */
};

/* The candidates of one zone. */
struct shortlist_group {
        uint32_t of_level[SHORTLIST_LEVELS];
        uint32_t size, places;
        int last_level;        /* the worst level with candidates on the list */
        uint32_t places_there; /* the number of candidates on the list from that level */
};

struct shortlist_candidate {
        uint16_t group;
        uint8_t level;
        bool is_in;
};

struct shortlist {
        struct shortlist_candidate *candidates; /* in the request's order */
        size_t count, cap;
        struct shortlist_group *groups;    /* all zero except those in use */
        uint16_t in_use[SHORTLIST_GROUPS]; /* in the order of their first candidates */
        size_t in_use_count;
};

#define SHORTLIST_NULL ((struct shortlist){0})

void shortlist_done(struct shortlist *list);

/** shortlist_begin() - begin with @count candidates, none of which takes part yet */
void shortlist_begin(struct shortlist *list, size_t count);
/**
 * shortlist_enter() - candidate @index takes part
 * @zone:  below SHORTLIST_ZONES_MAX, or SHORTLIST_STRANGERS
 * @level: below SHORTLIST_LEVELS; lower is better. 0 for strangers
 */
static inline void shortlist_enter(struct shortlist *list, size_t index, unsigned zone,
                                   unsigned level) {
        struct shortlist_group *group = &list->groups[zone];

        if (group->size++ == 0)
                list->in_use[list->in_use_count++] = (uint16_t)zone;
        group->of_level[level]++;
        list->candidates[index] = (struct shortlist_candidate){.group = (uint16_t)zone,
                                                               .level = (uint8_t)level};
}

/**
 * shortlist_choose() - set is_in for the best candidates of each zone; within a level, the order of
 * the request decides
 * @places: at least 1
 * Return: the length of the list: @places, or the number of zones if that is larger, or the number
 * of candidates that take part if that is smaller
 */
size_t shortlist_choose(struct shortlist *list, size_t places);
