#include "extender/policy_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* What tells one state of a file from another. */
struct stamp {
        int error; /* errno of stat(), 0 when it worked */
        dev_t device;
        ino_t inode;
        off_t bytes;
        struct timespec modified;
};

struct policy_file {
        struct loop *loop;
        struct policy_file_options options;
        struct loop_timer timer;
        struct stamp stamp;
        struct metric *loads, *failures, *is_current;
};

static struct stamp stamp_of(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                return (struct stamp){.error = errno};
        return (struct stamp){
                .device = st.st_dev,
                .inode = st.st_ino,
                .bytes = st.st_size,
                .modified = st.st_mtim,
        };
}

static bool is_same(const struct stamp *a, const struct stamp *b) {
        return a->error == b->error && a->device == b->device && a->inode == b->inode &&
               a->bytes == b->bytes && a->modified.tv_sec == b->modified.tv_sec &&
               a->modified.tv_nsec == b->modified.tv_nsec;
}

void policy_log_warnings(const struct policy *policy) {
        for (size_t i = 0; i < policy->warning_count && i < POLICY_MAX_WARNINGS; i++)
                log_warn(MSG("policy is odd"), STR("warning", policy->warnings[i]));
}

static void loaded(struct policy_file *file, const struct policy *policy) {
        metric_inc(file->loads);
        metric_set(file->is_current, 1);
        health_pass(file->options.check, "%s: %zu metrics, %zu predicates, %zu priorities",
                    file->options.path, policy->metric_count, policy->predicate_count,
                    policy->priority_count);
        log_info(MSG("policy loaded"), STR("path", file->options.path),
                 INT("metrics", policy->metric_count), INT("predicates", policy->predicate_count),
                 INT("priorities", policy->priority_count));
        policy_log_warnings(policy);
}

static void try_loading(struct policy_file *file) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_load_file(file->options.path, file->options.is_strict, &policy, &err) < 0) {
                metric_inc(file->failures);
                metric_set(file->is_current, 0);
                health_pass(file->options.check, "the previous policy stays in force: %s", err.msg);
                log_error(MSG("policy not loaded, the previous one stays in force"), ERR(&err));
                return;
        }
        loaded(file, policy);
        file->options.on_change(file->options.userdata, policy);
}

static void on_timer(void *userdata) {
        struct policy_file *file = userdata;
        struct stamp stamp = stamp_of(file->options.path);

        loop_timer_arm(file->loop, &file->timer, loop_now_mono_ms(file->loop) + MS_PER_S, on_timer,
                       file);
        if (is_same(&stamp, &file->stamp))
                return;
        file->stamp = stamp;
        try_loading(file);
}

static struct policy_file *file_new(struct loop *loop, const struct policy_file_options *options) {
        struct policy_file *file = xcalloc(1, sizeof(*file));
        struct metrics *metrics = options->metrics;

        file->loop = loop;
        file->options = *options;
        file->loads = metrics_counter(metrics, "plimsoll_extender_policy_loads_total",
                                      "Policy files loaded.", NULL);
        file->failures = metrics_counter(metrics, "plimsoll_extender_policy_load_errors_total",
                                         "Policy files that could not be loaded.", NULL);
        file->is_current = metrics_gauge(metrics, "plimsoll_extender_policy_current",
                                         "1 while the policy in force is what the file says.",
                                         NULL);
        return file;
}

int policy_file_open(struct loop *loop, const struct policy_file_options *options,
                     struct policy_file **ret, struct policy **ret_policy, struct error *err) {
        _cleanup_(policy_file_closep) struct policy_file *file = file_new(loop, options);
        struct policy *policy = NULL;

        if (!options->path) {
                policy = policy_default();
                metric_set(file->is_current, 1);
                health_pass(options->check, "the built-in one; --policy-config-path sets another");
        } else {
                /* Taken first: a change while reading is then seen as one. */
                file->stamp = stamp_of(options->path);
                int r = policy_load_file(options->path, options->is_strict, &policy, err);
                if (r < 0)
                        return r;
                loaded(file, policy);
                loop_timer_arm(loop, &file->timer, loop_now_mono_ms(loop) + MS_PER_S, on_timer,
                               file);
        }
        *ret_policy = policy;
        *ret = TAKE_PTR(file);
        return 0;
}

void policy_file_close(struct policy_file *file) {
        if (!file)
                return;
        loop_timer_disarm(file->loop, &file->timer);
        free(file);
}

void policy_file_reload(struct policy_file *file) {
        if (!file->options.path)
                return;
        file->stamp = stamp_of(file->options.path);
        try_loading(file);
}
