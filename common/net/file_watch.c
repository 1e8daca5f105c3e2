#include "net/file_watch.h"

#include <stdbool.h>
#include <sys/stat.h>

#include "base/mem.h"

struct identity {
        dev_t device;
        ino_t inode;
        off_t size;
        struct timespec modified, changed;
};

struct file_watch {
        struct loop *loop;
        char *path;
        file_watch_fn *fn;
        void *userdata;
        struct loop_timer timer;
        struct identity reported; /* at the last call or the start; all zero: no file */
        struct identity last;     /* at the last check */
};

static struct identity identify_file(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                return (struct identity){0};
        return (struct identity){st.st_dev, st.st_ino, st.st_size, st.st_mtim, st.st_ctim};
}

static bool is_same_time(struct timespec a, struct timespec b) {
        return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_file(const struct identity *a, const struct identity *b) {
        return a->device == b->device && a->inode == b->inode && a->size == b->size &&
               is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

static void on_file_watch_timer(void *userdata) {
        struct file_watch *watch = userdata;
        struct identity now = identify_file(watch->path);
        bool exists = now.device != 0;
        bool has_changed = exists && !is_same_file(&now, &watch->reported);
        bool is_complete = is_same_file(&now, &watch->last);
        int64_t wait_ms = has_changed && !is_complete ? FILE_WATCH_REST_MS : FILE_WATCH_PERIOD_MS;

        watch->last = now;
        loop_timer_arm(watch->loop, &watch->timer, loop_now_mono_ms(watch->loop) + wait_ms,
                       on_file_watch_timer, watch);
        if (has_changed && is_complete) {
                watch->reported = now;
                watch->fn(watch->userdata, watch->path); /* may free @watch */
        }
}

struct file_watch *file_watch_new(struct loop *loop, const char *path, file_watch_fn *fn,
                                  void *userdata) {
        struct file_watch *watch = xcalloc(1, sizeof(*watch));

        watch->loop = loop;
        watch->path = xstrdup(path);
        watch->fn = fn;
        watch->userdata = userdata;
        watch->reported = watch->last = identify_file(path);
        loop_timer_arm(loop, &watch->timer, loop_now_mono_ms(loop) + FILE_WATCH_PERIOD_MS,
                       on_file_watch_timer, watch);
        return watch;
}

void file_watch_free(struct file_watch *watch) {
        if (!watch)
                return;
        loop_timer_disarm(watch->loop, &watch->timer);
        free(watch->path);
        free(watch);
}

void file_watch_reload(struct file_watch *watch) {
        watch->reported = watch->last = identify_file(watch->path);
        watch->fn(watch->userdata, watch->path);
}
