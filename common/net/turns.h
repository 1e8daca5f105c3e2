/*
 * The turns of clients, private to the HTTP server: the handler runs for one request of an address
 * at a time. The other requests of this address wait, the smallest of them for the next turn.
 *
 *     10.0.0.7   [held]                          its handler runs, or will run next on its worker
 *     10.0.0.9   [held]  [300 B]  [2 MB] [2 MB]  wait, and occupy no worker
 *
 * So an address that sends many expensive requests occupies one worker. Another address waits for
 * one of these at most, and a small request of the same address for about as long. A request whose
 * client goes away while it waits may be dropped: nobody would hear of it. Thread-safe.
 */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

enum turn_state { TURN_NONE, TURN_WAITING, TURN_HELD };

/* A request's place, embedded in its owner. Private. */
struct turn {
        LIST_ENTRY(turn) entry; /* unless TURN_NONE */
        enum turn_state state;
        struct in6_addr address;
        size_t bytes;
};

struct turns {
        /* A request begins to wait, or has its turn. Called with the lock held. */
        void (*suspend)(struct turn *turn);
        void (*resume)(struct turn *turn);

        pthread_mutex_t lock;
        LIST_HEAD(, turn) list;
        bool is_stopped;
};

void turns_init(struct turns *turns, void (*suspend)(struct turn *turn),
                void (*resume)(struct turn *turn));
/** turns_done() - call it when there are no turns left */
void turns_done(struct turns *turns);

/** turns_set_peer() - @peer: IPv4 or IPv6; the port does not matter */
void turns_set_peer(struct turn *turn, const struct sockaddr *peer);
/**
 * turns_take() - ask for the turn of a request of @bytes, again after it was resumed
 * Return: false if the request waits: it has been suspended
 */
bool turns_take(struct turns *turns, struct turn *turn, size_t bytes);
/** turns_give() - the request needs its turn no longer, or never will; it may have none */
void turns_give(struct turns *turns, struct turn *turn);
/** turns_stop() - from now on, nobody waits */
void turns_stop(struct turns *turns);
