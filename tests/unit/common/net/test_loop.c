/* The event loop: order of timers, descriptors that change under its feet, other threads. Linked
 * with --wrap=epoll_wait. */
#include "tests/unit/fixture/test.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/loop.h"

static struct loop *loop;
static int last_timeout_ms;
static sem_t silence; /* posted whenever the loop has looked, and nothing was ready */

int __real_epoll_wait(int fd, struct epoll_event *events, int max_events, int timeout_ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max_events, int timeout_ms);

int __wrap_epoll_wait(int fd, struct epoll_event *events, int max_events, int timeout_ms) {
        int count = __real_epoll_wait(fd, events, max_events, timeout_ms);

        last_timeout_ms = timeout_ms;
        if (count == 0)
                assert_int_equal(sem_post(&silence), 0);
        return count;
}

static int set_up(void **state) {
        loop = loop_new();
        return sem_init(&silence, 0, 0);
}

static int tear_down(void **state) {
        loop_free(loop);
        return sem_destroy(&silence);
}

static void stop(void *userdata) {
        loop_stop(loop);
}

/* Timers */

enum { TIMER_COUNT = 500 };

static struct loop_timer timers[TIMER_COUNT];
static size_t fired[TIMER_COUNT];
static size_t fired_count;

static void on_fired(void *userdata) {
        fired[fired_count++] = (size_t)((struct loop_timer *)userdata - timers);
        assert_false(loop_timer_is_armed(userdata));
}

TEST_BETWEEN(timers_fire_in_order, set_up, tear_down) {
        int64_t start_ms = loop_now_mono_ms(loop);
        int64_t due_ms[TIMER_COUNT];
        struct loop_timer end = {0};
        size_t left = 0;

        srandom(7);
        fired_count = 0;
        for (size_t i = 0; i < TIMER_COUNT; i++) {
                due_ms[i] = start_ms + random() % 40;
                loop_timer_arm(loop, &timers[i], due_ms[i], on_fired, &timers[i]);
        }
        for (size_t i = 0; i < TIMER_COUNT; i++) {
                if (i % 3 == 0) { /* moved, up or down the heap */
                        due_ms[i] = start_ms + random() % 40;
                        loop_timer_arm(loop, &timers[i], due_ms[i], on_fired, &timers[i]);
                } else if (i % 5 == 0) {
                        loop_timer_disarm(loop, &timers[i]);
                        loop_timer_disarm(loop, &timers[i]); /* nothing to do */
                        due_ms[i] = -1;
                }
                left += due_ms[i] >= 0;
        }
        loop_timer_arm(loop, &end, start_ms + 41, stop, NULL);
        loop_run(loop);
        assert_int_equal(fired_count, left);
        for (size_t i = 0; i < fired_count; i++) {
                assert_true(due_ms[fired[i]] >= 0);
                assert_true(i == 0 || due_ms[fired[i - 1]] <= due_ms[fired[i]]);
        }
        assert_true(loop_now_mono_ms(loop) >= start_ms + 41);
}

TEST_BETWEEN(equal_timers_keep_their_order, set_up, tear_down) {
        int64_t due_ms = loop_now_mono_ms(loop) + 2;
        struct loop_timer end = {0};

        fired_count = 0;
        for (size_t i = 0; i < TIMER_COUNT; i++)
                loop_timer_arm(loop, &timers[i], due_ms, on_fired, &timers[i]);
        loop_timer_arm(loop, &end, due_ms, stop, NULL);
        loop_run(loop);
        assert_int_equal(fired_count, TIMER_COUNT);
        for (size_t i = 0; i < TIMER_COUNT; i++)
                assert_int_equal(fired[i], i);
}

static struct loop_timer restless;
static size_t restless_count;

static void on_restless(void *userdata) {
        restless_count++;
        loop_timer_arm(loop, &restless, 0, on_restless, NULL);
}

/* A timer that is always due holds up neither other timers nor descriptors. */
TEST_BETWEEN(restless_timer, set_up, tear_down) {
        struct loop_timer end = {0};

        restless_count = 0;
        loop_timer_arm(loop, &restless, 0, on_restless, NULL);
        loop_timer_arm(loop, &end, loop_now_mono_ms(loop) + 5, stop, NULL);
        loop_run(loop);
        assert_true(restless_count > 0);
        loop_post(loop, stop, NULL);
        loop_run(loop);
        loop_timer_disarm(loop, &restless);
}

static void disarm_other(void *userdata) {
        loop_timer_disarm(loop, userdata);
}

static void fail_timer(void *userdata) {
        fail_msg("a timer was called that is not due");
}

/* A time that is further off than the kernel can wait is waited for in parts. */
TEST_BETWEEN(distant_timer, set_up, tear_down) {
        static const int64_t left_ms[] = {INT_MAX + INT64_C(10000), (INT64_C(1) << 32) + 10000,
                                          INT64_MAX / 2};

        for (size_t i = 0; i < ARRAY_LEN(left_ms); i++) {
                struct loop_timer distant = {0};
                loop_timer_arm(loop, &distant, loop_now_mono_ms(loop) + left_ms[i], fail_timer,
                               NULL);
                loop_post(loop, stop, NULL);
                loop_run(loop);
                assert_int_equal(last_timeout_ms, INT_MAX);
                loop_timer_disarm(loop, &distant);
        }
}

TEST_BETWEEN(disarm_in_the_same_turn, set_up, tear_down) {
        int64_t due_ms = loop_now_mono_ms(loop);
        struct loop_timer first = {0}, second = {0}, end = {0};

        loop_timer_arm(loop, &first, due_ms, disarm_other, &second);
        loop_timer_arm(loop, &second, due_ms, fail_timer, NULL);
        loop_timer_arm(loop, &end, due_ms, stop, NULL);
        loop_run(loop);
        assert_false(loop_timer_is_armed(&second));
}

/* Descriptors */

struct ends {
        int in, out;
};

static struct ends new_pipe(void) {
        int fds[2];

        assert_return_code(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        return (struct ends){fds[0], fds[1]};
}

static void close_ends(struct ends ends) {
        close(ends.in);
        close(ends.out);
}

static struct ends pipes[2];
static struct ends reused[2];
static size_t fd_calls;

static void fail_fd(void *userdata, int fd, uint32_t epoll_events) {
        fail_msg("an event of another time reached fd %d", fd);
}

/* Whichever pipe comes first ends the other, whose number a silent one takes over at once. */
static void on_readable(void *userdata, int fd, uint32_t epoll_events) {
        size_t other = fd == pipes[0].in ? 1 : 0;
        char c = 0;

        assert_int_equal(epoll_events, EPOLLIN);
        assert_int_equal(read(fd, &c, 1), 1);
        fd_calls++;
        loop_fd_remove(loop, pipes[other].in);
        close_ends(pipes[other]);
        reused[other] = new_pipe();
        assert_int_equal(reused[other].in, pipes[other].in);
        loop_fd_set(loop, reused[other].in, EPOLLIN, fail_fd, NULL);
        pipes[other] = reused[other];
        loop_post(loop, stop, NULL);
}

TEST_BETWEEN(stale_event_of_a_reused_descriptor, set_up, tear_down) {
        fd_calls = 0;
        for (size_t i = 0; i < 2; i++) {
                pipes[i] = new_pipe();
                assert_int_equal(write(pipes[i].out, "x", 1), 1);
                loop_fd_set(loop, pipes[i].in, EPOLLIN, on_readable, NULL);
        }
        loop_run(loop);
        assert_int_equal(fd_calls, 1);
        for (size_t i = 0; i < 2; i++) {
                loop_fd_remove(loop, pipes[i].in);
                loop_fd_remove(loop, pipes[i].in); /* nothing to do */
                close_ends(pipes[i]);
        }
}

static void on_both(void *userdata, int fd, uint32_t epoll_events) {
        int *other = userdata;

        fd_calls++;
        /* The other one is ready to read too, but is asked for something else from here on. */
        loop_fd_set(loop, *other, EPOLLPRI, fail_fd, NULL);
        loop_stop(loop);
}

TEST_BETWEEN(wish_changed_in_the_same_turn, set_up, tear_down) {
        struct ends a = new_pipe(), b = new_pipe();

        fd_calls = 0;
        assert_int_equal(write(a.out, "x", 1), 1);
        assert_int_equal(write(b.out, "x", 1), 1);
        loop_fd_set(loop, a.in, EPOLLIN, on_both, &b.in);
        loop_fd_set(loop, b.in, EPOLLIN, on_both, &a.in);
        loop_run(loop);
        assert_int_equal(fd_calls, 1);
        loop_fd_remove(loop, a.in);
        loop_fd_remove(loop, b.in);
        close_ends(a);
        close_ends(b);
}

static void on_hang_up(void *userdata, int fd, uint32_t epoll_events) {
        assert_true(epoll_events & EPOLLHUP);
        loop_stop(loop);
}

/* A number beyond the table's first size, and a hang-up, which nobody asks for. */
TEST_BETWEEN(high_descriptor_and_hang_up, set_up, tear_down) {
        struct ends ends = new_pipe();
        int high = fcntl(ends.in, F_DUPFD_CLOEXEC, 700);

        assert_true(high >= 700);
        loop_fd_set(loop, high, EPOLLIN, on_hang_up, NULL);
        close(ends.out);
        loop_run(loop);
        loop_fd_remove(loop, high);
        close(high);
        close(ends.in);
}

/* What was never watched needs no removal, be the number beyond all tables. */
TEST_BETWEEN(remove_what_is_not_watched, set_up, tear_down) {
        struct ends ends = new_pipe();

        loop_fd_set(loop, ends.in, EPOLLIN, on_hang_up, NULL);
        loop_fd_remove(loop, ends.out);
        loop_fd_remove(loop, 1 << 20);
        loop_fd_remove(loop, -1);
        close(ends.out);
        loop_run(loop);
        loop_fd_remove(loop, ends.in);
        close(ends.in);
}

static void on_any(void *userdata, int fd, uint32_t epoll_events) {
        assert_int_equal(epoll_events, EPOLLIN);
        loop_stop(loop);
}

/* Against the rules, but libraries do it: closed without loop_fd_remove(), and opened again. */
TEST_BETWEEN(closed_behind_our_back, set_up, tear_down) {
        struct ends ends = new_pipe();
        int fd = ends.in;

        loop_fd_set(loop, fd, EPOLLIN, fail_fd, NULL);
        close_ends(ends);
        ends = new_pipe();
        assert_int_equal(ends.in, fd);
        loop_fd_set(loop, fd, EPOLLIN, on_any, NULL);
        assert_int_equal(write(ends.out, "x", 1), 1);
        loop_run(loop);
        loop_fd_remove(loop, fd);
        close_ends(ends);
}

/* Other threads */

enum { THREAD_COUNT = 4, POSTS_PER_THREAD = 500 };

struct poster {
        pthread_t thread;
        size_t expected;
        struct post {
                struct poster *poster;
                size_t number;
        } posts[POSTS_PER_THREAD];
};

static size_t posts_seen;

static void on_post(void *userdata) {
        struct post *post = userdata;

        assert_int_equal(post->number, post->poster->expected);
        post->poster->expected++;
        if (++posts_seen == THREAD_COUNT * POSTS_PER_THREAD)
                loop_stop(loop);
}

static void *post_all(void *userdata) {
        struct poster *poster = userdata;

        for (size_t i = 0; i < POSTS_PER_THREAD; i++) {
                poster->posts[i] = (struct post){poster, i};
                loop_post(loop, on_post, &poster->posts[i]);
        }
        return NULL;
}

TEST_BETWEEN(posts_keep_their_order, set_up, tear_down) {
        struct poster *posters = xcalloc(THREAD_COUNT, sizeof(*posters));

        posts_seen = 0;
        for (size_t i = 0; i < THREAD_COUNT; i++)
                assert_int_equal(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]),
                                 0);
        loop_run(loop);
        for (size_t i = 0; i < THREAD_COUNT; i++) {
                pthread_join(posters[i].thread, NULL);
                assert_int_equal(posters[i].expected, POSTS_PER_THREAD);
        }
        free(posters);
}

static void post_again(void *userdata) {
        size_t *count = userdata;

        if (++*count < 3)
                loop_post(loop, post_again, count);
        else
                loop_stop(loop);
}

TEST_BETWEEN(post_from_a_post, set_up, tear_down) {
        size_t count = 0;

        loop_post(loop, post_again, &count);
        loop_run(loop);
        assert_int_equal(count, 3);
}

TEST_BETWEEN(stop_before_run, set_up, tear_down) {
        loop_stop(loop);
        loop_run(loop);
}

/* A rest */

enum { REST_MS = 500 }; /* the thread below needs far less */

static int64_t seen_mono_ms[2];

static void on_rested(void *userdata, int fd, uint32_t epoll_events) {
        *(int64_t *)userdata = loop_now_mono_ms(loop);
        loop_fd_remove(loop, fd);
        if (seen_mono_ms[0] && seen_mono_ms[1])
                loop_stop(loop);
}

static void *write_both(void *userdata) {
        const int *fds = userdata;

        assert_int_equal(sem_wait(&silence), 0); /* the rest begins */
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(write(fds[i], "x", 1), 1);
        return NULL;
}

TEST_BETWEEN(events_of_a_rest_come_together, set_up, tear_down) {
        int64_t start_ms = loop_now_mono_ms(loop);
        int tubes[2][2], ends[2];
        struct loop_timer soon = {0};
        pthread_t thread;

        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(pipe(tubes[i]), 0);
                ends[i] = tubes[i][1];
                seen_mono_ms[i] = 0;
                loop_fd_set(loop, tubes[i][0], EPOLLIN, on_rested, &seen_mono_ms[i]);
        }
        loop_set_rest(loop, REST_MS);
        pthread_create(&thread, NULL, write_both, ends);
        loop_run(loop);
        pthread_join(thread, NULL);
        assert_int_equal(seen_mono_ms[0], seen_mono_ms[1]);
        assert_true(seen_mono_ms[0] >= start_ms + REST_MS - 1);

        /* A timer that is due earlier ends a rest, and one that is due now does not begin it. */
        loop_timer_arm(loop, &soon, loop_now_mono_ms(loop), stop, NULL);
        loop_run(loop);
        for (size_t i = 0; i < 4; i++)
                close(tubes[i / 2][i % 2]);
}

TEST_BETWEEN(left_over_posts_are_dropped, set_up, tear_down) {
        loop_post(loop, fail_timer, NULL);
}
