#include "controller/source/scrape/scrape_settings.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "controller/exposition/exposition.h"
#include "controller/source/source_set.h"
#include "kube/kube_path.h"
#include "program/options.h"

/* Where the rows put their values. */
static struct {
        int64_t scrape_interval_ms, scrape_timeout_ms, max_page_bytes;
        int scheme;
        int64_t port;
        const char *path, *url_template;
        struct credentials_options credentials;
        const char *node_metrics_template;
        struct option_list exporters, exporter_options;
} raw;

/* What they come to; of an exporter with its name. */
static struct scrape_options node_exporter, node_metrics;
static struct exporter {
        char name[POLICY_RESOURCE_NAME_MAX + 1];
        struct source_kind kind;
        struct scrape_options options;
} exporters[SOURCE_MAX_EXPORTERS];
static size_t exporter_count;

static const char *const schemes[] = {"http", "https", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "scrape-interval", .type = OPTION_DURATION_MS,
         .value = &raw.scrape_interval_ms, .fallback = "15s", .metavar = "DURATION",
         .min = 1000, .max = 300000,
         .help = "Time between two scrapes of a node; the scrapes of different nodes are "
                 "spread over it."},
        {.name = "scrape-timeout", .type = OPTION_DURATION_MS, .value = &raw.scrape_timeout_ms,
         .fallback = "10s", .metavar = "DURATION", .min = 100, .max = 300000,
         .help = "Timeout of a scrape; at most the interval."},
        {.name = "max-page-bytes", .type = OPTION_INT, .value = &raw.max_page_bytes,
         .fallback = "16777216", .metavar = "BYTES", .min = 4096, .max = EXPOSITION_MAX_BYTES,
         .help = "A larger page counts as a failure."},
        {.name = "node-exporter-scheme", .type = OPTION_ENUM, .value = &raw.scheme,
         .fallback = "http", .choices = schemes,
         .help = "http or https."},
        {.name = "node-exporter-port", .type = OPTION_INT, .value = &raw.port,
         .fallback = KUBE_PORT_TEXT(KUBE_PORT_NODE_EXPORTER), .metavar = "PORT", .min = 1, .max = 65535,
         .help = "The exporter's port on every node."},
        {.name = "node-exporter-path", .type = OPTION_STRING, .value = &raw.path,
         .hides_query = true,
         .fallback = "/metrics", .metavar = "PATH",
         .help = "Path of the exporter's page."},
        {.name = "target-url-template", .type = OPTION_STRING, .value = &raw.url_template,
         .metavar = "URL", .hides_query = true,
         .help = "For exporters behind a proxy: a URL with {node}, {address} and {port}, "
                 "which replaces scheme, address, port and path."},
        CREDENTIALS_ROWS("node-exporter-", raw.credentials, "the exporters"),
        {.name = "node-metrics-url-template", .type = OPTION_STRING,
         .value = &raw.node_metrics_template, .metavar = "URL", .hides_query = true,
         .fallback = "http://{address}:19101/metrics",
         .help = "URL of the agent of crane-scheduler-plus, for the node-metrics source."},
        {.name = "exporter", .type = OPTION_LIST, .value = &raw.exporters,
         .metavar = "NAME=URL", .hides_query = true,
         .help = "A further exporter on every node, for the metrics that the policy "
                 "declares with this name: dcgm=http://{address}:9400/metrics."},
        {.name = "exporter-option", .type = OPTION_LIST, .value = &raw.exporter_options,
         .metavar = "NAME.KEY=VALUE",
         .help = "TLS and credentials of the --exporter NAME, or of node-metrics. KEY is "
                 "the name of a --node-exporter- flag without that prefix: ca-file, "
                 "insecure-skip-verify, server-name, cert-file, key-file, username, "
                 "password-file or bearer-token-file, as in dcgm.ca-file=/etc/dcgm/ca.crt."},
};
/* clang-format on */

const struct source_kind node_metrics_kind = {
        .name = "node-metrics",
        .hint = "--node-metrics-url-template and --node-address-types",
        .takes_targets = true,
        .ops = &scraper_ops,
};

static const struct source_kind exporter_kind = {
        .hint = "--exporter and --node-address-types",
        .takes_targets = true,
        .ops = &scraper_ops,
};

struct scrape_options scrape_settings_common(const struct source_setup *setup) {
        return (struct scrape_options){
                .interval_ms = raw.scrape_interval_ms,
                .timeout_ms = raw.scrape_timeout_ms < raw.scrape_interval_ms
                                      ? raw.scrape_timeout_ms
                                      : raw.scrape_interval_ms,
                .max_page_bytes = (size_t)raw.max_page_bytes,
                .is_at_once = setup->is_once || setup->has_targets,
        };
}

void scrape_settings_put(struct source_set_options *set, const struct source_kind *kind,
                         const struct scrape_options *options) {
        struct source_item *item = source_set_item(set, kind);

        if (!item)
                return;
        item->options = options;
        item->traits = scraper_traits(options, NULL);
}

static int check_exporter_name(const struct source_set_options *set, const char *name, size_t len,
                               struct error *err) {
        if (!name_is_made_of(name, len, POLICY_RESOURCE_NAME_MAX, NAME_LOWER "-", "", ""))
                return error_set(err, EINVAL,
                                 "\"%.*s\": expected a name of at most %d of a-z, 0-9 and '-'",
                                 (int)len, name, POLICY_RESOURCE_NAME_MAX);
        if (source_set_has_name(set, name, len))
                return error_set(err, EINVAL, "\"%.*s\" is taken", (int)len, name);
        return 0;
}

/* "dcgm=http://{address}:9400/metrics", with the interval and limits of the other exporters. */
static int read_exporter(const char *text, const struct source_setup *setup,
                         struct source_set_options *set, struct error *err) {
        size_t name_len = strcspn(text, "=");

        if (text[name_len] != '=')
                return error_set(err, EINVAL, "\"%.*s\": expected NAME=URL",
                                 (int)strcspn(text, ":@/?"), text);
        if (exporter_count == SOURCE_MAX_EXPORTERS)
                return error_set(err, EINVAL, "more than %d exporters", SOURCE_MAX_EXPORTERS);
        int r = check_exporter_name(set, text, name_len, err);
        if (r < 0)
                return r;
        struct exporter *exporter = &exporters[exporter_count];
        memcpy(exporter->name, text, name_len);
        exporter->name[name_len] = '\0';
        exporter->kind = exporter_kind;
        exporter->kind.name = exporter->name;
        exporter->options = scrape_settings_common(setup);
        exporter->options.profile = &scrape_exporter;
        exporter->options.url.template = text + name_len + 1;
        r = target_url_check(&exporter->options.url, err);
        if (r < 0)
                return error_wrap(err, r, "\"%s\"", exporter->name);
        exporter_count++;
        assert(set->count < SOURCE_MAX);
        set->items[set->count++] = (struct source_item){
                .kind = &exporter->kind,
                .options = &exporter->options,
                .traits = scraper_traits(&exporter->options, exporter->name)};
        return 0;
}

/* NULL: no such exporter */
static struct scrape_options *find_exporter(const char *name, size_t len) {
        const char *agent = node_metrics_kind.name;

        if (strlen(agent) == len && memcmp(agent, name, len) == 0)
                return &node_metrics;
        for (size_t i = 0; i < exporter_count; i++)
                if (strlen(exporters[i].name) == len && memcmp(exporters[i].name, name, len) == 0)
                        return &exporters[i].options;
        return NULL;
}

/* "dcgm.ca-file=/etc/dcgm/ca.crt". Errors do not repeat the value: it may be a password. */
static int read_exporter_option(const char *text, struct error *err) {
        size_t name_len = strcspn(text, ".=");
        const char *key = text[name_len] == '.' ? text + name_len + 1 : "";
        size_t key_len = strcspn(key, "=");
        const char *value = key + key_len + 1;

        if (key[key_len] != '=')
                return error_set(err, EINVAL, "expected NAME.KEY=VALUE");
        struct scrape_options *options = find_exporter(text, name_len);
        if (!options)
                return error_set(err, EINVAL, "\"%.*s\": no --exporter has this name",
                                 (int)size_min(name_len, POLICY_RESOURCE_NAME_MAX), text);
        const struct option_row keys[] = {CREDENTIALS_ROWS("", options->credentials, "")};
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                if (strlen(keys[i].name) != key_len || memcmp(keys[i].name, key, key_len) != 0)
                        continue;
                if (keys[i].type == OPTION_STRING) {
                        *(const char **)keys[i].value = value;
                        return 0;
                }
                bool is_true = strcmp(value, "true") == 0;
                if (!is_true && strcmp(value, "false") != 0)
                        return error_set(err, EINVAL, "%.*s: expected true or false",
                                         (int)(value - text), text);
                *(bool *)keys[i].value = is_true;
                return 0;
        }
        return error_set(err, EINVAL, "\"%.*s\": unknown key", (int)size_min(key_len, 64), key);
}

static int check_credentials(const struct scrape_options *options, const char *name,
                             bool opens_files, struct error *err) {
        char prefix[64];

        (void)snprintf(prefix, sizeof(prefix), "--exporter-option=%.*s.", POLICY_RESOURCE_NAME_MAX,
                       name);
        return credentials_options_check(&options->credentials, prefix, opens_files, err);
}

static int read_exporters(struct source_set_options *set, const struct source_setup *setup,
                          struct error *err) {
        exporter_count = 0;
        for (size_t i = 0; i < raw.exporters.count; i++) {
                int r = read_exporter(raw.exporters.items[i], setup, set, err);
                if (r < 0)
                        return error_wrap(err, r, "--exporter");
        }
        for (size_t i = 0; i < raw.exporter_options.count; i++) {
                int r = read_exporter_option(raw.exporter_options.items[i], err);
                if (r < 0)
                        return error_wrap(err, r, "--exporter-option");
        }
        int r = check_credentials(&node_metrics, node_metrics_kind.name, setup->opens_files, err);
        for (size_t i = 0; r == 0 && i < exporter_count; i++)
                r = check_credentials(&exporters[i].options, exporters[i].name, setup->opens_files,
                                      err);
        return r;
}

static int configure_scrapers(struct source_set_options *set, const struct source_setup *setup,
                              struct error *err) {
        int r = credentials_options_check(&raw.credentials, "--node-exporter-", setup->opens_files,
                                          err);
        if (r < 0)
                return r;
        node_exporter = scrape_settings_common(setup);
        node_exporter.profile = &scrape_node_exporter;
        node_exporter.url = (struct target_url){.template = raw.url_template,
                                                .scheme = schemes[raw.scheme],
                                                .path = raw.path,
                                                .port = (uint16_t)raw.port};
        node_exporter.credentials = raw.credentials;
        node_exporter.network = *setup->network;
        r = target_url_check(&node_exporter.url, err);
        if (r < 0)
                return r;
        scrape_settings_put(set, &node_exporter_kind, &node_exporter);

        node_metrics = scrape_settings_common(setup);
        node_metrics.profile = &scrape_agent;
        node_metrics.url.template = raw.node_metrics_template;
        r = target_url_check(&node_metrics.url, err);
        if (r < 0)
                return error_wrap(err, r, "--node-metrics-url-template");
        scrape_settings_put(set, &node_metrics_kind, &node_metrics);
        return read_exporters(set, setup, err);
}

const struct source_kind node_exporter_kind = {
        .name = "node-exporter",
        .hint = "--node-exporter-port, --node-address-types and --target-url-template",
        .takes_targets = true,
        .ops = &scraper_ops,
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .configure = configure_scrapers,
};
