/* The file of --sources, --metrics-source, and what a list asks its kinds. */
#include "tests/unit/fixture/rows.h"

#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "controller/source/prometheus/prometheus.h"
#include "controller/source/scrape/scrape_kinds.h"
#include "controller/source/source_list.h"
#include "controller/source_kinds.h"

static const struct source_list_rules rules = {.kinds = source_kinds};

static struct source_list *parse(const char *text) {
        struct source_list *list = NULL;
        struct error err = ERROR_NULL;

        if (source_list_parse(text, strlen(text), &rules, &list, &err) < 0)
                fail_msg("%s", err.msg);
        return list;
}

TEST(everything) {
        _cleanup_(source_list_freep) struct source_list *list = parse(
                "sources:\n"
                "- {kind: exporter, name: dcgm, url: 'https://{address}:9400/metrics'}\n"
                "- kind: prometheus\n"
                "  url: https://thanos:9090/prefix\n"
                "  interval: 1m\n"
                "  unit: ratio\n"
                "  match: cluster=\"prod\"\n"
                "  tls_config: {ca_file: /ca, cert_file: /crt, key_file: /key, server_name: t}\n"
                "  basic_auth: {username: me, password_file: /password}\n"
                "  http_headers: {X-Scope-OrgID: {values: [a, b]}}\n"
                "- kind: node-exporter\n"
                "  authorization: {type: Token, credentials_file: /token}\n"
                "  tls_config: {insecure_skip_verify: true}\n");
        assert_int_equal(list->count, 3);
        assert_int_equal(list->ordered_count, 2);

        const struct source_spec *prometheus = &list->specs[0], *node = &list->specs[1];
        assert_ptr_equal(prometheus->kind, &prometheus_kind);
        assert_string_equal(prometheus->url, "https://thanos:9090/prefix");
        assert_int_equal(prometheus->traits.interval_ms, 60000);
        assert_true(prometheus->is_ratio && prometheus->traits.scope.has_every_exporter);
        assert_string_equal(prometheus->match, "cluster=\"prod\"");
        const struct credentials_options *credentials = &prometheus->credentials;
        static const char *const files[] = {"/ca", "/crt", "/key", "/password", NULL};
        for (size_t i = 0; i < CREDENTIALS_FILE_COUNT - 1; i++)
                assert_string_equal(credentials->files[i], files[i]);
        assert_string_equal(credentials->server_name, "t");
        assert_string_equal(credentials->username, "me");
        assert_int_equal(credentials->header_count, 2);
        assert_string_equal(credentials->headers[1].name, "X-Scope-OrgID");
        assert_string_equal(credentials->headers[1].value, "b");

        assert_string_equal(node->url, "http://{address}:9100/metrics");
        assert_int_equal(node->traits.interval_ms, 15000);
        assert_true(node->credentials.is_insecure);
        assert_string_equal(node->credentials.token_type, "Token");
        assert_string_equal(node->credentials.files[CREDENTIALS_TOKEN], "/token");

        assert_string_equal(list->specs[2].name, "dcgm");
        assert_string_equal(list->specs[2].traits.scope.exporter, "dcgm");
}

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* A kubelet is asked with what the pod has, or with what the file has. */
TEST(kubelet) {
        static const struct {
                const char *more, *ca, *token;
        } rows[] = {
                {"", ACCOUNT "/ca.crt", ACCOUNT "/token"},
                {"tls_config: {insecure_skip_verify: true}", NULL, ACCOUNT "/token"},
                {"tls_config: {ca_file: /ca}", "/ca", ACCOUNT "/token"},
                {"tls_config: {cert_file: /crt, key_file: /key}", ACCOUNT "/ca.crt", NULL},
                {"authorization: {credentials_file: /t}", ACCOUNT "/ca.crt", "/t"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf("sources: [{kind: kubelet, %s}]",
                                                        rows[i].more);
                _cleanup_(source_list_freep) struct source_list *list = parse(text);
                _cleanup_(credentials_done) struct credentials credentials;
                credentials_init(&credentials, &list->specs[0].credentials,
                                 list->specs[0].kind->uses_account);
                const char *const *files = credentials.options.files;
                if (rows[i].ca)
                        assert_string_equal(files[CREDENTIALS_CA], rows[i].ca);
                else
                        assert_null(files[CREDENTIALS_CA]);
                if (rows[i].token)
                        assert_string_equal(files[CREDENTIALS_TOKEN], rows[i].token);
                else
                        assert_null(files[CREDENTIALS_TOKEN]);
        }
}

#define NODE "sources:\n- kind: node-exporter\n"
#define OF(fields) NODE "  " fields "\n"

TEST(bad_files) {
        for (struct rows rows = rows_open("bad-sources.tsv"); rows_next(&rows);) {
                const char *text = rows_unescape(rows.cells[0]),
                           *says = rows_unescape(rows.cells[1]);
                struct source_list *list = NULL;
                struct error err = ERROR_NULL;
                int r = source_list_parse(text, strlen(text), &rules, &list, &err);
                if (r != -EINVAL || list || !strstr(err.msg, says))
                        fail_msg("%s: %d \"%s\"", rows.place, r, err.msg);
        }
}

static int load(const char *text, const struct source_list_rules *with, struct error *err) {
        _cleanup_(source_list_freep) struct source_list *list = NULL;

        return source_list_parse(text, strlen(text), with, &list, err);
}

/* For --check-config and --target. */
TEST(stricter_rules) {
        static const char missing[] = OF("tls_config: {ca_file: /nonexistent}");
        const struct source_list_rules opening = {.kinds = source_kinds, .opens_files = true};
        const struct source_list_rules targets = {.kinds = source_kinds, .takes_targets = true};
        struct error err = ERROR_NULL;

        assert_int_equal(load(missing, &rules, &err), 0);
        assert_int_equal(load(missing, &opening, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "line 3: sources[0].tls_config.ca_file: "));
        assert_int_equal(load(NODE, &targets, &err), 0);
        assert_int_equal(load("sources: [{kind: kubelet}]", &targets, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "kubelet cannot read the page of a --target"));
}

TEST(a_file_is_named) {
        char path[] = "/tmp/plimsoll-sources-XXXXXX";
        struct source_list *list = NULL;
        struct error err = ERROR_NULL;
        int fd = mkstemp(path);

        assert_int_equal(write(fd, "a: 1\n", 5), 5);
        assert_int_equal(close(fd), 0);
        assert_int_equal(source_list_load(path, &rules, &list, &err), -EINVAL);
        assert_true(strncmp(err.msg, path, strlen(path)) == 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(source_list_load(path, &rules, &list, &err), -ENOENT);
}

TEST(order) {
        _cleanup_(source_list_freep) struct source_list *list = NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(source_list_order("node-metrics,node-exporter", source_kinds, &list, &err),
                         0);
        assert_int_equal(list->count, 2);
        assert_int_equal(list->ordered_count, 2);
        assert_ptr_equal(list->specs[0].kind, &node_metrics_kind);
        assert_true(list->specs[0].traits.is_ready_made);
        assert_ptr_equal(list->specs[1].kind, &node_exporter_kind);
        assert_int_equal(source_list_in_flight(list, 5000), 2 * (256 + 78) + 16);
        assert_int_equal(source_list_in_flight(list, 100000), 2 * (1562 + 1562) + 16);
}

TEST(bad_order) {
        static const char *const rows[] = {
                "",
                ",",
                "node-exporter,",
                ",node-exporter",
                "node-exporter, node-metrics", /* no blanks */
                "node-exporter,node-exporter",
                "node-exporte",
                "node-exporters",
                "Node-Exporter",
                "exporter", /* which one? */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct source_list *list = NULL;
                struct error err = ERROR_NULL;
                if (source_list_order(rows[i], source_kinds, &list, &err) != -EINVAL ||
                    !err.msg[0] || list)
                        fail_msg("\"%s\" was taken", rows[i]);
        }
}

/* Every kind says where to look, whatever the reason. */
TEST(hints) {
        for (const struct source_kind *const *kind = source_kinds; *kind; kind++) {
                assert_non_null(source_hint(*kind, "no such reason"));
                assert_non_null(source_hint(*kind, "tls"));
        }
        assert_non_null(strstr(source_hint(&kubelet_kind, "unauthorized"), "nodes/metrics"));
}
