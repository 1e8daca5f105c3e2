/* Credential plugins: what they are given, what they answer, how they are ended. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "credential_files.h"
#include "kube/exec_run.h"
#include "kube/secret.h"

TEST(exec_credential) {
        static const struct {
                const char *text;
                int64_t expires_unix_ms; /* -1: refused */
        } rows[] = {
                {CREDENTIAL("\"token\":\"t\""), INT64_MAX},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":null"), INT64_MAX},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:00:02Z\""),
                 2000},
                {CREDENTIAL(
                         "\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T01:30:02+01:30\""),
                 2000},
                {CREDENTIAL(
                         "\"token\":\"t\",\"expirationTimestamp\":\"1969-12-31T23:00:02-01:00\""),
                 2000},
                {CREDENTIAL("\"clientCertificateData\":\"" PEM_JSON
                            "\",\"clientKeyData\":\"" PEM_JSON "\""),
                 INT64_MAX},
                {CREDENTIAL("\"token\":\"\",\"clientKeyData\":null"), -1},
                {CREDENTIAL("\"clientCertificateData\":\"" PEM_JSON "\""), -1},
                {CREDENTIAL("\"token\":7"), -1},
                {CREDENTIAL("\"token\":\"a\\nb\""), -1},
                {CREDENTIAL("\"token\":\"a\\u0000b\""), -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":\"soon\""), -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":7"), -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":\"+01:00\""), -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":"
                            "\"1970-01-01T00:00:02x01:00\""),
                 -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":"
                            "\"1970-01-01T00:00:02+01.00\""),
                 -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":"
                            "\"1970-01-01T00:00:02+0/:00\""),
                 -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":"
                            "\"1970-01-01T00:00:02+01:0:\""),
                 -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":"
                            "\"1970-13-01T00:00:02+01:00\""),
                 -1},
                {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:00:02."
                            "000000000000000000000000000000000000+01:00\""),
                 -1},
                {CREDENTIAL(""), -1},
                {"{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}", -1},
                {"{\"status\":{\"token\":\"t\"}}", -1},
                {"{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":"
                 "\"ExecCredential\",\"status\":{\"token\":\"t\"}}",
                 -1},
                {"{\"kind\":\"Pod\"}", -1},
                {"", -1},
                {"secret-token", -1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exec_credential credential = {.expires_unix_ms = 42};
                struct error err = ERROR_NULL;
                int r = exec_credential_parse(rows[i].text, strlen(rows[i].text),
                                              "client.authentication.k8s.io/v1", &credential, &err);
                if ((r == 0) != (rows[i].expires_unix_ms >= 0) ||
                    credential.expires_unix_ms != (r == 0 ? rows[i].expires_unix_ms : 42))
                        fail_msg("row %zu gave %d, %lld (%s)", i, r,
                                 (long long)credential.expires_unix_ms, err.msg);
                assert_null(strstr(err.msg, "secret-token"));
                exec_credential_done(&credential);
        }
}

static struct exec_plugin *plugin_new(const char *script) {
        struct exec_plugin *plugin = xcalloc(1, sizeof(*plugin));

        plugin->api_version = xstrdup("client.authentication.k8s.io/v1");
        plugin->command = xstrdup("sh");
        plugin->arguments = xcalloc(3, sizeof(char *));
        plugin->arguments[0] = xstrdup("-c");
        plugin->arguments[1] = xstrdup(script);
        return plugin;
}

/* What a run came to. */
struct ended {
        struct loop *loop;
        struct exec_run *run;
        struct exec_credential credential;
        struct error err;
        char said[2 * EXEC_STDERR_MAX_BYTES];
};

static void on_ended(void *userdata, struct exec_outcome *outcome) {
        struct ended *ended = userdata;

        if (outcome->credential) {
                ended->credential = *outcome->credential;
                *outcome->credential = (struct exec_credential){0};
        }
        ended->err = outcome->err;
        (void)snprintf(ended->said, sizeof(ended->said), "%s", outcome->stderr_text);
        exec_run_free(TAKE_PTR(ended->run));
        loop_stop(ended->loop);
}

/* Return: the code of the outcome's error, 0 with a credential in @ret */
static int run(const struct exec_plugin *plugin, int64_t timeout_ms, struct ended *ret) {
        *ret = (struct ended){.loop = loop_new()};
        ret->run = exec_run_new(ret->loop, plugin, timeout_ms, on_ended, ret);
        loop_run(ret->loop);
        loop_free(ret->loop);
        return ret->err.code;
}

TEST(exec_failures) {
        static const struct {
                const char *script;
                int64_t timeout_ms;
                int code;
                const char *problem;
        } rows[] = {
                {"exit 3", 10000, -EPROTO, "exit status 3"},
                {"kill -9 $$", 10000, -EPROTO, "signal 9"},
                {"echo no", 10000, -EINVAL, "not JSON"},
                {":", 10000, -EINVAL, "not JSON"},
                {"exec sleep 100", 50, -ETIMEDOUT, "killed"},
                {"sleep 100 & wait", 50, -ETIMEDOUT, "killed"}, /* its children too */
                {"exec sleep 100 >&-", 50, -ETIMEDOUT, "killed"},
                {"exec yes", 10000, -EFBIG, "output exceeds"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exec_plugin *plugin = plugin_new(rows[i].script);
                struct ended ended;
                int r = run(plugin, rows[i].timeout_ms, &ended);
                if (r != rows[i].code || !strstr(ended.err.msg, rows[i].problem) ||
                    !strstr(ended.err.msg, "plugin sh"))
                        fail_msg("row %zu gave %d (%s)", i, r, ended.err.msg);
                exec_plugin_free(plugin);
        }

        struct exec_plugin *plugin = plugin_new("");
        struct ended ended;
        free(plugin->command);
        plugin->command = xstrdup("/nonexistent/plugin");
        plugin->install_hint = xstrdup("install it so");
        assert_int_equal(run(plugin, 1000, &ended), -ENOENT);
        assert_non_null(strstr(ended.err.msg, "install it so"));
        exec_plugin_free(plugin);
}

/* The lowest that are free, which shows what a run has left open. */
static void free_descriptors(int ret[static 8]) {
        for (size_t i = 0; i < 8; i++)
                ret[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        for (size_t i = 0; i < 8; i++)
                assert_int_equal(close(ret[i]), 0);
}

/* A run needs four; with fewer it ends like one that could not be started. None stays open. */
TEST(exec_without_descriptors) {
        struct exec_plugin *plugin = plugin_new("");
        struct rlimit before;
        struct ended whole;
        int lowest[8], after[8];

        free_descriptors(lowest);
        assert_int_equal(run(plugin, 10000, &whole), -EINVAL);
        free_descriptors(after);
        assert_memory_equal(after, lowest, sizeof(lowest));
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        for (rlim_t spare = 0; spare < 4; spare++) {
                struct ended ended = {.loop = loop_new()};
                free_descriptors(lowest);
                const struct rlimit few = {(rlim_t)lowest[0] + spare, before.rlim_max};
                assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
                ended.run = exec_run_new(ended.loop, plugin, 10000, on_ended, &ended);
                assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
                loop_run(ended.loop);
                assert_int_equal(ended.err.code, -EMFILE);
                assert_string_equal(ended.err.msg, "credential plugin sh: Too many open files");
                assert_string_equal(ended.said, "");
                free_descriptors(after);
                assert_memory_equal(after, lowest, sizeof(lowest));
                loop_free(ended.loop);
        }
        exec_plugin_free(plugin);
}

/* What it says on stderr is cut, has no token in it, and is never more than the loop can bear. */
TEST(exec_stderr) {
        static const struct {
                const char *script, *said;
        } rows[] = {
                {"echo no such user >&2; exit 1", "no such user\n"},
                {"echo 'Bearer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr refused' >&2; exit 1",
                 "Bearer *** refused\n"},
                {"printf '%s' '" CREDENTIAL("\"token\":\"short\"") "'; echo got short >&2",
                 "got ***\n"},
                {"exit 1", ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exec_plugin *plugin = plugin_new(rows[i].script);
                struct ended ended;
                (void)run(plugin, 10000, &ended);
                if (strcmp(ended.said, rows[i].said) != 0)
                        fail_msg("row %zu said '%s'", i, ended.said);
                exec_credential_done(&ended.credential);
                exec_plugin_free(plugin);
        }
        struct exec_plugin *plugin = plugin_new("yes spam | head -c 1000000 >&2; exit 1");
        struct ended ended;
        assert_int_equal(run(plugin, 10000, &ended), -EPROTO);
        assert_int_equal(strlen(ended.said), EXEC_STDERR_MAX_BYTES);
        exec_plugin_free(plugin);
}

TEST(masking) {
        static const struct {
                const char *text, *masked;
        } rows[] = {
                {"", ""},
                {"the user service-accounts/default", "the user service-accounts/default"},
                {"error: cannot reach sts.example.com: timeout",
                 "error: cannot reach sts.example.com: timeout"},
                {"Authorization: Bearer 0123456789abcdef", "Authorization: Bearer ***"},
                {"token=0123456789abcdef!", "***!"},
                {"\"0123456789abcde\"", "\"0123456789abcde\""}, /* too short to be one */
                {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnop", "***"},
                {"it says hunter2, and hunter2", "it says ***, and ***"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[100];
                (void)snprintf(text, sizeof(text), "%s", rows[i].text);
                secret_mask(text, "hunter2");
                assert_string_equal(text, rows[i].masked);
        }
        for (size_t i = 0; i < 2; i++) { /* no secret is known */
                char text[] = "it says hunter2";
                secret_mask(text, i == 0 ? NULL : "");
                assert_string_equal(text, "it says hunter2");
        }
}

static void on_tick(void *userdata) {
        loop_stop(userdata);
}

static bool is_there(int pid) {
        char path[32], state = 'X';

        (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        FILE *file = fopen(path, "re");
        if (!file)
                return false;
        (void)!fscanf(file, "%*d (%*[^)]) %c", &state);
        (void)fclose(file);
        return state != 'Z' && state != 'X';
}

/* One that hangs is in nobody's way, and ends with the program, its children too. */
TEST_BETWEEN(exec_hangs, set_up, tear_down) {
        struct ended ended = {.loop = loop_new()};
        struct loop_timer tick = {0};

        _cleanup_(freep) char *pid_path = path_of("pid");
        _cleanup_(freep) char *script = xasprintf("sleep 100 & echo $! >%s; wait", pid_path);
        struct exec_plugin *plugin = plugin_new(script);
        ended.run = exec_run_new(ended.loop, plugin, 60000, on_ended, &ended);
        int pid = 0;
        for (size_t i = 0; i < 1000 && pid == 0; i++) {
                loop_timer_arm(ended.loop, &tick, clock_mono_ms() + 10, on_tick, ended.loop);
                loop_run(ended.loop); /* it turns */
                FILE *file = fopen(pid_path, "re");
                if (!file)
                        continue;
                (void)!fscanf(file, "%d", &pid);
                (void)fclose(file);
        }
        assert_true(pid > 0);
        assert_non_null(ended.run);
        assert_true(is_there(pid));
        exec_run_free(ended.run);
        for (size_t i = 0; i < 1000 && is_there(pid); i++)
                usleep(10000);
        assert_false(is_there(pid));
        exec_plugin_free(plugin);
        loop_free(ended.loop);
}

/* This program as a plugin, in the process group of the one that has begun it. */
static int leave_and_hang(void) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setpgid(0, getpgid(getppid())) < 0)
                return 1;
        return pause();
}

TEST(exec_leaves_its_group) {
        struct exec_plugin *plugin = plugin_new("");
        struct ended ended;

        free(plugin->command);
        plugin->command = xstrdup("/proc/self/exe");
        if (run(plugin, 500, &ended) != -ETIMEDOUT)
                fail_msg("%s", ended.err.msg);
        exec_plugin_free(plugin);
}

/* What the plugin is given, and that a child of it which stays does not hold us up. */
TEST_BETWEEN(exec_surroundings, set_up, tear_down) {
        struct exec_plugin *plugin = plugin_new("");
        struct ended ended;

        _cleanup_(freep) char *pid_path = path_of("pid");
        free(plugin->arguments[1]);
        plugin->arguments[1] = xasprintf("read x && exit 9; "
                                         "test \"$WANTED\" = \"$KUBERNETES_EXEC_INFO\" || exit 4; "
                                         "test \"$NAME$HOME$KEPT\" = valueoverkept || exit 5; "
                                         "sleep 100 & echo $! >%s; printf '%%s' '%s'",
                                         pid_path, CREDENTIAL("\"token\":\"t\""));
        plugin->environment = xcalloc(4, sizeof(char *));
        plugin->environment[0] = xstrdup("NAME=value");
        plugin->environment[1] = xstrdup("HOME=over");
        plugin->environment[2] = xstrdup(
                "WANTED={\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
                "\"ExecCredential\",\"spec\":{\"cluster\":{\"server\":\"s\"},"
                "\"interactive\":false}}");
        plugin->cluster_json = xstrdup("{\"server\":\"s\"}");
        assert_int_equal(setenv("HOME", "under", 1), 0);
        assert_int_equal(setenv("KEPT", "kept", 1), 0);
        assert_int_equal(setenv("KUBERNETES_EXEC_INFO", "stale", 1), 0);
        if (run(plugin, 10000, &ended) < 0)
                fail_msg("%s", ended.err.msg);
        assert_string_equal(ended.credential.token, "t");
        exec_credential_done(&ended.credential);
        exec_plugin_free(plugin);

        FILE *file = fopen(pid_path, "re");
        int pid = 0;
        assert_non_null(file);
        assert_int_equal(fscanf(file, "%d", &pid), 1);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
}

/* Somebody waits for it, and sees what it says: no deadline, our stderr and our process group. */
TEST(exec_in_the_foreground) {
        static const char script[] =
                "read -r pid name state parent group rest </proc/$$/stat; "
                "test $group = $GROUP || exit 3; sleep 0.3; echo visit >&2; "
                "case $KUBERNETES_EXEC_INFO in *'\"interactive\":'$INTERACTIVE'}'*) ;; "
                "*) exit 4;; esac; read x; test \"$x\" = \"$TYPED\" || exit 5; "
                "printf '%s' '" CREDENTIAL("\"token\":\"t\"") "'";
        int typed[2], said[2], old_stdin = dup(STDIN_FILENO), old_stderr = dup(STDERR_FILENO);
        char text[64] = "";

        for (int is_interactive = 0; is_interactive < 2; is_interactive++) {
                struct exec_plugin *plugin = plugin_new(script);
                struct ended ended;
                plugin->is_foreground = true;
                plugin->is_interactive = is_interactive;
                plugin->environment = xcalloc(4, sizeof(char *));
                plugin->environment[0] = xasprintf("GROUP=%d", (int)getpgrp());
                plugin->environment[1] = xasprintf("INTERACTIVE=%s",
                                                   is_interactive ? "true" : "false");
                plugin->environment[2] = xasprintf("TYPED=%s", is_interactive ? "code" : "");
                assert_int_equal(pipe(typed), 0);
                assert_int_equal(pipe(said), 0);
                assert_int_equal(write(typed[1], "code\n", 5), 5);
                assert_int_equal(dup2(typed[0], STDIN_FILENO), STDIN_FILENO);
                assert_int_equal(dup2(said[1], STDERR_FILENO), STDERR_FILENO);
                int r = run(plugin, 50, &ended);
                assert_int_equal(dup2(old_stdin, STDIN_FILENO), STDIN_FILENO);
                assert_int_equal(dup2(old_stderr, STDERR_FILENO), STDERR_FILENO);
                for (int i = 0; i < 2; i++)
                        assert_int_equal(close(typed[i]), 0);
                if (r < 0)
                        fail_msg("%s", ended.err.msg);
                assert_int_equal(read(said[0], text, sizeof(text)), 6);
                assert_memory_equal(text, "visit\n", 6);
                assert_string_equal(ended.said, "");
                for (int i = 0; i < 2; i++)
                        assert_int_equal(close(said[i]), 0);
                exec_credential_done(&ended.credential);
                exec_plugin_free(plugin);
        }
        assert_int_equal(close(old_stdin), 0);
        assert_int_equal(close(old_stderr), 0);
}

int main(int argc, char **argv) {
        return argc > 1 ? leave_and_hang() : tests_run();
}
