/* Which changes of a file are reported, and how often. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/test.h"

#include <fcntl.h>

#include "net/file_watch.h"
#include "tests/unit/fixture/clock.h"
#include "tests/unit/fixture/directory.h"

static char path[128], other[128];
static struct timespec long_ago = {.tv_sec = 1000000000, .tv_nsec = 5};

/* "old" or "new", as of long ago. */
static void write_old(const char *name, const char *text) {
        const struct timespec times[] = {long_ago, long_ago};

        write_bytes(name, text, strlen(text));
        assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void touch(time_t seconds, long ns) {
        const struct timespec time = {long_ago.tv_sec + seconds, long_ago.tv_nsec + ns};
        const struct timespec times[] = {time, time};

        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void nothing(void) {
}

static void rewrite(void) {
        write_old(path, "new");
}

static void grow(void) {
        write_old(path, "longer");
}

static void replace(void) {
        write_old(other, "old");
        assert_int_equal(rename(other, path), 0);
}

static void touch_by_a_second(void) {
        touch(1, 0);
}

static void touch_by_a_nanosecond(void) {
        touch(0, 1);
}

/* Only its status. */
static void change_mode(void) {
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(chmod(path, 0644), 0);
}

static void take_away(void) {
        assert_int_equal(unlink(path), 0);
}

static void count_call(void *userdata, const char *changed) {
        assert_string_equal(changed, path);
        (*(size_t *)userdata)++;
}

/* The clock of the file system advances in ticks. */
static void await_tick(void) {
        struct stat before, now;

        write_old(other, "tick");
        assert_int_equal(stat(other, &before), 0);
        do {
                write_old(other, "tick");
                assert_int_equal(stat(other, &now), 0);
        } while (now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
        assert_int_equal(unlink(other), 0);
}

TEST(changes) {
        static const struct {
                const char *name;
                void (*change)(void);
                size_t told;
        } rows[] = {
                {"nothing", nothing, 0},
                {"rewritten", rewrite, 1},
                {"grown", grow, 1},
                {"replaced", replace, 1},
                {"a second later", touch_by_a_second, 1},
                {"a nanosecond later", touch_by_a_nanosecond, 1},
                {"mode", change_mode, 1},
                {"away", take_away, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(loop_freep) struct loop *loop = loop_new();
                size_t told = 0;
                write_old(path, "old");
                await_tick();
                struct file_watch *watch = file_watch_new(loop, path, count_call, &told);
                rows[i].change();
                clock_pass(loop, 2);
                assert_int_equal(told, 0); /* perhaps it is half of what it will be */
                clock_pass(loop, 1);
                if (told != rows[i].told)
                        fail_msg("%s: told %zu times", rows[i].name, told);
                clock_pass(loop, 2);
                assert_int_equal(told, rows[i].told);
                file_watch_free(watch);
        }
        (void)unlink(path);
}

/* As by an editor, or by cat: each look finds more of it. */
TEST(written_in_pieces) {
        static void (*const pieces[])(void) = {rewrite, grow, touch_by_a_second,
                                               touch_by_a_nanosecond};
        _cleanup_(loop_freep) struct loop *loop = loop_new();
        size_t told = 0;

        write_old(path, "old");
        await_tick();
        struct file_watch *watch = file_watch_new(loop, path, count_call, &told);
        clock_pass(loop, 1);
        for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
                pieces[i]();
                clock_pass(loop, 1);
                assert_int_equal(told, 0);
        }
        clock_pass(loop, 1);
        assert_int_equal(told, 1);
        clock_pass(loop, 4);
        assert_int_equal(told, 1);
        file_watch_free(watch);
        take_away();
}

TEST(file_that_comes_and_goes) {
        _cleanup_(loop_freep) struct loop *loop = loop_new();
        size_t told = 0;

        struct file_watch *watch = file_watch_new(loop, path, count_call, &told);
        clock_pass(loop, 2);
        assert_int_equal(told, 0);
        write_old(path, "old");
        clock_pass(loop, 2);
        clock_pass(loop, 1);
        assert_int_equal(told, 1);
        take_away();
        clock_pass(loop, 2);
        assert_int_equal(told, 1);
        await_tick();
        write_old(path, "old");
        clock_pass(loop, 2);
        clock_pass(loop, 1);
        assert_int_equal(told, 2);
        file_watch_reload(watch); /* changed or not */
        assert_int_equal(told, 3);
        clock_pass(loop, 2);
        assert_int_equal(told, 3);
        file_watch_free(watch);
}

static int set_up(void **state) {
        int r = make_directory(state);

        (void)snprintf(path, sizeof(path), "%s/file", directory);
        (void)snprintf(other, sizeof(other), "%s/other", directory);
        return r;
}

TEST_GROUP(set_up, remove_directory)
