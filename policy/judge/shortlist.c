#include "policy/judge/shortlist.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void shortlist_done(struct shortlist *list) {
        free(list->candidates);
        free(list->groups);
        *list = SHORTLIST_NULL;
}

void shortlist_begin(struct shortlist *list, size_t count) {
        if (!list->groups)
                list->groups = xcalloc(SHORTLIST_GROUPS, sizeof(*list->groups));
        for (size_t i = 0; i < list->in_use_count; i++)
                memset(&list->groups[list->in_use[i]], 0, sizeof(*list->groups));
        list->in_use_count = 0;
        if (count > list->cap) {
                list->candidates = xreallocarray(list->candidates, count,
                                                 sizeof(*list->candidates));
                list->cap = count;
        }
        list->count = count;
        if (count > 0)
                memset(list->candidates, 0xff, count * sizeof(*list->candidates)); /* NO_GROUP */
}

/* A group that needs at most an equal share gets what it needs. This repeats until no such group is
 * left; the remaining groups get equal shares. Return: the places that are left */
static size_t share_places(struct shortlist *list, size_t places) {
        uint16_t open[SHORTLIST_GROUPS];
        size_t open_count = 0, share = 0, before;

        for (size_t i = 0; i < list->in_use_count; i++)
                if (list->in_use[i] != SHORTLIST_STRANGERS)
                        open[open_count++] = list->in_use[i];
        do {
                before = open_count;
                open_count = 0;
                share = before > 0 ? places / before : 0;
                share = share > 0 ? share : 1;
                for (size_t i = 0; i < before; i++) {
                        struct shortlist_group *group = &list->groups[open[i]];
                        if (group->size > share) {
                                open[open_count++] = open[i];
                                continue;
                        }
                        group->places = group->size;
                        places -= group->size < places ? group->size : places;
                }
        } while (open_count > 0 && open_count < before);
        for (size_t i = 0; i < open_count; i++)
                list->groups[open[i]].places = (uint32_t)share;
        size_t left = places > share * open_count ? places - share * open_count : 0;
        for (size_t i = 0; i < open_count && left > 0; i++, left--)
                list->groups[open[i]].places++;
        return left;
}

static void find_last_level(struct shortlist_group *group) {
        uint32_t places = group->places;

        while (group->last_level < SHORTLIST_LEVELS - 1 &&
               group->of_level[group->last_level] < places)
                places -= group->of_level[group->last_level++];
        group->places_there = places;
}

size_t shortlist_choose(struct shortlist *list, size_t places) {
        struct shortlist_group *strangers = &list->groups[SHORTLIST_STRANGERS];
        size_t left = share_places(list, places), in = 0;

        strangers->places = strangers->size < left ? strangers->size : (uint32_t)left;
        for (size_t i = 0; i < list->in_use_count; i++)
                find_last_level(&list->groups[list->in_use[i]]);
        for (size_t i = 0; i < list->count; i++) {
                struct shortlist_candidate *candidate = &list->candidates[i];
                if (candidate->group == SHORTLIST_NO_GROUP)
                        continue;
                struct shortlist_group *group = &list->groups[candidate->group];
                candidate->is_in = candidate->level < group->last_level;
                if (candidate->level == group->last_level && group->places_there > 0) {
                        group->places_there--;
                        candidate->is_in = true;
                }
                in += candidate->is_in;
        }
        return in;
}
