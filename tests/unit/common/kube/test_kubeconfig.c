/* The kubeconfig format: what is read, chosen and refused. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "codec/tree.h"
#include "credential_files.h"
#include "kube/kubeconfig.h"

TEST(kubeconfig_errors) {
        static const char no_program[] = "use a client certificate, token or tokenFile";
        static const struct {
                const char *cluster, *user;
                const char *problem; /* NULL: fine */
        } rows[] = {
                {SERVER, "token: t", NULL},
                {SERVER, "", NULL},
                {SERVER ", extensions: [{name: x}], disable-compression: true", "token: t", NULL},
                {SERVER ", certificate-authority-data: '*'", "", "certificate-authority-data"},
                {SERVER ", certificate-authority-data: aGVsbG8=", "", "PEM"},
                {SERVER ", certificate-authority-data: " PEM_BASE64, "", NULL},
                {SERVER ", insecure-skip-tls-verify: true, certificate-authority: x", "",
                 "contradicts"},
                {SERVER ", insecure-skip-tls-verify: yes, certificate-authority: x", "",
                 "contradicts"},
                {SERVER ", insecure-skip-tls-verify: On, certificate-authority-data: " PEM_BASE64,
                 "", "contradicts"},
                {SERVER ", insecure-skip-tls-verify: false, certificate-authority: x", "", NULL},
                {SERVER ", insecure-skip-tls-verify: null, certificate-authority: x", "", NULL},
                {SERVER ", insecure-skip-tls-verify: 'true'", "",
                 "insecure-skip-tls-verify: expected true or false"},
                {SERVER ", insecure-skip-tls-verify: 1", "", "expected true or false"},
                {SERVER, "token: \"a\\r\\nX: y\"", "line 10: users[0].user.token: "},
                {SERVER, "client-certificate: x", "set together"},
                {SERVER, "client-key-data: " PEM_BASE64, "set together"},
                {SERVER, "client-certificate: x, client-key-data: " PEM_BASE64, NULL},
                {SERVER, "client-certificate: a, client-certificate-data: '*'",
                 "client-certificate"},
                {SERVER, "client-certificate: a, client-key-data: '*'", "client-key"},
                {SERVER, "token: ~, username: '', password: ''", NULL}, /* nothing is set */
                /* what needs kubectl */
                {SERVER ", proxy-url: 'http://p'", "",
                 "line 7: clusters[0].cluster.proxy-url: not support"},
                {SERVER, "exec: {command: x}", no_program},
                {SERVER, "exec: {command: x}, token: t", "line 10: users[0].user.exec: "},
                {SERVER, "auth-provider: {name: gcp}", "line 10: users[0].user.auth-provider: "},
                {SERVER, "username: a", "users[0].user.username: "},
                {SERVER, "password: x", "users[0].user.password: "},
                {SERVER, "as: jane", "users[0].user.as: "},
                {SERVER, "as-uid: '7'", "users[0].user.as-uid: "},
                {SERVER, "as-groups: [dev]", "users[0].user.as-groups: "},
                {SERVER, "as-user-extra: {scopes: [view]}", "users[0].user.as-user-extra: "},
                {SERVER ", proxy-url: ''",
                 "exec: , auth-provider: null, as: '', as-groups: [], as-user-extra: {}", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = document(rows[i].cluster, rows[i].user);
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(text, strlen(text), "/d/file", &config, &err);
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
                {"[]", "line 1: the document: expected a map, got a list"},
                {"x", "line 1: the document: expected a map, got x"},
                {"{}", "current-context: expected a context, got nothing"},
                {"current_context: c", "current-context: expected a context, got nothing"},
                {"current-context: ''", "no context named ''"},
                {"current-context: c", "no context named 'c'"},
                {"{current-context: c, contexts: {}}", "contexts: expected a list, got a map"},
                {"{current-context: c, contexts: null}", "no context named 'c'"},
                {"{current-context: c, contexts: [1]}", "contexts[0]: expected a map, got 1"},
                {"{current-context: c, contexts: [{}, {name: c}]}",
                 "contexts[1].context: expected a map, got nothing"},
                {"{current-context: c, contexts: [{name: c, context: {}}]}",
                 "contexts[0].context.cluster: expected a cluster, got nothing"},
                {"{current-context: c, contexts: [{name: c, context: 7}]}",
                 "expected a map, got 7"},
                {"{current-context: c, contexts: [{name: c, context: {cluster: k}}]}",
                 "no cluster named 'k'"},
                {"{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
                 "clusters: [{name: k, cluster: {}}]}",
                 "no user named 'u'"},
                {"{current-context: c, contexts: [{name: c, context: {cluster: k}}], "
                 "clusters: [{name: k, cluster: [server]}]}",
                 "clusters[0].cluster: expected a map, got a list"},
                {"base: {a: 1}\nb: {<<: 2}\n", "merge keys (<<) are not supported"},
                {"a: 1\n---\na: 2\n", "expected one document, got a second"},
                {"a: !!str 1\n", "tags (tag:yaml.org,2002:str) are not supported"},
                {"\xff\xfe"
                 "a",
                 "not UTF-8 text"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(rows[i].text, strlen(rows[i].text), "f", &config, &err);
                if (r >= 0 || !strstr(err.msg, rows[i].problem))
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
        }
}

TEST(kubeconfig_fields) {
        _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
        _cleanup_(freep) char *text = document(
                SERVER ", tls-server-name: s, certificate-authority: ca/x.crt",
                "client-certificate: /abs/c, client-key: k, token: t, tokenFile: tf");
        struct error err = ERROR_NULL;

        if (kubeconfig_parse(text, strlen(text), "/etc/k/config", &config, &err) < 0)
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
                        "tokenFile: tf");
        assert_int_equal(kubeconfig_parse(text, strlen(text), "config", &config, &err), 0);
        assert_string_equal(config.ca.text, PEM);
        assert_null(config.ca.path);
        assert_string_equal(config.token.path, "tf");
        kubeconfig_done(&config);

        free(text);
        text = document(SERVER ", insecure-skip-tls-verify: yes", "tokenFile: tf");
        assert_int_equal(kubeconfig_parse(text, strlen(text), "/config", &config, &err), 0);
        assert_true(config.is_insecure);
        assert_string_equal(config.token.path, "/tf");
}

TEST(contexts) {
        static const char rest[] =
                "contexts: [{name: a, context: {cluster: one, user: u}},\n"
                "           {name: b, context: {cluster: two, user: v}},\n"
                "           {name: anonymous, context: {cluster: one}}]\n"
                "clusters: [{name: one, cluster: {server: 'https://one'}},\n"
                "           {name: two, cluster: {server: 'https://two'}}]\n"
                "users: [{name: u, user: {token: u}}, {name: v, user: {token: v}}]\n";
        static const struct {
                const char *context, *server, *token, *problem;
        } rows[] = {
                {"a", "https://one", "u", NULL},
                {"b", "https://two", "v", NULL},
                {"anonymous", "https://one", "", NULL},
                {"none", NULL, NULL, "kubeconfig f: line 2: contexts: no context named 'none'"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                _cleanup_(freep) char *text = xasprintf("current-context: %s\n%s", rows[i].context,
                                                        rest);
                int r = kubeconfig_parse(text, strlen(text), "f", &config, &err);
                if ((r < 0) != (rows[i].problem != NULL))
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
                if (rows[i].problem) {
                        assert_string_equal(err.msg, rows[i].problem);
                        continue;
                }
                assert_string_equal(config.server, rows[i].server);
                assert_string_equal(config.token.text ? config.token.text : "", rows[i].token);
        }
}

TEST_BETWEEN(files, set_up, tear_down) {
        _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
        _cleanup_(freep) char *text = document(SERVER, "token: t");
        _cleanup_(freep) char *path = write_file("config", text);
        _cleanup_(freep) char *missing = path_of("missing");
        _cleanup_(freep) char *large = xcalloc(1, TREE_MAX_BYTES + 2);
        struct error err = ERROR_NULL;

        assert_int_equal(kubeconfig_load(path, &config, &err), 0);
        assert_string_equal(config.token.text, "t");
        assert_int_equal(kubeconfig_load(missing, &config, &err), -ENOENT);
        assert_non_null(strstr(err.msg, missing));
        assert_int_equal(kubeconfig_load(directory, &config, &err), -EINVAL);
        memset(large, '#', TREE_MAX_BYTES + 1);
        put_file("config", large);
        assert_int_equal(kubeconfig_load(path, &config, &err), -E2BIG);
}
