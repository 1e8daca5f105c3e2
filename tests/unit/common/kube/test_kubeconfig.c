/* The kubeconfig format: what is read, merged, chosen and refused. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/buf.h"
#include "credential_files.h"
#include "kube/kubeconfig.h"

#define EXEC(rest) "exec: {apiVersion: client.authentication.k8s.io/v1, command: x" rest "}"

#define WORDS_16 "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
#define WORDS_64 WORDS_16 WORDS_16 WORDS_16 WORDS_16
#define WORDS_256 WORDS_64 WORDS_64 WORDS_64 WORDS_64

TEST(kubeconfig_errors) {
        static const struct {
                const char *cluster, *user;
                const char *problem; /* NULL: fine */
        } rows[] = {
                {SERVER, "token: t", NULL},
                {SERVER, "", NULL},
                {SERVER ", extensions: [{name: x}], disable-compression: true", "token: t", NULL},
                {SERVER ", proxy-url: ''", "as: null, as-groups: []", NULL},
                {SERVER ", proxy-url: 'http://p'", "", NULL},
                {SERVER ", proxy-url: 'SOCKS5://u:p@p:1080'", "", NULL},
                {SERVER ", proxy-url: 'p:3128'", "", "line 7: cluster k: proxy-url: must begin"},
                {SERVER ", certificate-authority-data: '*'", "", "certificate-authority-data"},
                {SERVER ", certificate-authority-data: aGVsbG8=", "", "PEM"},
                {SERVER ", certificate-authority-data: " PEM_BASE64, "", NULL},
                {SERVER ", insecure-skip-tls-verify: true, certificate-authority: x", "",
                 "contradicts"},
                {SERVER ", insecure-skip-tls-verify: true, certificate-authority-data: " PEM_BASE64,
                 "", "contradicts"},
                {SERVER ", insecure-skip-tls-verify: false, certificate-authority: x", "", NULL},
                {SERVER, "auth-provider: {name: gcp}", "line 10: user u: auth-provider"},
                {SERVER, "token: \"a\\r\\nX: y\"", "user u: token"},
                {SERVER, "token: t, username: x", "cannot be combined"},
                {SERVER, "tokenFile: t, password: x", "cannot be combined"},
                {SERVER, "username: 'a:b', password: x", "colon"},
                {SERVER, "username: a, password: \"x\\ny\"", "control character"},
                {SERVER, "client-certificate: x", "set together"},
                {SERVER, "client-key-data: " PEM_BASE64, "set together"},
                {SERVER, "client-certificate: x, client-key-data: " PEM_BASE64, NULL},
                {SERVER, EXEC(""), NULL},
                {SERVER, EXEC(", env: [{name: A, value: b}], args: [1, two]"), NULL},
                {SERVER, EXEC(", env: [{value: b}]"), "env"},
                {SERVER, EXEC(", env: [{name: 'A=B', value: b}]"), "env"},
                {SERVER, EXEC(", env: {A: b}"), "env: not a list"},
                {SERVER, EXEC(", args: [[x]]"), "args"},
                {SERVER, EXEC(", interactiveMode: Always"), "terminal"},
                {SERVER, EXEC(", interactiveMode: IfAvailable"), NULL},
                {SERVER, EXEC(", interactiveMode: Never, installHint: h, env: null, args: ~"),
                 NULL},
                {SERVER, EXEC(", env: [{name: A}], provideClusterInfo: True"), NULL},
                {SERVER ", certificate-authority: /none", EXEC(", provideClusterInfo: TRUE"), NULL},
                {SERVER ", insecure-skip-tls-verify: true, tls-server-name: n",
                 EXEC(", provideClusterInfo: true"), NULL},
                {SERVER ", certificate-authority-data: " PEM_BASE64,
                 EXEC(", provideClusterInfo: true"), NULL},
                {SERVER, EXEC(", provideClusterInfo: yes"), NULL},
                {SERVER, EXEC(", args: [" WORDS_256 "1]"), "args: too many entries"},
                {"server: [x]", EXEC(", provideClusterInfo: true"), NULL},
                {SERVER, "exec: ", NULL},
                {SERVER, "auth-provider: , exec: ", NULL},
                {SERVER, "username: a", NULL},
                {SERVER, "password: x", NULL},
                {SERVER, "username: \"a\\x7f\", password: x", "control character"},
                {SERVER, "as-uid: {a: b}", "as-uid: not a string"},
                {SERVER, "as-groups: ''", NULL},
                {SERVER, "client-certificate: a, client-certificate-data: '*'",
                 "client-certificate"},
                {SERVER, "client-certificate: a, client-key-data: '*'", "client-key"},
                {SERVER, "token: ~, username: [x], password: ''", NULL}, /* nothing is set */
                {SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x}",
                 NULL},
                {SERVER, "exec: {command: x}", "apiVersion"},
                {SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1}", "command"},
                {SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}",
                 "apiVersion"},
                {SERVER, "exec: x", "not a mapping"},
                {SERVER, "exec: x, token: t", NULL}, /* static credentials come first */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = document(rows[i].cluster, rows[i].user);
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(text, strlen(text), "/d/file", NULL, &config, &err);
                if ((r == 0) != (rows[i].problem == NULL))
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
                if (rows[i].problem &&
                    (!strstr(err.msg, rows[i].problem) || !strstr(err.msg, "/d/file")))
                        fail_msg("row %zu: '%s' does not say '%s'", i, err.msg, rows[i].problem);
        }
}

TEST(kubeconfig_shapes) {
        static const struct {
                const char *text, *problem;
        } rows[] = {
                {"", ""},
                {"[]", "not a mapping"},
                {"x", "not a mapping"},
                {"{}", "no current-context"},
                {"current-context: ''", "no current-context"},
                {"current-context: c", "no context named 'c'"},
                {"{current-context: c, contexts: {}}", "not a list"},
                {"{current-context: c, contexts: null}", "no context named 'c'"},
                {"{current-context: c, contexts: [1, {}, {name: c}]}", "cluster: missing"},
                {"{current-context: c, contexts: [{name: c, context: 7}]}", "not a mapping"},
                {"{current-context: c, contexts: [{name: c, context: {cluster: k}}]}",
                 "no cluster named 'k'"},
                {"{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
                 "clusters: [{name: k, cluster: null}]}",
                 "no user named 'u'"},
                {"{current-context: c, contexts: [{name: c, context: {cluster: k}}], "
                 "clusters: [{name: k, cluster: [server]}]}",
                 "not a mapping"},
                {"a: &x 1\nb: *y\n", "no anchor &y"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(rows[i].text, strlen(rows[i].text), "f", NULL, &config,
                                         &err);
                if (r >= 0 || !strstr(err.msg, rows[i].problem))
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
        }
}

TEST(kubeconfig_fields) {
        static const struct kubeconfig_choice choice = {.context = "c"};
        _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
        _cleanup_(freep) char *text = document(
                SERVER ", tls-server-name: s, certificate-authority: ca/x.crt",
                "client-certificate: /abs/c, client-key: k, token: t, tokenFile: tf");
        struct error err = ERROR_NULL;

        if (kubeconfig_parse(text, strlen(text), "/etc/k/config", NULL, &config, &err) < 0)
                fail_msg("%s", err.msg);
        assert_string_equal(config.server, "https://h:6443");
        assert_string_equal(config.namespace, "n");
        assert_string_equal(config.tls_server_name, "s");
        assert_string_equal(config.ca.path, "/etc/k/ca/x.crt");
        assert_string_equal(config.cert.path, "/abs/c");
        assert_string_equal(config.key.path, "/etc/k/k");
        assert_string_equal(config.token.path, "/etc/k/tf");
        assert_null(config.token.text); /* the file beats it */
        kubeconfig_done(&config);

        free(text);
        text = document(SERVER
                        ", certificate-authority: x, certificate-authority-data: " PEM_BASE64,
                        "username: me, password: 'p:w'");
        assert_int_equal(kubeconfig_parse(text, strlen(text), "config", &choice, &config, &err), 0);
        assert_string_equal(config.ca.text, PEM);
        assert_null(config.ca.path);
        assert_string_equal(config.basic_auth, "me:p:w");
        kubeconfig_done(&config);

        free(text);
        text = document(SERVER, EXEC(", args: [a, 1], env: [{name: N, value: v}], installHint: h, "
                                     "provideClusterInfo: true"));
        assert_int_equal(kubeconfig_parse(text, strlen(text), "/config", &choice, &config, &err),
                         0);
        assert_string_equal(config.exec->command, "x"); /* no slash: of the PATH */
        assert_string_equal(config.exec->arguments[1], "1");
        assert_null(config.exec->arguments[2]);
        assert_string_equal(config.exec->environment[0], "N=v");
        assert_string_equal(config.exec->cluster_json, "{\"server\":\"https://h:6443\"}");
}

/* Whether a plugin may read from the terminal, where there is one. */
TEST(interactive_mode) {
        static const struct kubeconfig_choice choice = {.has_terminal = true};
        static const struct {
                const char *user;
                bool is_interactive;
        } rows[] = {
                {EXEC(""), true},
                {EXEC(", interactiveMode: IfAvailable"), true},
                {EXEC(", interactiveMode: Always"), true},
                {EXEC(", interactiveMode: Never"), false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                _cleanup_(freep) char *text = document(SERVER, rows[i].user);
                assert_int_equal(
                        kubeconfig_parse(text, strlen(text), "/config", &choice, &config, NULL), 0);
                assert_int_equal(config.exec->is_interactive, rows[i].is_interactive);
        }
}

TEST(choice) {
        static const char text[] =
                "current-context: a\n"
                "contexts: [{name: a, context: {cluster: one, user: u}},\n"
                "           {name: anonymous, context: {cluster: one}}]\n"
                "clusters: [{name: one, cluster: {server: 'https://one'}},\n"
                "           {name: two, cluster: {server: 'https://two'}}]\n"
                "users: [{name: u, user: {token: u}}, {name: v, user: {token: v}}]\n";
        static const struct {
                struct kubeconfig_choice choice;
                const char *server, *token, *problem;
        } rows[] = {
                {{0}, "https://one", "u", NULL},
                {{"", "", ""}, "https://one", "u", NULL},
                {{NULL, "two", NULL}, "https://two", "u", NULL},
                {{"a", NULL, "v"}, "https://one", "v", NULL},
                {{"anonymous", NULL, NULL}, "https://one", NULL, NULL},
                {{"anonymous", NULL, "v"}, "https://one", "v", NULL},
                {{NULL, "three", NULL}, NULL, NULL, "no cluster named 'three'"},
                {{NULL, NULL, "w"}, NULL, NULL, "no user named 'w'"},
                {{.context = "none", .has_server = true}, NULL, NULL, "no context named 'none'"},
                {{.has_server = true}, "https://one", "u", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(text, strlen(text), "f", &rows[i].choice, &config, &err);
                if ((r < 0) != (rows[i].problem != NULL))
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
                if (rows[i].problem) {
                        assert_non_null(strstr(err.msg, rows[i].problem));
                        continue;
                }
                assert_string_equal(config.server, rows[i].server);
                assert_string_equal(config.token.text ? config.token.text : "",
                                    rows[i].token ? rows[i].token : "");
        }
}

/* Without a current-context a server or a cluster that is named will do, and so may a user. */
TEST(choice_without_context) {
        static const char text[] = "clusters: [{name: k, cluster: {server: 'https://k'}}]\n"
                                   "users: [{name: u, user: {token: t}}]\n";
        static const struct {
                struct kubeconfig_choice choice;
                const char *server, *token, *problem;
        } rows[] = {
                {{0}, NULL, NULL, "no current-context"},
                {{.user = "u"}, NULL, NULL, "no current-context"},
                {{.has_server = true}, NULL, NULL, NULL},
                {{.has_server = true, .user = "u"}, NULL, "t", NULL},
                {{.has_server = true, .user = "v"}, NULL, NULL, "no user named 'v'"},
                {{.cluster = "k"}, "https://k", NULL, NULL},
                {{.cluster = "k", .user = "u"}, "https://k", "t", NULL},
                {{.cluster = "l", .has_server = true}, NULL, NULL, "no cluster named 'l'"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(text, strlen(text), "f", &rows[i].choice, &config, &err);
                if ((r < 0) != (rows[i].problem != NULL))
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
                if (rows[i].problem) {
                        assert_non_null(strstr(err.msg, rows[i].problem));
                        continue;
                }
                assert_string_equal(config.server ? config.server : "",
                                    rows[i].server ? rows[i].server : "");
                assert_string_equal(config.token.text ? config.token.text : "",
                                    rows[i].token ? rows[i].token : "");
        }
}

/* As kubectl: of every name the first file's, and its own directory for relative paths. */
TEST_BETWEEN(merge, set_up, tear_down) {
        static const struct kubeconfig_choice server = {.has_server = true};
        static const struct kubeconfig_choice not_enough[] = {
                {.has_server = true, .user = "u"},
                {.has_server = true, .cluster = "k"},
                {.has_server = true, .context = "c"},
                {0},
        };
        _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
        struct error err = ERROR_NULL;
        _cleanup_(freep) char *sub = path_of("sub");

        assert_int_equal(mkdir(sub, 0700), 0);
        put_file("a", "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                      "clusters: [{name: k, cluster: {server: 'https://first'}}]\n");
        put_file("sub/b", "current-context: c\n"
                          "contexts: [{name: c, context: {cluster: other, user: other}}]\n"
                          "clusters: [{name: k, cluster: {server: 'https://second'}}]\n"
                          "users: [{name: u, user: {tokenFile: t}}]\n");
        _cleanup_(freep) char *paths = xasprintf("%s/a::%s/missing:%s/sub/b:", directory, directory,
                                                 directory);
        if (kubeconfig_load(paths, false, NULL, &config, &err) < 0)
                fail_msg("%s", err.msg);
        assert_string_equal(config.server, "https://first");
        _cleanup_(freep) char *token_file = path_of("sub/t");
        assert_string_equal(config.token.path, token_file);
        kubeconfig_done(&config);

        _cleanup_(freep) char *missing = path_of("missing");
        assert_int_equal(kubeconfig_load(missing, false, NULL, &config, &err), -ENOENT);
        assert_int_equal(kubeconfig_load(missing, true, NULL, &config, &err), -ENOENT);
        assert_int_equal(kubeconfig_load(missing, false, &server, &config, &err), 0);
        assert_null(config.server);
        assert_int_equal(kubeconfig_load(missing, true, &server, &config, &err), -ENOENT);
        for (size_t i = 0; i < ARRAY_LEN(not_enough); i++)
                assert_int_equal(kubeconfig_load(missing, false, &not_enough[i], &config, &err),
                                 -ENOENT);
        assert_int_equal(kubeconfig_load(directory, true, NULL, &config, &err) < 0, 1);
        /* Only what is not there is passed over: not what cannot be looked at, or is none. */
        _cleanup_(freep) char *below_a_file = xasprintf("%s:%s/a/x", missing, directory);
        _cleanup_(freep) char *none = write_file("none", "[]\n");
        assert_int_equal(kubeconfig_load(below_a_file, false, NULL, &config, &err), -ENOTDIR);
        assert_int_equal(kubeconfig_load(none, false, NULL, &config, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "not a kubeconfig"));
}

/* There is a ceiling for how many files are merged. */
TEST_BETWEEN(many_files, set_up, tear_down) {
        _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
        _cleanup_(freep) char *text = document(SERVER, "token: t");
        _cleanup_(freep) char *path = write_file("config", text);
        _cleanup_(buf_done) struct buf paths = BUF_INIT(1 << 16);
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < 64; i++)
                (void)buf_printf(&paths, "%s:", path);
        if (kubeconfig_load(paths.data, false, NULL, &config, &err) < 0)
                fail_msg("%s", err.msg);
        assert_string_equal(config.token.text, "t");
        kubeconfig_done(&config);
        (void)buf_puts(&paths, path);
        assert_int_equal(kubeconfig_load(paths.data, false, NULL, &config, &err), -E2BIG);
        assert_string_equal(err.msg, "more than 64 kubeconfig files");
}

/* One entry for many clusters, and thousands of clusters, as programs write them. */
TEST_BETWEEN(aliases_and_size, set_up, tear_down) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(2 * KUBECONFIG_MAX_BYTES);
        _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
        struct error err = ERROR_NULL;

        (void)buf_puts(&text, "current-context: c\n"
                              "contexts: [{name: c, context: {cluster: last, user: u}}]\n"
                              "users:\n- {name: first, user: &user {token: shared}}\n"
                              "- {name: u, user: *user}\nclusters:\n");
        for (int i = 0; text.len < 4 << 20; i++)
                (void)buf_printf(&text, "- name: k%d\n  cluster: {" SERVER ", x: %0*d}\n", i, 2000,
                                 0);
        (void)buf_puts(&text, "- {name: last, cluster: {server: 'https://last'}}\n");
        _cleanup_(freep) char *path = write_file("config", text.data);
        if (kubeconfig_load(path, true, NULL, &config, &err) < 0)
                fail_msg("%s", err.msg);
        assert_string_equal(config.server, "https://last");
        assert_string_equal(config.token.text, "shared");
        kubeconfig_done(&config);

        while (text.len <= KUBECONFIG_MAX_BYTES)
                (void)buf_printf(&text, "# %0*d\n", 100000, 0);
        put_file("config", text.data);
        assert_int_equal(kubeconfig_load(path, true, NULL, &config, &err), -E2BIG);
        assert_non_null(strstr(err.msg, "larger than 16777216 bytes"));
}

/* A plugin that asks for the CA is given it, wherever the cluster has it. */
TEST_BETWEEN(cluster_info, set_up, tear_down) {
        static const char expected[] =
                "{\"server\":\"https://h:6443\",\"certificate-authority-data\":\"" PEM_BASE64 "\"}";
        static const char *const clusters[] = {
                SERVER ", certificate-authority: ca.crt",
                SERVER ", certificate-authority-data: " PEM_BASE64,
        };

        put_file("ca.crt", PEM);
        for (size_t i = 0; i < ARRAY_LEN(clusters); i++) {
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                _cleanup_(freep) char *text = document(clusters[i],
                                                       EXEC(", provideClusterInfo: true"));
                _cleanup_(freep) char *path = write_file("config", text);
                assert_int_equal(kubeconfig_load(path, true, NULL, &config, NULL), 0);
                assert_string_equal(config.exec->cluster_json, expected);
        }
}
