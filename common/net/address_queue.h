/*
 * The queues of requests, one for each client's address, private to the HTTP server: the handler
 * runs for one request of an address at a time. The others wait; the smallest of them is the next.
 *
 *     10.0.0.7   [served]                        its handler runs, or will run next on its worker
 *     10.0.0.9   [served]  [300 B]  [2 MB] [2 MB]  wait, and occupy no worker
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

enum place_state { PLACE_NONE, PLACE_WAITING, PLACE_SERVED };

/* A request's place, embedded in its owner. Private. */
struct address_place {
        LIST_ENTRY(address_place) entry; /* unless PLACE_NONE */
        enum place_state state;
        struct in6_addr address;
        size_t bytes;
};

struct address_queue {
        /* A request begins to wait, or is served. Called with the lock held. */
        void (*suspend)(struct address_place *place);
        void (*resume)(struct address_place *place);

        pthread_mutex_t lock;
        LIST_HEAD(, address_place) list;
        bool is_stopped;
};

void address_queue_init(struct address_queue *queue, void (*suspend)(struct address_place *place),
                        void (*resume)(struct address_place *place));
/** address_queue_done() - call it when no request is left */
void address_queue_done(struct address_queue *queue);

/** address_queue_set_peer() - @peer: IPv4 or IPv6; the port does not matter */
void address_queue_set_peer(struct address_place *place, const struct sockaddr *peer);
/**
 * address_queue_enter() - queue a request of @bytes; call it again after it was resumed
 * Return: false if the request waits: it has been suspended
 */
bool address_queue_enter(struct address_queue *queue, struct address_place *place, size_t bytes);
/** address_queue_leave() - the request was handled, or never will be; it may not be queued */
void address_queue_leave(struct address_queue *queue, struct address_place *place);
/** address_queue_stop() - from now on, nobody waits */
void address_queue_stop(struct address_queue *queue);
