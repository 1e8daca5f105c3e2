#include "extender/decisions/decisions.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "base/strmap.h"

enum { BUCKETS = DECISIONS_MAX };

struct slot {
        TAILQ_ENTRY(slot) age;
        LIST_ENTRY(slot) same_name; /* the slots of a bucket */
        struct decision decision;
};

LIST_HEAD(bucket, slot);

struct decisions {
        pthread_mutex_t lock;
        TAILQ_HEAD(slot_list, slot) by_age; /* the newest first */
        struct bucket by_name[BUCKETS];
        size_t count;
        struct slot slots[DECISIONS_MAX];
};

static_assert(sizeof(struct decisions) <= DECISIONS_MAX_BYTES, "decisions have grown");

struct decisions *decisions_new(void) {
        struct decisions *decisions = xcalloc(1, sizeof(*decisions));

        (void)pthread_mutex_init(&decisions->lock, NULL);
        TAILQ_INIT(&decisions->by_age);
        return decisions;
}

void decisions_free(struct decisions *decisions) {
        if (!decisions)
                return;
        (void)pthread_mutex_destroy(&decisions->lock);
        free(decisions);
}

/* ---- Under the lock. */

static void take_out(struct decisions *decisions, struct slot *slot) {
        TAILQ_REMOVE(&decisions->by_age, slot, age);
        LIST_REMOVE(slot, same_name);
}

static struct slot *free_slot(struct decisions *decisions) {
        if (decisions->count < DECISIONS_MAX)
                return &decisions->slots[decisions->count++];
        struct slot *oldest = TAILQ_LAST(&decisions->by_age, slot_list);
        take_out(decisions, oldest);
        return oldest;
}

static struct bucket *bucket_of(struct decisions *decisions, const char *full_name) {
        return &decisions->by_name[strmap_hash(full_name, strlen(full_name)) % BUCKETS];
}

/* The slot of the pod, which becomes the newest one. The name of a pod never changes. */
static struct decision *decision_of(struct decisions *decisions, const struct decision_pod *pod) {
        struct bucket *bucket = bucket_of(decisions, pod->full_name);
        struct slot *slot;

        LIST_FOREACH (slot, bucket, same_name)
                if (slot->decision.pod.id == pod->id)
                        break;
        if (slot) {
                take_out(decisions, slot);
        } else {
                slot = free_slot(decisions);
                /* The slot has answers about another pod; forget them. */
                slot->decision.filter_count = slot->decision.ranking_count = 0;
                slot->decision.filter.call.at_unix_ms = slot->decision.ranking.call.at_unix_ms = 0;
        }
        slot->decision.pod = *pod;
        TAILQ_INSERT_HEAD(&decisions->by_age, slot, age);
        LIST_INSERT_HEAD(bucket, slot, same_name);
        return &slot->decision;
}

/* ---- Any thread. */

void decisions_put_filter(struct decisions *decisions, const struct decision_pod *pod,
                          const struct decision_filter *filter) {
        (void)pthread_mutex_lock(&decisions->lock);
        struct decision *decision = decision_of(decisions, pod);
        memcpy(&decision->filter, filter,
               offsetof(struct decision_filter, texts.bytes) + filter->texts.used);
        decision->filter_count++;
        decision->is_ranked = false;
        (void)pthread_mutex_unlock(&decisions->lock);
}

void decisions_put_ranking(struct decisions *decisions, const struct decision_pod *pod,
                           const struct decision_ranking *ranking) {
        (void)pthread_mutex_lock(&decisions->lock);
        struct decision *decision = decision_of(decisions, pod);
        memcpy(&decision->ranking, ranking,
               offsetof(struct decision_ranking, texts.bytes) + ranking->texts.used);
        decision->ranking_count++;
        decision->is_ranked = true;
        (void)pthread_mutex_unlock(&decisions->lock);
}

bool decisions_get(struct decisions *decisions, const char *full_name, struct decision *ret) {
        struct slot *slot;

        (void)pthread_mutex_lock(&decisions->lock);
        LIST_FOREACH (slot, bucket_of(decisions, full_name), same_name)
                if (strcmp(slot->decision.pod.full_name, full_name) == 0)
                        break;
        if (slot)
                *ret = slot->decision;
        (void)pthread_mutex_unlock(&decisions->lock);
        return slot != NULL;
}

size_t decisions_list(struct decisions *decisions, uint16_t ret_slots[static DECISIONS_MAX]) {
        const struct slot *slot;
        size_t count = 0;

        (void)pthread_mutex_lock(&decisions->lock);
        TAILQ_FOREACH (slot, &decisions->by_age, age)
                ret_slots[count++] = (uint16_t)(slot - decisions->slots);
        (void)pthread_mutex_unlock(&decisions->lock);
        return count;
}

void decisions_at(struct decisions *decisions, uint16_t slot, struct decision *ret) {
        (void)pthread_mutex_lock(&decisions->lock);
        *ret = decisions->slots[slot].decision;
        (void)pthread_mutex_unlock(&decisions->lock);
}
