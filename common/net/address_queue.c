#include "net/address_queue.h"

#include <string.h>

void address_queue_init(struct address_queue *queue, void (*suspend)(struct address_place *place),
                        void (*resume)(struct address_place *place)) {
        *queue = (struct address_queue){.suspend = suspend, .resume = resume};
        (void)pthread_mutex_init(&queue->lock, NULL);
}

void address_queue_done(struct address_queue *queue) {
        (void)pthread_mutex_destroy(&queue->lock);
}

void address_queue_set_peer(struct address_place *place, const struct sockaddr *peer) {
        *place = (struct address_place){0};
        if (peer->sa_family == AF_INET6)
                place->address = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
        else
                memcpy(&place->address, &((const struct sockaddr_in *)(const void *)peer)->sin_addr,
                       sizeof(struct in_addr));
}

static bool is_of(const struct address_place *place, const struct in6_addr *address) {
        return memcmp(&place->address, address, sizeof(*address)) == 0;
}

static bool is_served(const struct address_queue *queue, const struct in6_addr *address) {
        const struct address_place *place;

        LIST_FOREACH (place, &queue->list, entry)
                if (place->state == PLACE_SERVED && is_of(place, address))
                        return true;
        return false;
}

bool address_queue_enter(struct address_queue *queue, struct address_place *place, size_t bytes) {
        (void)pthread_mutex_lock(&queue->lock);
        if (place->state == PLACE_NONE) {
                bool must_wait = !queue->is_stopped && is_served(queue, &place->address);
                place->state = must_wait ? PLACE_WAITING : PLACE_SERVED;
                place->bytes = bytes;
                LIST_INSERT_HEAD(&queue->list, place, entry);
                if (must_wait)
                        queue->suspend(place);
        }
        bool is_first = place->state == PLACE_SERVED;
        (void)pthread_mutex_unlock(&queue->lock);
        return is_first;
}

/* The list begins with the newest: of the smallest, the one that has waited longest. */
static struct address_place *find_next(struct address_queue *queue,
                                       const struct in6_addr *address) {
        struct address_place *place, *next = NULL;

        LIST_FOREACH (place, &queue->list, entry)
                if (place->state == PLACE_WAITING && is_of(place, address) &&
                    (!next || place->bytes <= next->bytes))
                        next = place;
        return next;
}

static void serve(struct address_queue *queue, struct address_place *place) {
        place->state = PLACE_SERVED;
        queue->resume(place);
}

void address_queue_leave(struct address_queue *queue, struct address_place *place) {
        (void)pthread_mutex_lock(&queue->lock);
        enum place_state state = place->state;
        if (state != PLACE_NONE)
                LIST_REMOVE(place, entry);
        place->state = PLACE_NONE;
        struct address_place *next = state == PLACE_SERVED ? find_next(queue, &place->address)
                                                           : NULL;
        if (next)
                serve(queue, next);
        (void)pthread_mutex_unlock(&queue->lock);
}

void address_queue_stop(struct address_queue *queue) {
        struct address_place *place;

        (void)pthread_mutex_lock(&queue->lock);
        queue->is_stopped = true;
        LIST_FOREACH (place, &queue->list, entry)
                if (place->state == PLACE_WAITING)
                        serve(queue, place);
        (void)pthread_mutex_unlock(&queue->lock);
}
