#include "net/turns.h"

#include <string.h>

void turns_init(struct turns *turns, void (*suspend)(struct turn *turn),
                void (*resume)(struct turn *turn)) {
        *turns = (struct turns){.suspend = suspend, .resume = resume};
        (void)pthread_mutex_init(&turns->lock, NULL);
}

void turns_done(struct turns *turns) {
        (void)pthread_mutex_destroy(&turns->lock);
}

void turns_set_peer(struct turn *turn, const struct sockaddr *peer) {
        *turn = (struct turn){0};
        if (peer->sa_family == AF_INET6)
                turn->address = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
        else
                memcpy(&turn->address, &((const struct sockaddr_in *)(const void *)peer)->sin_addr,
                       sizeof(struct in_addr));
}

static bool is_of(const struct turn *turn, const struct in6_addr *address) {
        return memcmp(&turn->address, address, sizeof(*address)) == 0;
}

static bool is_held(const struct turns *turns, const struct in6_addr *address) {
        const struct turn *turn;

        LIST_FOREACH (turn, &turns->list, entry)
                if (turn->state == TURN_HELD && is_of(turn, address))
                        return true;
        return false;
}

bool turns_take(struct turns *turns, struct turn *turn, size_t bytes) {
        (void)pthread_mutex_lock(&turns->lock);
        if (turn->state == TURN_NONE) {
                bool must_wait = !turns->is_stopped && is_held(turns, &turn->address);
                turn->state = must_wait ? TURN_WAITING : TURN_HELD;
                turn->bytes = bytes;
                LIST_INSERT_HEAD(&turns->list, turn, entry);
                if (must_wait)
                        turns->suspend(turn);
        }
        bool has_turn = turn->state == TURN_HELD;
        (void)pthread_mutex_unlock(&turns->lock);
        return has_turn;
}

/* The list begins with the newest: of the smallest, the one that has waited longest. */
static struct turn *find_next(struct turns *turns, const struct in6_addr *address) {
        struct turn *turn, *next = NULL;

        LIST_FOREACH (turn, &turns->list, entry)
                if (turn->state == TURN_WAITING && is_of(turn, address) &&
                    (!next || turn->bytes <= next->bytes))
                        next = turn;
        return next;
}

static void begin_turn(struct turns *turns, struct turn *turn) {
        turn->state = TURN_HELD;
        turns->resume(turn);
}

void turns_give(struct turns *turns, struct turn *turn) {
        (void)pthread_mutex_lock(&turns->lock);
        enum turn_state state = turn->state;
        if (state != TURN_NONE)
                LIST_REMOVE(turn, entry);
        turn->state = TURN_NONE;
        struct turn *next = state == TURN_HELD ? find_next(turns, &turn->address) : NULL;
        if (next)
                begin_turn(turns, next);
        (void)pthread_mutex_unlock(&turns->lock);
}

void turns_stop(struct turns *turns) {
        struct turn *turn;

        (void)pthread_mutex_lock(&turns->lock);
        turns->is_stopped = true;
        LIST_FOREACH (turn, &turns->list, entry)
                if (turn->state == TURN_WAITING)
                        begin_turn(turns, turn);
        (void)pthread_mutex_unlock(&turns->lock);
}
