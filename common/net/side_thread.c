#include "net/side_thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct piece {
        void (*fn)(void *userdata);
        void *userdata;
};

struct side_thread {
        pthread_t thread;
        pthread_mutex_t lock; /* guards what follows */
        pthread_cond_t changed;
        struct piece waiting[SIDE_THREAD_MAX_WAITING];
        size_t count;
        bool is_ending;
};

/* Return: false: there is no more work */
static bool take_piece(struct side_thread *thread, struct piece *ret) {
        (void)pthread_mutex_lock(&thread->lock);
        while (thread->count == 0 && !thread->is_ending)
                (void)pthread_cond_wait(&thread->changed, &thread->lock);
        bool has_piece = thread->count > 0;
        if (has_piece) {
                *ret = thread->waiting[0];
                thread->count--;
                memmove(thread->waiting, thread->waiting + 1, thread->count * sizeof(*ret));
        }
        (void)pthread_mutex_unlock(&thread->lock);
        return has_piece;
}

static void *work(void *userdata) {
        struct side_thread *thread = userdata;
        struct piece piece;

        while (take_piece(thread, &piece))
                piece.fn(piece.userdata);
        return NULL;
}

struct side_thread *side_thread_new(void) {
        struct side_thread *thread = xcalloc(1, sizeof(*thread));

        (void)pthread_mutex_init(&thread->lock, NULL);
        (void)pthread_cond_init(&thread->changed, NULL);
        if (pthread_create(&thread->thread, NULL, work, thread) != 0)
                abort();
        return thread;
}

void side_thread_post(struct side_thread *thread, void (*fn)(void *userdata), void *userdata) {
        (void)pthread_mutex_lock(&thread->lock);
        assert(thread->count < SIDE_THREAD_MAX_WAITING && !thread->is_ending);
        thread->waiting[thread->count++] = (struct piece){fn, userdata};
        (void)pthread_cond_signal(&thread->changed);
        (void)pthread_mutex_unlock(&thread->lock);
}

void side_thread_free(struct side_thread *thread) {
        if (!thread)
                return;
        (void)pthread_mutex_lock(&thread->lock);
        thread->is_ending = true;
        (void)pthread_cond_signal(&thread->changed);
        (void)pthread_mutex_unlock(&thread->lock);
        (void)pthread_join(thread->thread, NULL);
        (void)pthread_cond_destroy(&thread->changed);
        (void)pthread_mutex_destroy(&thread->lock);
        free(thread);
}
