#include "kube/exec_credential.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "kube/secret.h"

/* How often a plugin that has closed its output, or left it to a child, is asked for its end. */
enum { REAP_PERIOD_MS = 20 };

extern char **environ;

struct exec_plugin *exec_plugin_new(void) {
        return xcalloc(1, sizeof(struct exec_plugin));
}

static void free_words(char **words) {
        for (size_t i = 0; words && words[i]; i++)
                free(words[i]);
        free(words);
}

void exec_plugin_free(struct exec_plugin *plugin) {
        if (!plugin)
                return;
        free(plugin->api_version);
        free(plugin->command);
        free_words(plugin->arguments);
        free_words(plugin->environment);
        free(plugin->install_hint);
        free(plugin->cluster_json);
        free(plugin);
}

void exec_credential_done(struct exec_credential *credential) {
        secret_free(credential->token);
        secret_free(credential->cert_pem);
        secret_free(credential->key_pem);
        *credential = (struct exec_credential){0};
}

/* metav1.Time as plugins write it: RFC 3339, with Z or with an offset such as +02:00. */
static bool parse_time(const char *text, int64_t *ret_unix_ms) {
        enum { OFFSET_LEN = sizeof("+02:00") - 1 };
        char utc[TIMESTAMP_MAX];
        size_t len = strlen(text);

        if (timestamp_parse(text, len, ret_unix_ms))
                return true;
        if (len <= OFFSET_LEN || len >= sizeof(utc))
                return false;
        const char *offset = text + len - OFFSET_LEN;
        if ((offset[0] != '+' && offset[0] != '-') || offset[3] != ':')
                return false;
        for (size_t i = 1; i < OFFSET_LEN; i++)
                if (i != 3 && (offset[i] < '0' || offset[i] > '9'))
                        return false;
        int64_t minutes = (offset[1] - '0') * 600 + (offset[2] - '0') * 60 +
                          (offset[4] - '0') * 10 + (offset[5] - '0');
        memcpy(utc, text, len - OFFSET_LEN);
        utc[len - OFFSET_LEN] = 'Z';
        if (!timestamp_parse(utc, len - OFFSET_LEN + 1, ret_unix_ms))
                return false;
        *ret_unix_ms += (offset[0] == '+' ? -minutes : minutes) * MS_PER_MIN;
        return true;
}

static int take_secret(const json_t *status, const char *key, enum secret_kind kind, char **ret,
                       struct error *err) {
        const json_t *value = json_at(status, key, NULL);

        if (!value || json_is_null(value))
                return 0;
        if (!json_is_string(value))
                return error_set(err, EINVAL, "status.%s: not a string", key);
        if (json_string_length(value) == 0)
                return 0;
        _cleanup_(secret_freep) char *text = xmemdup0(json_string_value(value),
                                                      json_string_length(value));
        if (secret_check(kind, text, json_string_length(value), err) < 0)
                return error_wrap(err, "status.%s", key);
        *ret = TAKE_PTR(text);
        return 0;
}

int exec_credential_parse(const char *text, size_t len, const char *api_version,
                          struct exec_credential *ret, struct error *err) {
        _cleanup_(exec_credential_done) struct exec_credential credential = {
                .expires_unix_ms = INT64_MAX,
        };
        json_auto_t *root = NULL;

        /* Without jansson's message, which quotes what may be a token. */
        int r = json_parse(text, len, &root, NULL);
        if (r < 0)
                return error_set(err, EINVAL, "printed no JSON");
        const char *kind = json_string_at(root, "kind", NULL);
        const char *version = json_string_at(root, "apiVersion", NULL);
        if (!kind || strcmp(kind, "ExecCredential") != 0)
                return error_set(err, EINVAL, "not an ExecCredential");
        if (!version || strcmp(version, api_version) != 0)
                return error_set(err, EINVAL, "apiVersion is %s, the kubeconfig asks for %s",
                                 version ? version : "missing", api_version);

        const json_t *status = json_at(root, "status", NULL);
        r = take_secret(status, "token", SECRET_TOKEN, &credential.token, err);
        if (r == 0)
                r = take_secret(status, "clientCertificateData", SECRET_PEM, &credential.cert_pem,
                                err);
        if (r == 0)
                r = take_secret(status, "clientKeyData", SECRET_PEM, &credential.key_pem, err);
        if (r < 0)
                return r;
        if (!credential.cert_pem != !credential.key_pem)
                return error_set(err, EINVAL,
                                 "status: a client certificate and its key go together");
        if (!credential.token && !credential.cert_pem)
                return error_set(err, EINVAL, "status: neither token nor client certificate");

        const json_t *expires = json_at(status, "expirationTimestamp", NULL);
        if (expires && !json_is_null(expires)) {
                const char *time = json_string_at(expires, NULL);
                if (!time || !parse_time(time, &credential.expires_unix_ms))
                        return error_set(err, EINVAL, "status.expirationTimestamp: not a time");
        }
        *ret = credential;
        credential = (struct exec_credential){0};
        return 0;
}

/* "NAME=value" of @entries holds the name that @entry has. */
static bool overrides(char *const *entries, const char *entry) {
        size_t name_len = strcspn(entry, "=") + 1;

        for (size_t i = 0; entries && entries[i]; i++)
                if (strncmp(entries[i], entry, name_len) == 0)
                        return true;
        return false;
}

/* Our environment, under the plugin's own and KUBERNETES_EXEC_INFO. The array alone is owned. */
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

/* In a process group of its own, so that a deadline reaches its children too. */
static int spawn(const struct exec_plugin *plugin, int output_fd, pid_t *ret_pid) {
        _cleanup_(freep) char *exec_info = xasprintf(
                "KUBERNETES_EXEC_INFO={\"apiVersion\":\"%s\",\"kind\":\"ExecCredential\","
                "\"spec\":{%s%s%s\"interactive\":false}}",
                plugin->api_version, plugin->cluster_json ? "\"cluster\":" : "",
                plugin->cluster_json ? plugin->cluster_json : "", plugin->cluster_json ? "," : "");
        _cleanup_(freep) char **environment = make_environment(plugin, exec_info);
        _cleanup_(freep) char **arguments = make_arguments(plugin);
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;

        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
                mem_exhausted();
        int r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
        /* Ours are closed by themselves; curl's wake-up descriptors are not. */
        if (r == 0)
                r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
        /* The daemon blocks signals and ignores SIGPIPE; a plugin expects neither. */
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setsigdefault(&attributes, &all);
        (void)posix_spawnattr_setpgroup(&attributes, 0);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                            POSIX_SPAWN_SETPGROUP);
        if (r == 0)
                r = posix_spawnp(ret_pid, plugin->command, &actions, &attributes, arguments,
                                 environment);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

/* Everything that is there now; false at the end of the output. */
static bool read_output(int fd, struct buf *output) {
        char piece[4096];

        for (;;) {
                ssize_t n = read(fd, piece, sizeof(piece));
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        return false;
                if (n < 0 && errno == EAGAIN)
                        return true;
                if (n > 0 && !buf_append(output, piece, (size_t)n))
                        return false;
        }
}

/* Until the plugin has ended; what its children may still hold open is not waited for. */
static int wait_for(pid_t pid, int fd, int64_t deadline_mono_ms, struct buf *output,
                    int *ret_status) {
        bool is_open = true;

        for (;;) {
                int64_t left_ms = deadline_mono_ms - clock_mono_ms();
                pid_t reaped = waitpid(pid, ret_status, WNOHANG);
                if (is_open)
                        is_open = read_output(fd, output);
                if (reaped == pid)
                        return output->overflow ? -EFBIG : 0;
                if (reaped < 0 && errno != EINTR)
                        return -errno;
                if (left_ms <= 0 || output->overflow) {
                        (void)kill(-pid, SIGKILL);
                        (void)waitpid(pid, ret_status, 0);
                        return output->overflow ? -EFBIG : -ETIMEDOUT;
                }
                struct pollfd poll_fd = {.fd = is_open ? fd : -1, .events = POLLIN};
                (void)poll(&poll_fd, 1, left_ms < REAP_PERIOD_MS ? (int)left_ms : REAP_PERIOD_MS);
        }
}

static int run(const struct exec_plugin *plugin, int64_t timeout_ms, struct buf *output,
               struct error *err) {
        int fds[2], status = 0;
        pid_t pid = 0;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return error_set(err, errno, "pipe: %s", strerror(errno));
        (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
        int64_t deadline_mono_ms = clock_mono_ms() + timeout_ms;
        int r = spawn(plugin, fds[1], &pid);
        (void)close(fds[1]);
        if (r < 0) {
                (void)close(fds[0]);
                return error_set(err, r, "%s%s%s", strerror(-r), plugin->install_hint ? "; " : "",
                                 plugin->install_hint ? plugin->install_hint : "");
        }
        r = wait_for(pid, fds[0], deadline_mono_ms, output, &status);
        (void)close(fds[0]);
        if (r == -ETIMEDOUT)
                return error_set(err, r, "has not ended within %lld s, killed",
                                 (long long)(timeout_ms / MS_PER_S));
        if (r == -EFBIG)
                return error_set(err, r, "printed more than %d bytes", EXEC_OUTPUT_MAX_BYTES);
        if (r < 0)
                return error_set(err, r, "%s", strerror(-r));
        if (WIFSIGNALED(status))
                return error_set(err, EPROTO, "was ended by signal %d", WTERMSIG(status));
        if (WEXITSTATUS(status) != 0)
                return error_set(err, EPROTO, "exit status %d", WEXITSTATUS(status));
        return 0;
}

int exec_plugin_run(const struct exec_plugin *plugin, int64_t timeout_ms,
                    struct exec_credential *ret, struct error *err) {
        struct buf output = BUF_INIT(EXEC_OUTPUT_MAX_BYTES);

        int r = run(plugin, timeout_ms, &output, err);
        if (r == 0)
                r = exec_credential_parse(output.data ? output.data : "", output.len,
                                          plugin->api_version, ret, err);
        if (output.data)
                explicit_bzero(output.data, output.cap);
        buf_done(&output);
        if (r < 0)
                return error_wrap(err, "credential plugin %s", plugin->command);
        return 0;
}
