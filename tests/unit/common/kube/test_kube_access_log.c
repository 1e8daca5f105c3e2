/* What the log says about credentials that are not sent. */
#include "tests/unit/fixture/test.h"

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
                {"", false},
        };

        put_file("token", "t");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                capture_begin();
                struct kube_access *config = load("server: 'http://h'", rows[i].user);
                struct kube_credentials credentials = kube_access_credentials(config, 0);
                _cleanup_(freep) char *said = capture_end();
                assert_null(credentials.bearer);
                if ((strstr(said, "not sending credentials over plain HTTP") != NULL) !=
                    rows[i].has_secret)
                        fail_msg("row %zu: '%s'", i, said);
                kube_access_free(config);
        }
}
