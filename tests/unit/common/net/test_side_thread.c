/* Pieces of work on a thread of their own. */
#include "tests/unit/fixture/test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "net/side_thread.h"

static pthread_t test_thread;
static atomic_int order[SIDE_THREAD_MAX_WAITING];
static atomic_int done;

static void work(void *userdata) {
        assert_false(pthread_equal(pthread_self(), test_thread));
        atomic_store((atomic_int *)userdata, atomic_fetch_add(&done, 1));
}

/* In their order, and all of them before the end. */
TEST(pieces) {
        struct side_thread *thread = side_thread_new();

        test_thread = pthread_self();
        for (int i = 0; i < SIDE_THREAD_MAX_WAITING; i++)
                side_thread_post(thread, work, &order[i]);
        side_thread_free(thread);
        assert_int_equal(atomic_load(&done), SIDE_THREAD_MAX_WAITING);
        for (int i = 0; i < SIDE_THREAD_MAX_WAITING; i++)
                assert_int_equal(atomic_load(&order[i]), i);
}

TEST(no_pieces) {
        side_thread_free(side_thread_new());
        side_thread_free(NULL);
}
