#include "policy/estimate/reservation.h"

#include <string.h>

/* The trial of a group without reservations; NO_TRIAL + 1 is 0. */
static const uint32_t NO_TRIAL = UINT32_MAX;

static bool has_place(const struct reservations *all, uint64_t id, uint32_t trial) {
        for (size_t i = 0; i < all->count; i++)
                if (all->of[i].pod.id == id && all->of[i].trial == trial)
                        return true;
        return false;
}

/* The trial of an answer about @pod. */
static uint32_t trial_of(const struct reservations *all, const struct reservation_pod *pod) {
        uint32_t trial = NO_TRIAL;

        if (pod->group == 0)
                return 0;
        for (size_t i = all->count; i > 0 && trial == NO_TRIAL; i--)
                if (all->of[i - 1].pod.group == pod->group)
                        trial = all->of[i - 1].trial;
        return trial == NO_TRIAL || has_place(all, pod->id, trial) ? trial + 1 : trial;
}

static void drop_oldest(struct reservations *all) {
        all->count--;
        memmove(all->of, all->of + 1, all->count * sizeof(*all->of));
}

/* The placements of a group are alternatives, most of which the scheduler has given up at once. */
static int64_t limit_ms(const struct reservation_pod *pod) {
        return pod->has_claims && pod->group == 0 ? RESERVATION_CLAIMS_MS : RESERVATION_MS;
}

void reservations_add(struct reservations *all, const struct reservation_pod *pod,
                      uint32_t node_number, const struct pod_load *load, int64_t now_mono_ms) {
        uint32_t trial = trial_of(all, pod);
        size_t kept = 0;

        for (size_t i = 0; i < all->count; i++) {
                const struct reservation *of = &all->of[i];
                bool is_replaced = of->pod.id == pod->id &&
                                   (of->trial == trial || of->node_number == node_number);
                if (!is_replaced)
                        all->of[kept++] = *of;
        }
        all->count = kept;
        if (all->count == RESERVATIONS_MAX)
                drop_oldest(all);
        all->of[all->count++] = (struct reservation){
                .pod = *pod,
                .node_number = node_number,
                .trial = trial,
                .until_mono_ms = now_mono_ms + limit_ms(pod),
                .load = *load,
        };
}

void reservations_bound(struct reservations *all, uint64_t id, uint32_t node_number,
                        uint64_t shown_in) {
        struct reservation won = {0};
        size_t kept = 0;

        for (size_t i = 0; i < all->count; i++) {
                if (all->of[i].pod.id != id || all->of[i].node_number != node_number)
                        continue;
                all->of[i].shown_in = shown_in;
                won = all->of[i];
        }
        for (size_t i = 0; i < all->count; i++) {
                const struct reservation *of = &all->of[i];
                bool has_lost = won.pod.group != 0 && of->pod.group == won.pod.group &&
                                of->trial != won.trial;
                if (of->shown_in > 0 || (of->pod.id != id && !has_lost))
                        all->of[kept++] = *of;
        }
        all->count = kept;
}

void reservations_published(struct reservations *all, uint64_t publication) {
        size_t kept = 0;

        for (size_t i = 0; i < all->count; i++)
                if (all->of[i].shown_in == 0 || all->of[i].shown_in >= publication)
                        all->of[kept++] = all->of[i];
        all->count = kept;
}

void reservations_expire(struct reservations *all, int64_t now_mono_ms) {
        size_t kept = 0;

        for (size_t i = 0; i < all->count; i++)
                if (all->of[i].until_mono_ms > now_mono_ms)
                        all->of[kept++] = all->of[i];
        all->count = kept;
}

size_t reservations_for(struct reservations *all, const struct reservation_pod *pod,
                        uint64_t publication, struct reservation ret[static RESERVATIONS_MAX]) {
        uint32_t trial = trial_of(all, pod);
        size_t kept = 0, count = 0;

        for (size_t i = 0; i < all->count; i++)
                if (all->of[i].pod.id != pod->id || pod->group != 0 || all->of[i].shown_in > 0)
                        all->of[kept++] = all->of[i];
        all->count = kept;
        for (size_t i = 0; i < all->count; i++) {
                const struct reservation *of = &all->of[i];
                bool is_alternative = pod->group != 0 && of->pod.group == pod->group &&
                                      of->trial != trial;
                bool is_shown = of->shown_in > 0 && of->shown_in <= publication;
                if (of->pod.id != pod->id && !is_alternative && !is_shown)
                        ret[count++] = *of;
        }
        return count;
}
