/* Who we are: service account, kubeconfig files, credential plugins, rotated files. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "credential_files.h"
#include "kube/kube_access.h"

static struct kube_access *load(const struct kube_access_options *options) {
        struct kube_access *config = NULL;
        struct error err = ERROR_NULL;

        if (kube_access_load(options, &config, &err) < 0)
                fail_msg("%s", err.msg);
        return config;
}

/* When the test's time began; a plugin's run goes by the real one. */
static int64_t begin_mono_ms, begin_unix_ms;

static int ask_at(struct kube_access *config, int64_t at_ms, struct kube_credentials *ret,
                  struct error *err) {
        return kube_access_credentials(config, begin_mono_ms + at_ms, begin_unix_ms + at_ms, ret,
                                       err);
}

static struct kube_credentials credentials_at(struct kube_access *config, int64_t at_ms) {
        struct kube_credentials credentials;
        struct error err = ERROR_NULL;

        if (ask_at(config, at_ms, &credentials, &err) < 0)
                fail_msg("%s", err.msg);
        return credentials;
}

TEST_BETWEEN(in_cluster, set_up, tear_down) {
        struct kube_access_options options = {.service_account_directory = directory};

        put_file("token", "tok\n");
        put_file("ca.crt", PEM);
        put_file("namespace", "kube-system");
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
        assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "6443", 1), 0);
        struct kube_access *config = load(&options);
        assert_string_equal(kube_access_server(config), "https://[fd00::1]:6443");
        assert_string_equal(kube_access_namespace(config), "kube-system");
        struct kube_credentials credentials = credentials_at(config, 0);
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
        assert_non_null(strstr(err.msg, "no current-context"));
}

TEST_BETWEEN(servers, set_up, tear_down) {
        static const struct {
                const char *master;
                bool ok;
        } rows[] = {
                {"https://h", true},
                {"http://h:1/prefix//", true},
                {"HTTPS://[::1]:1", true},
                {"h:6443", false},
                {"ftp://h", false},
                {"https://", false},
                {"//", false},
                {"https://h\x7f", false},
                {"https:///x", false},
                {"https://:1", false},
                {"https://u:hunter2@h", false},
                {"https://h?x", false},
                {"https://h#x", false},
                {"https://h h", false},
                {"https://h\r\nX: y", false},
                {"u:hunter2@h:6443", false},
                {"ftp://u:hunter2@h", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct kube_access *config = NULL;
                struct error err = ERROR_NULL;
                int r = kube_access_load(&(struct kube_access_options){.master = rows[i].master},
                                         &config, &err);
                if ((r == 0) != rows[i].ok || strstr(err.msg, "hunter2"))
                        fail_msg("'%s' gave %d (%s)", rows[i].master, r, err.msg);
                if (r == 0)
                        assert_true(kube_access_server(
                                            config)[strlen(kube_access_server(config)) - 1] != '/');
                kube_access_free(config);
        }
}

/* Over plain http credentials reach the loopback and nobody else. */
TEST_BETWEEN(plain_http, set_up, tear_down) {
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
        _cleanup_(freep) char *text = document(SERVER, "token: t");
        _cleanup_(freep) char *path = write_file("config", text);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct kube_access *config = load(&(struct kube_access_options){
                        .kubeconfig = path, .master = rows[i].master});
                struct kube_credentials credentials = credentials_at(config, 0);
                if ((credentials.bearer != NULL) != rows[i].is_sent)
                        fail_msg("%s", rows[i].master);
                kube_access_free(config);
        }
}

TEST_BETWEEN(rotation, set_up, tear_down) {
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
        assert_string_equal(credentials_at(config, 1000).bearer, "one");
        put_file("token", "two");
        put_file("ca", "x" PEM);
        assert_string_equal(credentials_at(config, 1000 + SECRET_REREAD_MS - 1).bearer, "one");
        credentials = credentials_at(config, 1000 + SECRET_REREAD_MS);
        assert_string_equal(credentials.bearer, "two");
        assert_string_equal(credentials.tls.ca_pem, "x" PEM);
        assert_string_equal(credentials.tls.cert_pem, "x" PEM);
        assert_string_equal(credentials.tls.key_pem, "x" PEM);

        /* a 401 makes it look at once */
        put_file("token", "three");
        assert_string_equal(credentials_at(config, 61001).bearer, "two");
        kube_access_unauthorized(config);
        assert_string_equal(credentials_at(config, 61002).bearer, "three");

        /* gone, empty or evil: the old one is kept, and tried again soon */
        assert_int_equal(unlink(token), 0);
        assert_string_equal(credentials_at(config, 200000).bearer, "three");
        put_file("token", "a\r\nb");
        assert_string_equal(credentials_at(config, 200000 + SECRET_RETRY_MS).bearer, "three");
        put_file("token", "four");
        assert_string_equal(credentials_at(config, 200000 + SECRET_RETRY_MS).bearer, "three");
        assert_string_equal(credentials_at(config, 200000 + 2 * SECRET_RETRY_MS).bearer, "four");
        kube_access_free(config);
}

static void on_news(void *userdata) {
        loop_stop(userdata);
}

/* As credentials_at(), after the plugin that is begun there has ended. */
static struct kube_credentials renewed_at(struct kube_access *config, struct loop *loop,
                                          int64_t at_ms) {
        struct kube_credentials credentials;
        struct error err = ERROR_NULL;

        assert_int_equal(ask_at(config, at_ms, &credentials, &err), -EINPROGRESS);
        assert_non_null(strstr(err.msg, "is still running"));
        loop_run(loop);
        return credentials_at(config, at_ms);
}

/* What a plugin prints whose credential is good for so long. */
static void put_plugin(const char *token, int64_t seconds) {
        char expires[32];
        time_t at = time(NULL) + seconds;
        struct tm utc;

        assert_non_null(gmtime_r(&at, &utc));
        assert_true(strftime(expires, sizeof(expires), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0);
        _cleanup_(freep) char *script = xasprintf(
                "#!/bin/sh\nprintf '%%s' '" CREDENTIAL(
                        "\"token\":\"%s\",\"expirationTimestamp\":\"%s\"") "'\n",
                token, expires);
        put_script("plugin", script);
}

/* Run when there is none, a while before it expires and after a 401; a failure is not repeated at
 * once. Nobody waits for it. */
TEST_BETWEEN(exec_renewal, set_up, tear_down) {
        _cleanup_(freep) char *text = document(
                SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}");
        _cleanup_(freep) char *path = write_file("config", text);
        struct kube_credentials credentials;
        struct error err = ERROR_NULL;

        put_script("plugin", "#!/bin/sh\nexit 1\n");
        struct kube_access *config = load(&(struct kube_access_options){.kubeconfig = path});
        struct loop *loop = loop_new();
        begin_mono_ms = clock_mono_ms();
        begin_unix_ms = clock_wall_unix_ms();
        kube_access_attach(config, loop, on_news, loop);
        assert_int_equal(ask_at(config, 0, &credentials, &err), -EINPROGRESS);
        loop_run(loop);
        put_plugin("t1", 400);
        assert_int_equal(ask_at(config, 1000, &credentials, &err), -EPROTO);
        assert_non_null(strstr(err.msg, "exit status 1"));
        assert_string_equal(renewed_at(config, loop, 50000).bearer, "t1");

        /* While it lasts it serves, with a plugin under way that may hang, as here. */
        put_script("plugin", "#!/bin/sh\nexec sleep 1000\n");
        assert_string_equal(credentials_at(config, 330000).bearer, "t1");
        assert_string_equal(credentials_at(config, 350000).bearer, "t1");
        assert_string_equal(credentials_at(config, 390000).bearer, "t1");
        assert_int_equal(ask_at(config, 410000, &credentials, &err), -EINPROGRESS);
        kube_access_detach(config); /* ends it */

        kube_access_attach(config, loop, on_news, loop);
        put_script("plugin", "#!/bin/sh\nprintf '%s' '" CREDENTIAL("\"token\":\"t2\"") "'\n");
        assert_string_equal(renewed_at(config, loop, 410000).bearer, "t2");

        put_script("plugin", "#!/bin/sh\nprintf '%s' '" CREDENTIAL(
                                     "\"clientCertificateData\":\"" PEM_JSON
                                     "\",\"clientKeyData\":\"" PEM_JSON "\"") "'\n");
        assert_string_equal(credentials_at(config, 500000).bearer, "t2");
        kube_access_unauthorized(config);
        credentials = renewed_at(config, loop, 500000);
        assert_null(credentials.bearer);
        assert_non_null(credentials.tls.cert_pem);
        assert_non_null(credentials.tls.key_pem);

        /* A handshake that failed is no reason to wait, though the certificate may be the cause. */
        put_plugin("t3", 1000);
        assert_non_null(credentials_at(config, 590000).tls.cert_pem);
        kube_access_handshake_failed(config);
        assert_non_null(credentials_at(config, 590000).tls.cert_pem);
        loop_run(loop);
        assert_string_equal(credentials_at(config, 590000).bearer, "t3");
        put_script("plugin", "#!/bin/sh\nprintf '%s' '" CREDENTIAL(
                                     "\"clientCertificateData\":\"" PEM_JSON
                                     "\",\"clientKeyData\":\"" PEM_JSON "\"") "'\n");
        kube_access_unauthorized(config);
        credentials = renewed_at(config, loop, 596000);
        assert_non_null(credentials.tls.cert_pem);

        /* the old one is kept while the plugin fails */
        put_script("plugin", "#!/bin/sh\nexit 1\n");
        kube_access_unauthorized(config);
        assert_int_equal(ask_at(config, 600000, &credentials, &err), -EINPROGRESS);
        loop_run(loop);
        assert_non_null(credentials_at(config, 2000).tls.cert_pem);
        kube_access_detach(config);
        kube_access_free(config);
        loop_free(loop);
        begin_mono_ms = begin_unix_ms = 0;
}

/* What kubectl's flags say is in force, whatever the file has. */
TEST_BETWEEN(overrides, set_up, tear_down) {
        _cleanup_(freep) char *text = document(SERVER ", certificate-authority-data: " PEM_BASE64,
                                               "token: mine, client-certificate-data: " PEM_BASE64
                                               ", client-key-data: " PEM_BASE64);
        _cleanup_(freep) char *path = path_of("config");
        _cleanup_(freep) char *ca_file = path_of("ca.crt");
        struct kube_access_options options = {.kubeconfig = path};
        static const char *const groups[] = {"ops", "system:authenticated"};

        put_file("config", text);
        put_file("ca.crt", PEM);
        struct kube_access *config = load(&options);
        struct kube_credentials credentials = credentials_at(config, 0);
        assert_non_null(credentials.tls.cert_pem);
        assert_null(credentials.impersonation);
        kube_access_free(config);

        options.token = "other";
        options.is_insecure = true;
        options.as = "jane";
        options.as_groups = groups;
        options.as_group_count = ARRAY_LEN(groups);
        config = load(&options);
        credentials = credentials_at(config, 0);
        assert_string_equal(credentials.bearer, "other");
        assert_null(credentials.tls.cert_pem);
        assert_null(credentials.tls.ca_pem);
        assert_true(credentials.tls.is_insecure);
        assert_string_equal(credentials.impersonation[0], "Impersonate-User: jane");
        assert_string_equal(credentials.impersonation[2],
                            "Impersonate-Group: system:authenticated");
        assert_null(credentials.impersonation[3]);
        kube_access_free(config);

        options = (struct kube_access_options){.kubeconfig = path, .ca_file = ca_file};
        config = load(&options);
        assert_string_equal(credentials_at(config, 0).tls.ca_pem, PEM);
        kube_access_free(config);
}

/* Who a kubeconfig says that we act as; flags replace what they name. */
TEST_BETWEEN(impersonation_of_the_kubeconfig, set_up, tear_down) {
        static const char *const groups[] = {"ops"};
        static const struct {
                const char *user;
                struct kube_access_options options;
                const char *lines; /* or the problem */
        } rows[] = {
                {"as: jane, as-uid: '7', as-groups: [dev, ops], "
                 "as-user-extra: {scopes: [view, list], 'a/b c%': [x]}",
                 {0},
                 "Impersonate-User: jane;Impersonate-Uid: 7;Impersonate-Group: dev;"
                 "Impersonate-Group: ops;Impersonate-Extra-scopes: view;"
                 "Impersonate-Extra-scopes: list;Impersonate-Extra-a%2Fb%20c%25: x;"},
                {"as: jane, as-groups: [dev]",
                 {.as = "joe"},
                 "Impersonate-User: joe;Impersonate-Group: dev;"},
                {"as: jane, as-groups: [dev]",
                 {.as_groups = groups, .as_group_count = 1},
                 "Impersonate-Group: ops;Impersonate-User: jane;"},
                {"as: jane, token: mine", {.token = "t"}, "Impersonate-User: jane;"},
                {"as: jane, as-user-extra: null, as-groups: ['1', '2', '3', '4', '5', '6', '7', "
                 "'8']",
                 {0},
                 "Impersonate-User: jane;Impersonate-Group: 1;Impersonate-Group: 2;"
                 "Impersonate-Group: 3;Impersonate-Group: 4;Impersonate-Group: 5;"
                 "Impersonate-Group: 6;Impersonate-Group: 7;Impersonate-Group: 8;"},
                {"as-groups: [dev]",
                 {.as = "joe"},
                 "Impersonate-User: joe;Impersonate-Group: dev;"},
                {"as-groups: [dev]", {0}, "the kubeconfig's impersonation needs --as"},
                {"as: ''", {.as_groups = groups, .as_group_count = 1}, "--as-group needs --as"},
                {"as: jane, as-groups: ['']", {0}, "Impersonate-Group: an empty name"},
                {"as: \"j\\r\\nX: y\"", {0}, "Impersonate-User: the name has a control"},
                {"as: [jane, joe]", {0}, "user u: as: not a string"},
                {"as: jane, as-groups: [[x]]", {0}, "as-groups: contains something other"},
                {"as: jane, as-user-extra: [x]", {0}, "as-user-extra: not a mapping"},
                {"as: jane, as-user-extra: {a: [[x]]}", {0}, "as-user-extra: contains"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = document(SERVER, rows[i].user);
                _cleanup_(freep) char *path = write_file("config", text);
                _cleanup_(kube_access_freep) struct kube_access *config = NULL;
                _cleanup_(buf_done) struct buf lines = BUF_INIT(4096);
                struct kube_access_options options = rows[i].options;
                struct error err = ERROR_NULL;
                options.kubeconfig = path;
                if (kube_access_load(&options, &config, &err) == 0)
                        for (const char *const *line = credentials_at(config, 0).impersonation;
                             *line; line++)
                                (void)buf_printf(&lines, "%s;", *line);
                else if (strstr(err.msg, rows[i].lines))
                        (void)buf_puts(&lines, rows[i].lines);
                else
                        (void)buf_puts(&lines, err.msg);
                assert_string_equal(lines.data, rows[i].lines);
        }
}

TEST_BETWEEN(overrides_that_are_refused, set_up, tear_down) {
        static const char *const groups[KUBE_ACCESS_MAX_LINES] = {"ops", "x\r\nX-Evil: 1"};
        static const struct {
                struct kube_access_options options;
                const char *problem;
        } rows[] = {
                {{.is_insecure = true, .ca_file = "x"}, "contradicts"},
                {{.ca_file = "/nonexistent"}, "/nonexistent"},
                {{.token = "a b"}, "--token"},
                {{.as = ""}, "an empty name"},
                {{.as = "a\nb"}, "control character"},
                {{.as = "a\x7f"}, "control character"},
                {{.as_groups = groups, .as_group_count = 1}, "needs --as"},
                {{.as = "a", .as_groups = groups, .as_group_count = 2}, "control character"},
        };
        const char *many[KUBE_ACCESS_MAX_LINES];

        for (size_t i = 0; i < ARRAY_LEN(rows) + 1; i++) {
                struct kube_access_options options = {
                        .as = "a", .as_groups = many, .as_group_count = ARRAY_LEN(many)};
                const char *problem = "more than 32 names";
                struct kube_access *config = NULL;
                struct error err = ERROR_NULL;
                if (i < ARRAY_LEN(rows)) {
                        options = rows[i].options;
                        problem = rows[i].problem;
                }
                for (size_t j = 0; j < ARRAY_LEN(many); j++)
                        many[j] = "ops";
                options.master = "https://h:6443";
                options.service_account_directory = directory;
                assert_true(kube_access_load(&options, &config, &err) < 0);
                if (!strstr(err.msg, problem))
                        fail_msg("row %zu: %s", i, err.msg);
        }
}

/* Of the kubeconfig, or for who heeds it, of the environment, as Go reads it. */
TEST_BETWEEN(proxies, set_up, tear_down) {
        static const struct {
                const char *server, *proxy_url, *variable; /* "NAME=value" */
                bool heeds_environment;
                const char *proxy;
        } rows[] = {
                {"https://h", "http://u:p@p:3128", NULL, false, "http://u:p@p:3128"},
                {"https://h", "http://p", "HTTPS_PROXY=http://q", true, "http://p"},
                {"https://h", "socks5://p:1080", NULL, false, "socks5h://p:1080"},
                {"https://127.0.0.1", "http://p", NULL, true, "http://p"},
                {"https://h", NULL, "HTTPS_PROXY=http://p", true, "http://p"},
                {"https://h", NULL, "https_proxy=p:3128", true, "p:3128"},
                {"https://h", NULL, "HTTP_PROXY=http://p", true, NULL},
                {"http://h", NULL, "HTTP_PROXY=http://p", true, "http://p"},
                {"https://h", NULL, "HTTPS_PROXY=http://p", false, NULL},
                {"https://127.1.2.3:6443", NULL, "HTTPS_PROXY=http://p", true, NULL},
                {"https://localhost", NULL, "HTTPS_PROXY=http://p", true, NULL},
                {"https://[::1]:6443", NULL, "HTTPS_PROXY=http://p", true, NULL},
                {"https://h", NULL, "HTTPS_PROXY=", true, NULL},
        };

        assert_int_equal(setenv("NO_PROXY", "x.test", 1), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                static const char *const names[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
                                                    "http_proxy"};
                for (size_t j = 0; j < ARRAY_LEN(names); j++)
                        assert_int_equal(unsetenv(names[j]), 0);
                for (size_t j = 0; j < ARRAY_LEN(names); j++) {
                        size_t len = strlen(names[j]);
                        const char *variable = rows[i].variable;
                        if (variable && strncmp(variable, names[j], len) == 0)
                                assert_int_equal(setenv(names[j], variable + len + 1, 1), 0);
                }
                _cleanup_(freep) char *cluster = xasprintf(
                        "server: '%s', proxy-url: '%s'", rows[i].server,
                        rows[i].proxy_url ? rows[i].proxy_url : "");
                _cleanup_(freep) char *text = document(cluster, "token: t");
                _cleanup_(freep) char *path = write_file("config", text);
                _cleanup_(kube_access_freep) struct kube_access *config = load(
                        &(struct kube_access_options){.kubeconfig = path,
                                                      .is_as_kubectl = rows[i].heeds_environment});
                struct kube_credentials credentials = credentials_at(config, 0);
                assert_string_equal(credentials.proxy ? credentials.proxy : "none",
                                    rows[i].proxy ? rows[i].proxy : "none");
                bool is_of_environment = rows[i].proxy && !rows[i].proxy_url;
                assert_string_equal(is_of_environment ? credentials.no_proxy : "x.test", "x.test");
                if (rows[i].proxy_url)
                        assert_null(credentials.no_proxy);
        }
        assert_int_equal(unsetenv("NO_PROXY"), 0);
}

/* A proxy is not the loopback: it would see what is sent in the clear. */
TEST_BETWEEN(no_secrets_through_a_proxy, set_up, tear_down) {
        _cleanup_(freep) char *text = document(
                "server: 'http://127.0.0.1:8001', proxy-url: 'http://p'", "token: secret");
        _cleanup_(freep) char *path = write_file("config", text);

        _cleanup_(kube_access_freep) struct kube_access *config = load(
                &(struct kube_access_options){.kubeconfig = path});
        assert_null(credentials_at(config, 0).bearer);
}

TEST_BETWEEN(nothing_found, set_up, tear_down) {
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
        assert_string_equal(credentials_at(config, 0).bearer, "home");
        kube_access_free(config);

        /* and in a pod the last but one, or as with kubectl, the first */
        put_file("token", "pod");
        put_file("ca.crt", PEM);
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
        assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
        config = load(&options);
        assert_string_equal(credentials_at(config, 0).bearer, "pod");
        kube_access_free(config);
        options.is_as_kubectl = true;
        config = load(&options);
        assert_string_equal(credentials_at(config, 0).bearer, "home");
        assert_false(kube_access_is_in_cluster(config));
        kube_access_free(config);
        _cleanup_(freep) char *path = path_of(".kube/config");
        assert_int_equal(unlink(path), 0);
        config = load(&options);
        assert_true(kube_access_is_in_cluster(config));
        kube_access_free(config);
}
