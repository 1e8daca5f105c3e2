#include "kube/exec_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "kube/secret.h"

enum {
        OUTPUT_MAX_BYTES = 1 << 20,
        /* Poll waitpid() this often. End of output does not mean exit: a plugin may close it early,
         * or leave it to a child. */
        REAP_PERIOD_MS = 20,
};

/* One of its two output pipes. */
struct stream {
        int fd; /* -1: closed */
        struct buf text;
};

struct exec_run {
        struct loop *loop;
        const struct exec_plugin *plugin;
        int64_t timeout_ms, deadline_mono_ms;
        pid_t pid; /* 0: not started, or reaped */
        struct stream output, errors;
        struct loop_timer timer;
        struct error err; /* set when it was killed or not started */
        exec_run_fn *fn;
        void *userdata;
};

extern char **environ;

/* "NAME=value" of @entries holds the name that @entry has. */
static bool overrides(char *const *entries, const char *entry) {
        size_t name_len = strcspn(entry, "=") + 1;

        for (size_t i = 0; entries && entries[i]; i++)
                if (strncmp(entries[i], entry, name_len) == 0)
                        return true;
        return false;
}

/* Our environment, under the plugin's own and KUBERNETES_EXEC_INFO. Only the array is owned. */
static char **make_environment(const struct exec_plugin *plugin, char *exec_info) {
        size_t count = 0, len = 0;

        for (size_t i = 0; environ[i]; i++)
                count++;
        for (size_t i = 0; plugin->environment && plugin->environment[i]; i++)
                count++;
        char **entries = xcalloc(count + 2, sizeof(*entries));
        for (size_t i = 0; environ[i]; i++)
                if (!overrides(plugin->environment, environ[i]) &&
                    strncmp(environ[i], "KUBERNETES_EXEC_INFO=", 21) != 0)
                        entries[len++] = environ[i];
        for (size_t i = 0; plugin->environment && plugin->environment[i]; i++)
                entries[len++] = plugin->environment[i];
        entries[len++] = exec_info;
        return entries;
}

static char **make_arguments(const struct exec_plugin *plugin) {
        size_t count = 0;

        while (plugin->arguments && plugin->arguments[count])
                count++;
        char **words = xcalloc(count + 2, sizeof(*words));
        words[0] = plugin->command;
        for (size_t i = 0; i < count; i++)
                words[i + 1] = plugin->arguments[i];
        return words;
}

/* In a process group of its own, so that a deadline reaches its children too. In the foreground it
 * stays in ours, since only that group may read from the terminal. @errors_fd: -1: our stderr */
static int spawn(const struct exec_plugin *plugin, int output_fd, int errors_fd, pid_t *ret_pid) {
        _cleanup_(freep) char *exec_info = xasprintf(
                "KUBERNETES_EXEC_INFO={\"apiVersion\":\"%s\",\"kind\":\"ExecCredential\","
                "\"spec\":{%s%s%s\"interactive\":%s}}",
                plugin->api_version, plugin->cluster_json ? "\"cluster\":" : "",
                plugin->cluster_json ? plugin->cluster_json : "", plugin->cluster_json ? "," : "",
                plugin->is_interactive ? "true" : "false");
        _cleanup_(freep) char **environment = make_environment(plugin, exec_info);
        _cleanup_(freep) char **arguments = make_arguments(plugin);
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;

        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        /* They fail only for want of memory. The last one is for curl's wake-up descriptors: ours
         * are closed by themselves. */
        if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
                mem_exhausted();
        if ((!plugin->is_interactive &&
             posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)) ||
            posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO) != 0 ||
            (errors_fd >= 0 &&
             posix_spawn_file_actions_adddup2(&actions, errors_fd, STDERR_FILENO) != 0) ||
            posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1) != 0)
                mem_exhausted();
        /* The daemon blocks signals and ignores SIGPIPE; a plugin expects neither. */
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setsigdefault(&attributes, &all);
        (void)posix_spawnattr_setpgroup(&attributes, plugin->is_foreground ? getpgrp() : 0);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                            POSIX_SPAWN_SETPGROUP);
        int r = posix_spawnp(ret_pid, plugin->command, &actions, &attributes, arguments,
                             environment);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static void stream_close(struct exec_run *run, struct stream *stream) {
        if (stream->fd < 0)
                return;
        loop_fd_remove(run->loop, stream->fd);
        (void)close(stream->fd);
        stream->fd = -1;
}

static void stream_done(struct exec_run *run, struct stream *stream) {
        stream_close(run, stream);
        if (stream->text.data)
                explicit_bzero(stream->text.data, stream->text.cap);
        buf_done(&stream->text);
}

/* Reads what is available now, and drops what exceeds the limit. */
static void stream_read(struct exec_run *run, struct stream *stream) {
        char piece[4096];

        while (stream->fd >= 0) {
                ssize_t n = read(stream->fd, piece, sizeof(piece));
                if (n < 0)
                        return; /* EAGAIN: there is no other for a pipe that does not block */
                if (n == 0) {
                        stream_close(run, stream);
                        return;
                }
                size_t left = stream->text.max_bytes - stream->text.len;
                stream->text.overflow = stream->text.overflow || (size_t)n > left;
                (void)buf_append(&stream->text, piece, size_min((size_t)n, left));
                if (stream->text.overflow)
                        return; /* give other callbacks their turn */
        }
}

static void exec_finish(struct exec_run *run, int status) {
        struct exec_credential credential = {0};
        struct exec_outcome outcome = {.err = ERROR_NULL};
        struct error *err = &run->err;

        stream_read(run, &run->output);
        stream_read(run, &run->errors);
        if (err->code == 0 && run->output.text.overflow)
                (void)error_set(err, EFBIG, "output exceeds %d bytes", OUTPUT_MAX_BYTES);
        else if (err->code == 0 && WIFSIGNALED(status))
                (void)error_set(err, EPROTO, "killed by signal %d", WTERMSIG(status));
        else if (err->code == 0 && WEXITSTATUS(status) != 0)
                (void)error_set(err, EPROTO, "exit status %d", WEXITSTATUS(status));
        if (err->code == 0 &&
            exec_credential_parse(run->output.text.data ? run->output.text.data : "",
                                  run->output.text.len, run->plugin->api_version, &credential,
                                  err) == 0)
                outcome.credential = &credential;
        else
                (void)error_wrap(err, err->code, "credential plugin %s", run->plugin->command);
        outcome.err = *err;
        char *stderr_text = buf_take(&run->errors.text);
        secret_mask(stderr_text, credential.token);
        outcome.stderr_text = stderr_text;
        run->fn(run->userdata, &outcome); /* frees @run */
        exec_credential_done(&credential);
        secret_free(stderr_text);
}

static void end(struct exec_run *run) {
        if (run->pid <= 0)
                return;
        /* In the foreground it leads no group, unless it made one; else it may have left its own.
         */
        (void)kill(-run->pid, SIGKILL);
        (void)kill(run->pid, SIGKILL);
}

/* Polls until the plugin has exited; pipes that children still hold open are not waited for. */
static void on_plugin_look(void *userdata) {
        struct exec_run *run = userdata;
        int64_t now_mono_ms = clock_mono_ms();
        int status = 0;

        if (run->pid > 0 && waitpid(run->pid, &status, WNOHANG) != 0)
                run->pid = 0;
        if (run->pid == 0) {
                exec_finish(run, status);
                return;
        }
        if (now_mono_ms >= run->deadline_mono_ms) {
                (void)error_set(&run->err, ETIMEDOUT, "timed out after %lld s, killed",
                                (long long)(run->timeout_ms / MS_PER_S));
                end(run);
        }
        int64_t left_ms = run->deadline_mono_ms - now_mono_ms;
        loop_timer_arm(run->loop, &run->timer,
                       now_mono_ms +
                               (left_ms > 0 && left_ms < REAP_PERIOD_MS ? left_ms : REAP_PERIOD_MS),
                       on_plugin_look, run);
}

static void on_output(void *userdata, int fd, uint32_t epoll_events) {
        struct exec_run *run = userdata;

        (void)fd;
        (void)epoll_events;
        stream_read(run, &run->output);
        if (run->output.text.overflow) {
                stream_close(run, &run->output);
                end(run);
        }
}

/* stderr beyond the limit is read and dropped, so that the plugin does not block. */
static void on_errors(void *userdata, int fd, uint32_t epoll_events) {
        struct exec_run *run = userdata;

        (void)fd;
        (void)epoll_events;
        stream_read(run, &run->errors);
}

static int stream_open(struct stream *stream, size_t max_bytes, int *ret_write_fd) {
        int fds[2];

        stream->text = BUF_INIT(max_bytes);
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
        stream->fd = fds[0];
        *ret_write_fd = fds[1];
        return 0;
}

static int exec_begin(struct exec_run *run) {
        int output_fd = -1, errors_fd = -1;

        int r = stream_open(&run->output, OUTPUT_MAX_BYTES, &output_fd);
        if (r == 0 && !run->plugin->is_foreground)
                r = stream_open(&run->errors, EXEC_STDERR_MAX_BYTES, &errors_fd);
        if (r == 0)
                r = spawn(run->plugin, output_fd, errors_fd, &run->pid);
        if (output_fd >= 0)
                (void)close(output_fd);
        if (errors_fd >= 0)
                (void)close(errors_fd);
        return r;
}

struct exec_run *exec_run_new(struct loop *loop, const struct exec_plugin *plugin,
                              int64_t timeout_ms, exec_run_fn *fn, void *userdata) {
        struct exec_run *run = xcalloc(1, sizeof(*run));
        int64_t now_mono_ms = clock_mono_ms();

        run->loop = loop;
        run->plugin = plugin;
        run->timeout_ms = timeout_ms;
        run->deadline_mono_ms = plugin->is_foreground ? INT64_MAX : now_mono_ms + timeout_ms;
        run->output.fd = run->errors.fd = -1;
        run->fn = fn;
        run->userdata = userdata;
        int r = exec_begin(run);
        if (r < 0) {
                run->pid = 0;
                (void)error_set(&run->err, r, "%s%s%s", strerror(-r),
                                plugin->install_hint ? "; " : "",
                                plugin->install_hint ? plugin->install_hint : "");
        } else {
                loop_fd_set(loop, run->output.fd, EPOLLIN, on_output, run);
                if (run->errors.fd >= 0)
                        loop_fd_set(loop, run->errors.fd, EPOLLIN, on_errors, run);
        }
        loop_timer_arm(loop, &run->timer, now_mono_ms, on_plugin_look, run);
        return run;
}

void exec_run_free(struct exec_run *run) {
        if (!run)
                return;
        end(run);
        if (run->pid > 0)
                (void)waitpid(run->pid, NULL, WNOHANG); /* or init does, when we have ended */
        loop_timer_disarm(run->loop, &run->timer);
        stream_done(run, &run->output);
        stream_done(run, &run->errors);
        free(run);
}
