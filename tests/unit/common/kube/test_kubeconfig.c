/* The kubeconfig format: what is read, chosen and refused. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "codec/tree.h"
#include "credential_files.h"
#include "kube/kubeconfig.h"
#include "tests/unit/fixture/rows.h"

TEST(kubeconfig_errors) {
        for (struct rows rows = rows_open("kubeconfig-fields.tsv"); rows_next(&rows);) {
                const char *problem = rows.cells[0];
                _cleanup_(freep) char *cluster = xasprintf(SERVER ", %s", rows.cells[1]);
                _cleanup_(freep) char *text = document(cluster, rows.cells[2]);
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(text, strlen(text), "/d/file", &config, &err);
                if ((r == 0) != (*problem == '\0') || !strstr(err.msg, problem) ||
                    (r < 0 && !strstr(err.msg, "/d/file")))
                        fail_msg("%s gave %d (%s)", rows.place, r, err.msg);
        }
}

TEST(kubeconfig_shapes) {
        for (struct rows rows = rows_open("kubeconfigs.tsv"); rows_next(&rows);) {
                const char *text = rows_unescape(rows.cells[0]);
                _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
                struct error err = ERROR_NULL;
                int r = kubeconfig_parse(text, strlen(text), "f", &config, &err);
                if (r >= 0 || !strstr(err.msg, rows.cells[1]))
                        fail_msg("%s gave %d (%s)", rows.place, r, err.msg);
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

TEST_BETWEEN(files, set_up, remove_directory) {
        _cleanup_(kubeconfig_done) struct kubeconfig config = {0};
        _cleanup_(freep) char *text = document(SERVER, "token: t");
        _cleanup_(freep) char *path = write_file("config", text);
        _cleanup_(freep) char *missing = path_of("missing");
        _cleanup_(freep) char *large = xcalloc(1, TREE_MAX_BYTES + 2);
        struct error err = ERROR_NULL;

        assert_int_equal(kubeconfig_load((const char *const[]){path}, 1, &config, &err), 0);
        assert_string_equal(config.token.text, "t");
        assert_int_equal(kubeconfig_load((const char *const[]){missing}, 1, &config, &err),
                         -ENOENT);
        assert_non_null(strstr(err.msg, missing));
        assert_int_equal(kubeconfig_load((const char *const[]){directory}, 1, &config, &err),
                         -EINVAL);
        memset(large, '#', TREE_MAX_BYTES + 1);
        put_file("config", large);
        assert_int_equal(kubeconfig_load((const char *const[]){path}, 1, &config, &err), -E2BIG);
}
