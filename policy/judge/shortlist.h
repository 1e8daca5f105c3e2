/*
 * The shortlist: which of many nodes that pass a filter call are told to the scheduler.
 *
 * The scheduler decodes every name that the filter answers, and then scores each of these nodes by
 * all its plugins. Most have no chance. So the filter answers with the best few by the policy's own
 * scoring. A node that is left out is in no list of the reply: it was not rejected.
 *
 * Why a pod that could be scheduled still is:
 *
 * - Extenders are called after the scheduler's own filters. All candidates have room for the pod
 *   and meet what it demands: resources, required affinity, topologySpreadConstraints with
 *   DoNotSchedule, volumes. Any of them will do, and where one passes the shortlist has one.
 * - What comes behind us may still fail: another extender that rejects all of the shortlist, a
 *   Reserve or Permit plugin, the binding. Then the pod is tried again. The scheduler begins
 *   elsewhere if it samples nodes; if it does not, the same nodes would be the best again. So a pod
 *   that comes a second time gets the whole list (struct shortlist_pods).
 * - A scheduler that finds no node for a pod looks for pods to evict. From 1.31 on it does not on
 *   nodes that an extender has left out without a word; older ones try, and find that there is
 *   nobody to evict. Either way the pod comes again.
 *
 * What its choice may lack:
 *
 * - Zones. A pod without constraints of its own, but of a Deployment or Service, is spread over
 *   zones by the scheduler's defaults. The best nodes may all be in the zone that has the most of
 *   these pods. So zones share the places evenly, not by their numbers of nodes: whichever zone the
 *   spreading asks for, there are as many nodes to choose from. A zone with fewer nodes leaves its
 *   places to the others; each has at least one, even if that makes more than there are places.
 *   With a constraint that is hard, the candidates are in the zones that it allows, and these share
 *   all places.
 * - Preferences. A pod that prefers some nodes to others (pod_facts.h) gets the whole list, unless
 *   the policy says otherwise.
 * - Nodes with a taint of effect PreferNoSchedule are idle because they are avoided. They are a
 *   zone of their own, and fill no places but their share.
 *
 * Nodes that the table does not know take the places that are left when all that it knows are in.
 * If it knows none that passes, as after a start without the API server, all are told.
 *
 * Pure but for its memory, which is reused. Two passes over the candidates, no sorting: scores are
 * levels, counted per zone.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SHORTLIST_LEVELS = 256, /* 0: the best */
        /* shortlist: auto */
        SHORTLIST_AUTO_PLACES = 16,
        SHORTLIST_AUTO_MIN_CANDIDATES = 65,
        SHORTLIST_PODS = 1 << 14,
        SHORTLIST_ZONES_MAX = 256,
        SHORTLIST_STRANGERS = SHORTLIST_ZONES_MAX, /* the group of candidates without a row */
        SHORTLIST_GROUPS,
        SHORTLIST_NO_GROUP = UINT16_MAX, /* does not take part */
};

/* Candidates of one zone. */
struct shortlist_group {
        uint32_t of_level[SHORTLIST_LEVELS];
        uint32_t size, places;
        int last_level;        /* of which there are still */
        uint32_t places_there; /* so many in */
};

struct shortlist_candidate {
        uint16_t group;
        uint8_t level;
        bool is_in;
};

struct shortlist {
        struct shortlist_candidate *candidates; /* in the request's order */
        size_t count, cap;
        struct shortlist_group *groups;    /* all zero but those in use */
        uint16_t in_use[SHORTLIST_GROUPS]; /* in the order of their first candidates */
        size_t in_use_count;
};

#define SHORTLIST_NULL ((struct shortlist){0})

void shortlist_done(struct shortlist *list);

/** shortlist_begin() - @count candidates, of which none takes part yet */
void shortlist_begin(struct shortlist *list, size_t count);
/**
 * shortlist_enter() - candidate @index takes part
 * @zone:  below SHORTLIST_ZONES_MAX, or SHORTLIST_STRANGERS
 * @level: below SHORTLIST_LEVELS; the lower the better. 0 for strangers
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
 * shortlist_choose() - sets is_in of those that take part: for the best of each zone, those of one
 * level in the request's order
 * @places: at least 1
 * Return: how many are in: @places, or the number of zones if that is more, or all that take part
 */
size_t shortlist_choose(struct shortlist *list, size_t places);

/*
 * Pods that were answered with a shortlist lately. One that is forgotten, because another took its
 * place, is answered with a shortlist once more.
 */
struct shortlist_pods {
        _Atomic uint64_t ids[SHORTLIST_PODS]; /* of pod_facts.h */
};

/** shortlist_is_first() - whether @pod_id was not there, and it is from now on; any thread */
bool shortlist_is_first(struct shortlist_pods *pods, uint64_t pod_id);
