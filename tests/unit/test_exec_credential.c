/* Credential plugins: what they are told, what they say, how they are ended. */
#include "cmocka_wrap.h"

#include <errno.h>
#include <signal.h>

#include "credential_files.h"
#include "kube/exec_credential.h"

static void test_exec_credential(void **state) {
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
                {CREDENTIAL(""), -1},
                {"{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":"
                 "\"ExecCredential\",\"status\":{\"token\":\"t\"}}",
                 -1},
                {"{\"kind\":\"Pod\"}", -1},
                {"", -1},
                {"secret-token", -1},
        };

        (void)state;
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
        struct exec_plugin *plugin = exec_plugin_new();

        plugin->api_version = xstrdup("client.authentication.k8s.io/v1");
        plugin->command = xstrdup("sh");
        plugin->arguments = xcalloc(3, sizeof(char *));
        plugin->arguments[0] = xstrdup("-c");
        plugin->arguments[1] = xstrdup(script);
        return plugin;
}

static void test_exec_failures(void **state) {
        static const struct {
                const char *script;
                int64_t timeout_ms;
                int code;
                const char *problem;
        } rows[] = {
                {"exit 3", 10000, -EPROTO, "exit status 3"},
                {"kill -9 $$", 10000, -EPROTO, "signal 9"},
                {"echo no", 10000, -EINVAL, "no JSON"},
                {"exec sleep 100", 50, -ETIMEDOUT, "killed"},
                {"sleep 100 & wait", 50, -ETIMEDOUT, "killed"}, /* its children too */
                {"exec sleep 100 >&-", 50, -ETIMEDOUT, "killed"},
                {"exec yes", 10000, -EFBIG, "printed more"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exec_plugin *plugin = plugin_new(rows[i].script);
                struct exec_credential credential = {0};
                struct error err = ERROR_NULL;
                int r = exec_plugin_run(plugin, rows[i].timeout_ms, &credential, &err);
                if (r != rows[i].code || !strstr(err.msg, rows[i].problem) ||
                    !strstr(err.msg, "plugin sh"))
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
                exec_plugin_free(plugin);
        }

        struct exec_plugin *plugin = plugin_new("");
        struct exec_credential credential = {0};
        struct error err = ERROR_NULL;
        free(plugin->command);
        plugin->command = xstrdup("/nonexistent/plugin");
        plugin->install_hint = xstrdup("install it so");
        assert_int_equal(exec_plugin_run(plugin, 1000, &credential, &err), -ENOENT);
        assert_non_null(strstr(err.msg, "install it so"));
        exec_plugin_free(plugin);
}

/* What the plugin is told, and that a child of it which stays does not hold us up. */
static void test_exec_surroundings(void **state) {
        struct exec_plugin *plugin = plugin_new("");
        struct exec_credential credential = {0};
        struct error err = ERROR_NULL;

        (void)state;
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
        if (exec_plugin_run(plugin, 10000, &credential, &err) < 0)
                fail_msg("%s", err.msg);
        assert_string_equal(credential.token, "t");
        exec_credential_done(&credential);
        exec_plugin_free(plugin);

        FILE *file = fopen(pid_path, "re");
        int pid = 0;
        assert_non_null(file);
        assert_int_equal(fscanf(file, "%d", &pid), 1);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_exec_credential),
                cmocka_unit_test(test_exec_failures),
                cmocka_unit_test_setup_teardown(test_exec_surroundings, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
