/* What kubectl is asked for, and how it ends: a script in its place. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cluster/kubectl.h"

static char directory[] = "/tmp/plimsoll-kubectl-XXXXXX";
static char *script_path, *words_path, *pid_path;

/* It writes its arguments to a file, one per line, and its pid to another. */
static void put_script(const char *then) {
        FILE *file = fopen(script_path, "we");

        assert_non_null(file);
        assert_true(fprintf(file, "#!/bin/sh\nprintf '%%s\\n' \"$@\" >%s\necho $$ >%s\n%s\n",
                            words_path, pid_path, then) > 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(chmod(script_path, 0700), 0);
}

static char *read_all(const char *path) {
        char *text = NULL;
        size_t len = 0;

        assert_int_equal(file_read(path, 1 << 16, &text, &len, NULL), 0);
        return text;
}

static int set_up_group(void **state) {
        assert_non_null(mkdtemp(directory));
        script_path = xasprintf("%s/kubectl", directory);
        words_path = xasprintf("%s/words", directory);
        pid_path = xasprintf("%s/pid", directory);
        return setenv("TMPDIR", directory, 1) | setenv("KUBECTL", script_path, 1);
}

/* Fails if a socket's directory is left. */
static int tear_down_group(void **state) {
        (void)unlink(script_path);
        (void)unlink(words_path);
        (void)unlink(pid_path);
        free(script_path);
        free(words_path);
        free(pid_path);
        return rmdir(directory);
}
TEST_GROUP(set_up_group, tear_down_group)

#define SERVES "echo 'Starting to serve on x'; exec sleep 1000"

TEST(flags_are_passed_on) {
        static const char *groups[] = {"a", "b c"};
        const struct kubectl_flags flags = {
                .kubeconfig = "k",
                .server = "https://h",
                .token = "",
                .as = "jane",
                .as_uid = "7",
                .as_groups = {groups, ARRAY_LEN(groups)},
                .is_insecure = true,
        };
        struct error err = ERROR_NULL;
        struct kubectl *kubectl = NULL;

        put_script(SERVES);
        assert_int_equal(kubectl_start(&flags, &kubectl, &err), 0);
        _cleanup_(freep) char *words = read_all(words_path);
        _cleanup_(freep) char *expected = xasprintf(
                "proxy\n--unix-socket=%s\n--append-server-path\n--kubeconfig=k\n"
                "--server=https://h\n--token=\n--as=jane\n--as-group=a\n--as-group=b c\n"
                "--as-uid=7\n--insecure-skip-tls-verify\n",
                kubectl_socket(kubectl));
        assert_string_equal(words, expected);
        assert_int_equal(kubectl_check(kubectl, &err), 0);
        kubectl_free(kubectl);

        assert_true(kubectl_is_flag_set(&flags));
        assert_false(kubectl_is_flag_set(&(struct kubectl_flags){0}));
}

TEST(it_ends) {
        static const struct {
                const char *then, *problem;
        } rows[] = {
                {"exit 3", "kubectl proxy ended with status 3"},
                {"exit 0", "kubectl proxy ended with status 0"},
                {"echo Starting; exit 1", "kubectl proxy ended with status 1"},
                {"kill -TERM $$; sleep 1000", "kubectl proxy ended with status 143"},
                {"printf %05000d 0; exec sleep 1000", "kubectl proxy ended with status 137"},
                {"exec /nonexistent/kubectl 2>/dev/null", "cannot run kubectl"},
        };
        struct kubectl *kubectl = NULL;
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                put_script(rows[i].then);
                assert_int_equal(kubectl_start(&(struct kubectl_flags){0}, &kubectl, &err), -EPIPE);
                assert_non_null(strstr(err.msg, rows[i].problem));
                assert_null(kubectl);
        }
        assert_int_equal(setenv("KUBECTL", "/nonexistent/kubectl", 1), 0);
        assert_int_equal(kubectl_start(&(struct kubectl_flags){0}, &kubectl, &err), -EPIPE);
        assert_non_null(strstr(err.msg, "KUBECTL must name it"));
        assert_int_equal(setenv("KUBECTL", script_path, 1), 0);

        assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
        assert_int_equal(kubectl_start(&(struct kubectl_flags){0}, &kubectl, &err), -ENOENT);
        assert_non_null(strstr(err.msg, "kubectl's socket: /nonexistent/plimsoll-"));
        assert_int_equal(setenv("TMPDIR", directory, 1), 0);
}

TEST(it_ends_later) {
        struct kubectl *kubectl = NULL;
        struct error err = ERROR_NULL;

        put_script(SERVES);
        assert_int_equal(kubectl_start(&(struct kubectl_flags){0}, &kubectl, &err), 0);
        _cleanup_(freep) char *text = read_all(pid_path);
        assert_int_equal(kill((pid_t)strtol(text, NULL, 10), SIGKILL), 0);
        while (kubectl_check(kubectl, &err) == 0)
                (void)usleep(1000);
        assert_string_equal(err.msg, "kubectl proxy ended with status 137");
        assert_int_equal(kubectl_check(kubectl, &err), -EPIPE);
        kubectl_free(kubectl);
}

TEST(several_words) {
        struct kubectl *kubectl = NULL;
        _cleanup_(freep) char *words = NULL;
        _cleanup_(freep) char *two = xasprintf(" %s  kubectl ", script_path);

        put_script(SERVES);
        assert_int_equal(setenv("KUBECTL", two, 1), 0);
        assert_int_equal(kubectl_start(&(struct kubectl_flags){0}, &kubectl, NULL), 0);
        words = read_all(words_path);
        assert_int_equal(strncmp(words, "kubectl\nproxy\n", strlen("kubectl\nproxy\n")), 0);
        kubectl_free(kubectl);
        assert_int_equal(setenv("KUBECTL", script_path, 1), 0);
}

TEST(namespace_of_the_context) {
        static const struct {
                const char *then, *namespace;
        } rows[] = {
                {"printf shop", "shop"},
                {"printf shop; exit 1", NULL},
                {"exit 0", NULL},
        };
        const struct kubectl_flags flags = {.context = "c"};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                put_script(rows[i].then);
                _cleanup_(freep) char *namespace = kubectl_namespace(&flags);
                if (!rows[i].namespace)
                        assert_null(namespace);
                else
                        assert_string_equal(namespace, rows[i].namespace);
        }
        _cleanup_(freep) char *words = read_all(words_path);
        assert_string_equal(words, "config\nview\n--minify\n"
                                   "--output=jsonpath={.contexts[0].context.namespace}\n"
                                   "--context=c\n");
}
