/*
 * The shortlist: if many nodes pass a filter call, which of them are in the answer.
 *
 * The scheduler decodes every name of the filter's answer, and then scores each of these nodes with
 * all its plugins. Most have no chance. So the filter answers with the best few by the policy's own
 * scoring. A node that is left out is in no list of the answer, since it was not rejected.
 *
 * Why no pod becomes unschedulable by this:
 *
 * - Extenders are called after the scheduler's own filters. All candidates have room for the pod
 *   and meet what it demands: resources, required affinity, topologySpreadConstraints with
 *   DoNotSchedule, volumes. Any of them will do, and if one passes, the shortlist has one.
 * - What comes after us may still fail: another extender may reject the whole shortlist, or a
 *   Reserve or Permit plugin or the binding may fail. Then the scheduler writes that into the pod's
 *   status and tries the pod again. Such a pod gets all nodes (pod_facts.is_retry). Nothing is kept
 *   of earlier calls, so it does not matter which replica answered them. A scheduler that has
 *   nothing else to do (SchedulerPopFromBackoffQ, Kubernetes 1.33) may try a pod again before it
 *   sees its own change of the status: the pod then gets a shortlist once more, and all nodes some
 *   milliseconds later.
 * - A scheduler that finds no node for a pod looks for pods to evict. From 1.31 on it does not look
 *   on nodes that an extender has left out; older ones do, and find nothing to evict. In both cases
 *   the pod is tried again.
 *
 * What the choice takes care of:
 *
 * - Zones. A pod without constraints of its own, but of a Deployment or Service, is spread over
 *   zones by the scheduler's defaults. The best nodes may all be in the zone that has the most of
 *   these pods. So zones share the places evenly, however many nodes they have: in whichever zone
 *   the scheduler wants the pod, it can choose from as many. A zone with fewer nodes than places
 *   leaves the rest to the other zones. Each zone has at least one place, even if that makes more
 *   places than asked for. A hard constraint leaves only candidates in the zones that it
 *   allows, and these share all places.
 * - Preferences. A pod that prefers some nodes to others (pod_facts.h) gets the whole list, unless
 *   the policy says otherwise.
 * - Nodes with a taint of effect PreferNoSchedule are idle because they are avoided. They count
 *   as a zone of their own, so that they do not take the places of other nodes.
 *
 * Candidates without a row get the places that are left when all others are in. If no passing
 * candidate has a row, as after a start without the API server, the answer has all of them.
 *
 * Pure but for its memory, which is reused. Two passes over the candidates without sorting: scores
 * are counted in levels per zone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SHORTLIST_LEVELS = 256, /* 0: the best */
        /* shortlist: auto */
        SHORTLIST_AUTO_PLACES = 16,
        SHORTLIST_AUTO_MIN_CANDIDATES = 65,
        SHORTLIST_ZONES_MAX = 256,
        SHORTLIST_STRANGERS = SHORTLIST_ZONES_MAX, /* the group of candidates without a row */
        SHORTLIST_GROUPS,
        SHORTLIST_NO_GROUP = UINT16_MAX, /* does not take part */
};

/* Candidates of one zone. */
struct shortlist_group {
        uint32_t of_level[SHORTLIST_LEVELS];
        uint32_t size, places;
        int last_level;        /* the worst level with candidates on the list */
        uint32_t places_there; /* how many of that level are on it */
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
 * shortlist_choose() - set is_in for the best of each zone; within a level, in the request's order
 * @places: at least 1
 * Return: how many are in: @places, or the number of zones if that is more; or all that take part
 */
size_t shortlist_choose(struct shortlist *list, size_t places);
