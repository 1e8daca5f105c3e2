/* Who we are: service account, kubeconfig, proxy, rotated files. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "credential_files.h"
#include "kube/kube_access.h"
#include "kube/secret.h"
#include "tests/unit/fixture/captured_log.h"
#include "tests/unit/fixture/rows.h"

static struct kube_access *load(const struct kube_access_options *options) {
        struct kube_access *config = NULL;
        struct error err = ERROR_NULL;

        if (kube_access_load(options, &config, &err) < 0)
                fail_msg("%s", err.msg);
        return config;
}

TEST_BETWEEN(in_cluster, set_up, remove_directory) {
        struct kube_access_options options = {.service_account_directory = directory};

        put_file("token", "tok\n");
        put_file("ca.crt", PEM);
        put_file("namespace", "kube-system");
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
        assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "6443", 1), 0);
        struct kube_access *config = load(&options);
        assert_string_equal(kube_access_server(config), "https://[fd00::1]:6443");
        assert_string_equal(kube_access_namespace(config), "kube-system");
        struct kube_credentials credentials = kube_access_credentials(config, 0);
        assert_string_equal(credentials.bearer, "tok");
        assert_string_equal(credentials.tls.ca_pem, PEM);
        kube_access_free(config);

        /* --master goes before; without the namespace file it is the default one */
        put_file("namespace", "");
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
        options.master = "https://example:1/";
        config = load(&options);
        assert_string_equal(kube_access_server(config), "https://example:1");
        assert_string_equal(kube_access_namespace(config), "default");
        kube_access_free(config);
        options.master = NULL;

        static const struct {
                const char *host, *port, *problem;
                int code;
        } rows[] = {
                {"10.0.0.1", "0x10", "'0x10': not a port", -EINVAL},
                {"10.0.0.1", "0", "'0': not a port", -EINVAL},
                {"10.0.0.1", "65536", "'65536': not a port", -EINVAL},
                {"10.0.0.1", "", "not in a pod", -ENOENT},
                {"", "443", "not in a pod", -ENOENT},
        };
        struct error err = ERROR_NULL;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", rows[i].host, 1), 0);
                assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", rows[i].port, 1), 0);
                assert_int_equal(kube_access_load(&options, &config, &err), rows[i].code);
                assert_non_null(strstr(err.msg, rows[i].problem));
        }
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
        assert_int_equal(unsetenv("KUBERNETES_SERVICE_PORT"), 0);
        assert_int_equal(kube_access_load(&options, &config, &err), -ENOENT);
        assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);

        /* A token that cannot be looked at is not one that isn't there. */
        _cleanup_(freep) char *no_directory = path_of("ca.crt");
        options.service_account_directory = no_directory;
        assert_int_equal(kube_access_load(&options, &config, &err), -ENOTDIR);
        options.service_account_directory = directory;

        put_file("ca.crt", "no PEM");
        assert_int_equal(kube_access_load(&options, &config, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "ca.crt"));

        /* a pod without a token: the other ways are still open */
        _cleanup_(freep) char *token = path_of("token");
        assert_int_equal(unlink(token), 0);
        assert_int_equal(kube_access_load(&options, &config, &err), -ENOENT);
        assert_non_null(strstr(err.msg, "no service account token"));
        _cleanup_(freep) char *kubeconfig = write_file("kc", "x: y\n");
        assert_int_equal(setenv("KUBECONFIG", kubeconfig, 1), 0);
        assert_int_equal(kube_access_load(&options, &config, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "current-context: expected a context"));
}

/* The first file with a context, or with an entry of a name, decides; absent files do not count. */
TEST_BETWEEN(several_kubeconfigs, set_up, remove_directory) {
        static const char second[] =
                "current-context: two\n"
                "contexts: [{name: one, context: {cluster: k, user: u}}]\n"
                "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority: ca}}]\n"
                "users: [{name: u, user: {tokenFile: token}}]\n";
        _cleanup_(freep) char *one = write_file("one", "current-context: one\n"
                                                       "users: [{name: u, user: {token: t}}]\n");
        _cleanup_(freep) char *two = write_file("two", second);
        _cleanup_(freep) char *none = path_of("none");
        _cleanup_(freep) char *both = xasprintf("%s:%s::%s", none, one, two);
        _cleanup_(freep) char *absent = xasprintf("%s:%s", none, none);
        const struct {
                const char *list, *problem;
        } rows[] = {
                {both, NULL},
                {two, "contexts: no context named 'two'"},
                {one, "contexts: no context named 'one'"},
                {absent, "No such file"},
                {":", "KUBECONFIG names no file"},
        };

        put_file("ca", PEM);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(kube_access_freep) struct kube_access *access = NULL;
                struct error err = ERROR_NULL;
                assert_int_equal(setenv("KUBECONFIG", rows[i].list, 1), 0);
                int r = kube_access_load(&(struct kube_access_options){0}, &access, &err);
                if ((r == 0) != !rows[i].problem ||
                    (rows[i].problem && !strstr(err.msg, rows[i].problem)))
                        fail_msg("%s: %d (%s)", rows[i].list, r, err.msg);
                if (r < 0)
                        continue;
                struct kube_credentials credentials = kube_access_credentials(access, 0);
                assert_string_equal(kube_access_server(access), "https://k");
                assert_string_equal(credentials.bearer, "t");
                assert_string_equal(credentials.tls.ca_pem, PEM);
        }
}

static void show_server(const char *text, size_t len, struct buf *out) {
        struct kube_access *config = NULL;
        struct error err = ERROR_NULL;

        if (kube_access_load(&(struct kube_access_options){.master = text}, &config, &err) == 0) {
                const char *server = kube_access_server(config);
                assert_true(server[strlen(server) - 1] != '/');
        }
        buf_puts(out, err.msg);
        kube_access_free(config);
}

TEST_BETWEEN(servers, set_up, remove_directory) {
        rows_check("servers.tsv", show_server);
}

/* Over plain http credentials reach the loopback and nobody else; the log says of whom they are
 * held back. */
TEST_BETWEEN(plain_http, set_up, remove_directory) {
        static const struct {
                const char *master;
                bool is_sent;
        } rows[] = {
                {"https://10.0.0.1", true},
                {"http://127.0.0.1:8001", true},
                {"http://127.9.9.9", true},
                {"http://[::1]:1/x", true},
                {"http://localhost:1", true},
                {"http://10.0.0.1", false},
                {"http://localhost.evil", false},
                {"http://127.0.0.1.evil:1", false},
                {"http://[fd00::1]", false},
                {"http://1270.0.0.1", false},
                {"http://[0:0:1::1]", false},
                {"http://[::1:0:0]", false},
                {"http://[::2]", false},
                {"http://[localhost]", false},
                {"http://localhost-localhost-localhost-localhost-localhost", false},
        };
        static const struct {
                const char *user;
                bool has_secret;
        } users[] = {{"token: t", true}, {"tokenFile: token", true}, {"", false}};

        put_file("token", "t");
        for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(users); i++) {
                const char *user = users[i / ARRAY_LEN(rows)].user;
                const char *master = rows[i % ARRAY_LEN(rows)].master;
                bool has_secret = users[i / ARRAY_LEN(rows)].has_secret;
                bool is_sent = has_secret && rows[i % ARRAY_LEN(rows)].is_sent;
                _cleanup_(freep) char *text = document(SERVER, user);
                _cleanup_(freep) char *path = write_file("config", text);

                capture_begin();
                struct kube_access *config = load(
                        &(struct kube_access_options){.kubeconfig = path, .master = master});
                struct kube_credentials credentials = kube_access_credentials(config, 0);
                _cleanup_(freep) char *said = capture_end();
                bool is_told = strstr(said, "not sending credentials over plain HTTP");
                if ((credentials.bearer != NULL) != is_sent || is_told != (has_secret && !is_sent))
                        fail_msg("%s, %s: '%s'", master, user, said);
                kube_access_free(config);
        }
}

TEST_BETWEEN(rotation, set_up, remove_directory) {
        _cleanup_(freep) char *text = document(SERVER ", certificate-authority: ca",
                                               "tokenFile: token, client-certificate: ca, "
                                               "client-key: ca");
        _cleanup_(freep) char *path = write_file("config", text);
        _cleanup_(freep) char *token = write_file("token", "one\n");
        struct kube_access *config = NULL;
        struct error err = ERROR_NULL;
        struct kube_credentials credentials;

        assert_int_equal(
                kube_access_load(&(struct kube_access_options){.kubeconfig = path}, &config, &err),
                -ENOENT); /* no CA file */
        put_file("ca", PEM);
        config = load(&(struct kube_access_options){.kubeconfig = path});
        assert_string_equal(kube_access_credentials(config, 1000).bearer, "one");
        put_file("token", "two");
        put_file("ca", "x" PEM);
        assert_string_equal(kube_access_credentials(config, 1000 + SECRET_REREAD_MS - 1).bearer,
                            "one");
        credentials = kube_access_credentials(config, 1000 + SECRET_REREAD_MS);
        assert_string_equal(credentials.bearer, "two");
        assert_string_equal(credentials.tls.ca_pem, "x" PEM);
        assert_string_equal(credentials.tls.cert_pem, "x" PEM);
        assert_string_equal(credentials.tls.key_pem, "x" PEM);

        /* a 401 makes it look at once */
        put_file("token", "three");
        assert_string_equal(kube_access_credentials(config, 61001).bearer, "two");
        kube_access_unauthorized(config);
        assert_string_equal(kube_access_credentials(config, 61002).bearer, "three");

        /* gone, empty or evil: the old one is kept, and tried again soon */
        assert_int_equal(unlink(token), 0);
        assert_string_equal(kube_access_credentials(config, 200000).bearer, "three");
        put_file("token", "a\r\nb");
        assert_string_equal(kube_access_credentials(config, 200000 + SECRET_RETRY_MS).bearer,
                            "three");
        put_file("token", "four");
        assert_string_equal(kube_access_credentials(config, 200000 + SECRET_RETRY_MS).bearer,
                            "three");
        assert_string_equal(kube_access_credentials(config, 200000 + 2 * SECRET_RETRY_MS).bearer,
                            "four");
        kube_access_free(config);
}

TEST_BETWEEN(nothing_found, set_up, remove_directory) {
        struct kube_access *config = NULL;
        struct error err = ERROR_NULL;
        struct kube_access_options options = {.service_account_directory = directory};

        assert_int_equal(kube_access_load(&options, &config, &err), -ENOENT);
        assert_non_null(strstr(err.msg, "--kubeconfig"));
        assert_null(config);
        /* What is empty is not set. */
        options.kubeconfig = options.master = "";
        assert_int_equal(setenv("KUBECONFIG", "", 1), 0);
        assert_int_equal(setenv("HOME", "", 1), 0);
        assert_int_equal(kube_access_load(&options, &config, &err), -ENOENT);
        options.kubeconfig = options.master = NULL;
        /* A file whose cluster says nothing, and nobody else does. */
        _cleanup_(freep) char *nowhere = document("", "token: t");
        _cleanup_(freep) char *nowhere_path = write_file("nowhere", nowhere);
        options.kubeconfig = nowhere_path;
        assert_int_equal(kube_access_load(&options, &config, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "has no server"));
        options.kubeconfig = NULL;

        /* ~/.kube/config is the last resort */
        _cleanup_(freep) char *kube = path_of(".kube");
        _cleanup_(freep) char *text = document(SERVER, "token: home");
        assert_int_equal(mkdir(kube, 0700), 0);
        put_file(".kube/config", text);
        assert_int_equal(setenv("HOME", directory, 1), 0);
        config = load(&options);
        assert_string_equal(kube_access_credentials(config, 0).bearer, "home");
        kube_access_free(config);

        /* and in a pod the last but one; a command that somebody has started prefers it */
        put_file("token", "pod");
        put_file("ca.crt", PEM);
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
        assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
        config = load(&options);
        assert_string_equal(kube_access_credentials(config, 0).bearer, "pod");
        kube_access_free(config);
        assert_int_equal(kube_access_load_in_pod(&config, &err), -EEXIST);
        assert_non_null(strstr(err.msg, ".kube/config"));
        _cleanup_(freep) char *path = path_of(".kube/config");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(kube_access_load_in_pod(&config, &err), -ENOENT);
        assert_non_null(strstr(err.msg, "no service account token"));
}

/* A proxy adds the credentials: we send none, wherever it leads. */
TEST(proxy) {
        _cleanup_(kube_access_freep) struct kube_access *config = kube_access_of_proxy("/d/s");
        struct kube_credentials credentials = kube_access_credentials(config, 0);

        assert_string_equal(kube_access_server(config), "http://localhost");
        assert_string_equal(kube_access_namespace(config), "default");
        assert_string_equal(credentials.unix_socket, "/d/s");
        assert_null(credentials.bearer);
}
