#include "extender/decisions/decisions.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"

enum {
        BUCKETS = DECISIONS_MAX,
        /* Of the times in lists, which are in seconds. */
        BOUND_RESOLUTION_MS = 1000,
};

struct slot {
        TAILQ_ENTRY(slot) age;
        LIST_ENTRY(slot) same_bucket;
        struct decision decision;
};

LIST_HEAD(bucket, slot);
TAILQ_HEAD(slot_list, slot);

struct decisions {
        pthread_mutex_t lock;
        struct slot_list by_age; /* the last answer or binding first */
        size_t unverified_count;
        struct bucket by_id[BUCKETS]; /* ids are seeded hashes */
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

static struct bucket *bucket_of(struct decisions *decisions, uint64_t id) {
        return &decisions->by_id[id % BUCKETS];
}

static struct slot *find(struct decisions *decisions, uint64_t id) {
        struct slot *slot;

        LIST_FOREACH (slot, bucket_of(decisions, id), same_bucket)
                if (slot->decision.pod.id == id)
                        break;
        return slot;
}

static bool is_confirmed(const struct slot *slot) {
        return slot->decision.confirmed_unix_ms != 0;
}

static void take_out(struct decisions *decisions, struct slot *slot) {
        TAILQ_REMOVE(&decisions->by_age, slot, age);
        decisions->unverified_count -= !is_confirmed(slot);
        LIST_REMOVE(slot, same_bucket);
}

static void put_in(struct decisions *decisions, struct slot *slot) {
        TAILQ_INSERT_HEAD(&decisions->by_age, slot, age);
        decisions->unverified_count += !is_confirmed(slot);
        LIST_INSERT_HEAD(bucket_of(decisions, slot->decision.pod.id), slot, same_bucket);
}

static struct slot *free_slot(struct decisions *decisions) {
        bool has_many = decisions->unverified_count >= DECISIONS_UNVERIFIED_MAX;

        if (decisions->count < DECISIONS_MAX)
                return &decisions->slots[decisions->count++];
        struct slot *oldest = TAILQ_LAST(&decisions->by_age, slot_list);
        while (is_confirmed(oldest) == has_many)
                oldest = TAILQ_PREV(oldest, slot_list, age);
        take_out(decisions, oldest);
        return oldest;
}

/* The decision about the pod, for a new answer. NULL: the pod is bound already */
static struct decision *decision_of(struct decisions *decisions, const struct decision_pod *pod) {
        struct slot *slot = find(decisions, pod->id);

        if (slot && is_confirmed(slot))
                return NULL;
        if (slot) {
                take_out(decisions, slot);
        } else {
                slot = free_slot(decisions);
                /* The slot has answers about another pod; forget them. */
                slot->decision.confirmed_unix_ms = 0;
                slot->decision.filter_count = slot->decision.ranking_count = 0;
                slot->decision.filter.call.at_unix_ms = slot->decision.ranking.call.at_unix_ms = 0;
        }
        slot->decision.pod = *pod;
        put_in(decisions, slot);
        return &slot->decision;
}

/* @uid: NULL: any */
static const struct slot *find_name(const struct decisions *decisions, const char *full_name,
                                    const char *uid) {
        const struct slot *slot, *found = NULL;

        TAILQ_FOREACH (slot, &decisions->by_age, age)
                if (strcmp(slot->decision.pod.full_name, full_name) == 0 &&
                    (!uid || strcmp(slot->decision.pod.uid, uid) == 0) &&
                    (!found || (is_confirmed(slot) && !is_confirmed(found))))
                        found = slot;
        return found;
}

/* ---- Any thread. */

struct decision *decisions_open(struct decisions *decisions, const struct decision_pod *pod) {
        (void)pthread_mutex_lock(&decisions->lock);
        struct decision *decision = decision_of(decisions, pod);
        if (!decision)
                decisions_close(decisions);
        return decision;
}

void decisions_close(struct decisions *decisions) {
        (void)pthread_mutex_unlock(&decisions->lock);
}

static bool is_name(const struct decision_texts *texts, struct decision_text name,
                    const struct skim_string *node) {
        return name.len == node->len && memcmp(texts->bytes + name.at, node->text, name.len) == 0;
}

/* The answers do not exclude that a scheduler binds the pod to @node. Of a long list only the first
 * nodes are kept; the others are allowed. */
static bool allows(const struct decision *decision, const struct skim_string *node) {
        const struct decision_filter *filter = &decision->filter;
        const struct decision_ranking *ranking = &decision->ranking;

        for (size_t i = 0; decision->filter_count > 0 && i < filter->rejection_count; i++)
                if (is_name(&filter->texts, filter->rejections[i].node, node))
                        return false;
        for (size_t i = 0; decision->is_ranked && i < ranking->node_count; i++)
                if (is_name(&ranking->texts, ranking->nodes[i].name, node))
                        return true;
        return !decision->is_ranked ||
               ranking->call.candidates - ranking->call.duplicates > ranking->node_count;
}

static bool is_confirmed_by(const struct decision *decision, const struct pod_facts *pod) {
        return decision->confirmed_unix_ms == 0 &&
               decision_at_unix_ms(decision) < pod->bound_unix_ms + BOUND_RESOLUTION_MS &&
               allows(decision, &pod->node);
}

void decisions_confirm(struct decisions *decisions, const struct pod_facts *pod) {
        (void)pthread_mutex_lock(&decisions->lock);
        struct slot *slot = find(decisions, pod->id);
        if (slot && is_confirmed_by(&slot->decision, pod)) {
                take_out(decisions, slot);
                slot->decision.confirmed_unix_ms = pod->bound_unix_ms;
                put_in(decisions, slot);
        }
        (void)pthread_mutex_unlock(&decisions->lock);
}

bool decisions_get(struct decisions *decisions, const char *full_name, const char *uid,
                   struct decision *ret) {
        (void)pthread_mutex_lock(&decisions->lock);
        const struct slot *slot = uid ? find_name(decisions, full_name, uid) : NULL;
        if (!slot)
                slot = find_name(decisions, full_name, NULL);
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
