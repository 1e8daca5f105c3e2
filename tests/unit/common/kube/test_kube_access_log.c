/* What the log says of credentials that are not sent, or cannot be had. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/clock.h"
#include "credential_files.h"
#include "kube/kube_access.h"
#include "tests/unit/fixture/captured_log.h"

static struct kube_access *load(const char *cluster, const char *user) {
        _cleanup_(freep) char *text = document(cluster, user);
        _cleanup_(freep) char *path = write_file("config", text);
        struct kube_access *config = NULL;
        struct error err = ERROR_NULL;

        if (kube_access_load(&(struct kube_access_options){.kubeconfig = path}, &config, &err) < 0)
                fail_msg("%s", err.msg);
        return config;
}

/* No user's secret goes over plain HTTP; whose is held back is logged. */
TEST_BETWEEN(plain_http, set_up, tear_down) {
        static const struct {
                const char *user;
                bool has_secret;
        } rows[] = {
                {"tokenFile: token", true},
                {"token: t", true},
                {"username: u, password: p", true},
                {"exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false'}", true},
                {"", false},
        };

        put_file("token", "t");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct kube_credentials credentials;
                capture_begin();
                struct kube_access *config = load("server: 'http://h'", rows[i].user);
                int r = kube_access_credentials(config, 0, 0, &credentials, NULL);
                _cleanup_(freep) char *said = capture_end();
                assert_int_equal(r, 0);
                assert_null(credentials.bearer);
                assert_null(credentials.basic_auth);
                if ((strstr(said, "not sending credentials over plain HTTP") != NULL) !=
                    rows[i].has_secret)
                        fail_msg("row %zu: '%s'", i, said);
                kube_access_free(config);
        }
}

static void on_news(void *userdata) {
        loop_stop(userdata);
}

/* Each failure in a row doubles the pause, up to a minute. One line says so, and one that it ended.
 */
TEST_BETWEEN(plugin_fails, set_up, tear_down) {
        static const int64_t pauses_ms[] = {5000, 10000, 20000, 40000, 60000, 60000};
        enum { LATE_MS = 19000 }; /* than the test's time; less than to the next double */
        struct kube_credentials credentials;

        put_script("plugin", "#!/bin/sh\nexit 1\n");
        struct kube_access *config = load(
                SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}");
        struct loop *loop = loop_new();
        int64_t begin_ms = clock_mono_ms();
        kube_access_attach(config, loop, on_news, loop);
        capture_begin();
        for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
                int64_t now_ms = begin_ms + (i == 0 ? 0 : pauses_ms[i - 1] + LATE_MS);
                assert_int_equal(kube_access_credentials(config, now_ms, 0, &credentials, NULL),
                                 -EINPROGRESS);
                loop_run(loop);
                now_ms = begin_ms + pauses_ms[i] - 1;
                assert_int_equal(kube_access_credentials(config, now_ms, 0, &credentials, NULL),
                                 -EPROTO);
        }
        put_script("plugin",
                   "#!/bin/sh\necho hello >&2; printf '%s' '" CREDENTIAL("\"token\":\"t\"") "'\n");
        assert_int_equal(
                kube_access_credentials(config, begin_ms + 60000 + LATE_MS, 0, &credentials, NULL),
                -EINPROGRESS);
        loop_run(loop);
        _cleanup_(freep) char *said = capture_end();
        assert_int_equal(kube_access_credentials(config, begin_ms, 0, &credentials, NULL), 0);
        assert_string_equal(credentials.bearer, "t");
        const char *failed = strstr(said, "credential plugin failed");
        assert_non_null(failed);
        assert_null(strstr(failed + 1, "credential plugin failed"));
        assert_non_null(strstr(failed, "credential plugin works again"));
        assert_non_null(strstr(failed, "credential plugin wrote to stderr"));
        kube_access_detach(config);
        kube_access_free(config);
        loop_free(loop);
}
