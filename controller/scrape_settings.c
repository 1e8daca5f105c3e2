#include "controller/scrape_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

const char *const scrape_schemes[] = {"http", "https", NULL};

/* "dcgm=http://{address}:9400/metrics", with the interval and limits of the others. */
static int read_exporter(const char *text, const struct scrape_options *common,
                         struct source_set_options *ret, struct error *err) {
        size_t name_len = strcspn(text, "=");

        if (text[name_len] != '=')
                return error_set(err, EINVAL, "\"%.*s\": expected NAME=URL",
                                 (int)strcspn(text, ":@/?"), text);
        if (ret->exporter_count == SOURCE_SET_MAX_EXPORTERS)
                return error_set(err, EINVAL, "more than %d exporters", SOURCE_SET_MAX_EXPORTERS);
        struct scrape_options *options = &ret->exporters[ret->exporter_count];
        *options = *common;
        options->profile = &scrape_exporter;
        options->url.template = text + name_len + 1;
        int r = source_set_exporter_name(ret, text, name_len, options->exporter, err);
        if (r < 0)
                return r;
        r = target_url_check(&options->url, err);
        if (r < 0)
                return error_wrap(err, r, "\"%s\"", options->exporter);
        ret->exporter_count++;
        return 0;
}

/* NULL: no such exporter */
static struct scrape_options *find_exporter(struct source_set_options *sources, const char *name,
                                            size_t len) {
        const char *agent = sources->node_metrics.profile->name;

        if (strlen(agent) == len && memcmp(agent, name, len) == 0)
                return &sources->node_metrics;
        for (size_t i = 0; i < sources->exporter_count; i++)
                if (strlen(sources->exporters[i].exporter) == len &&
                    memcmp(sources->exporters[i].exporter, name, len) == 0)
                        return &sources->exporters[i];
        return NULL;
}

/* "dcgm.ca-file=/etc/dcgm/ca.crt". Errors do not repeat the value: it may be a password. */
static int read_exporter_option(const char *text, struct source_set_options *ret,
                                struct error *err) {
        size_t name_len = strcspn(text, ".=");
        const char *key = text[name_len] == '.' ? text + name_len + 1 : "";
        size_t key_len = strcspn(key, "=");
        const char *value = key + key_len + 1;

        if (key[key_len] != '=')
                return error_set(err, EINVAL, "expected NAME.KEY=VALUE");
        struct scrape_options *options = find_exporter(ret, text, name_len);
        if (!options)
                return error_set(err, EINVAL, "\"%.*s\": no --exporter has this name",
                                 (int)size_min(name_len, POLICY_RESOURCE_NAME_MAX), text);
        if (strncmp(key, "insecure-skip-verify=", key_len + 1) == 0) {
                options->credentials.is_insecure = strcmp(value, "true") == 0;
                if (options->credentials.is_insecure || strcmp(value, "false") == 0)
                        return 0;
                return error_set(err, EINVAL, "%.*s: expected true or false", (int)(value - text),
                                 text);
        }
        struct credentials_options *credentials = &options->credentials;
        const struct {
                const char *key;
                const char **value;
        } rows[] = {
                {"ca-file", &credentials->ca_file},
                {"server-name", &credentials->server_name},
                {"cert-file", &credentials->cert_file},
                {"key-file", &credentials->key_file},
                {"username", &credentials->username},
                {"password-file", &credentials->password_file},
                {"bearer-token-file", &credentials->bearer_token_file},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (strlen(rows[i].key) == key_len && memcmp(rows[i].key, key, key_len) == 0) {
                        *rows[i].value = value;
                        return 0;
                }
        return error_set(err, EINVAL, "\"%.*s\": unknown key", (int)size_min(key_len, 64), key);
}

static int check_exporter(const struct scrape_options *options, const char *name, bool opens_files,
                          struct error *err) {
        char prefix[64];

        (void)snprintf(prefix, sizeof(prefix), "--exporter-option=%s.", name);
        return credentials_options_check(&options->credentials, prefix, opens_files, err);
}

static int read_exporters(const struct scrape_settings *settings,
                          const struct scrape_options *common, struct source_set_options *ret,
                          struct error *err) {
        for (size_t i = 0; i < settings->exporters.count; i++) {
                int r = read_exporter(settings->exporters.items[i], common, ret, err);
                if (r < 0)
                        return error_wrap(err, r, "--exporter");
        }
        for (size_t i = 0; i < settings->exporter_options.count; i++) {
                int r = read_exporter_option(settings->exporter_options.items[i], ret, err);
                if (r < 0)
                        return error_wrap(err, r, "--exporter-option");
        }
        int r = check_exporter(&ret->node_metrics, ret->node_metrics.profile->name,
                               settings->opens_files, err);
        for (size_t i = 0; r == 0 && i < ret->exporter_count; i++)
                r = check_exporter(&ret->exporters[i], ret->exporters[i].exporter,
                                   settings->opens_files, err);
        return r;
}

static int read_network(const struct scrape_settings *settings, struct node_network_options *ret,
                        struct error *err) {
        int r = 0;

        if (settings->network_devices) {
                r = glob_list_parse(settings->network_devices, &ret->devices, err);
                if (r < 0)
                        return error_wrap(err, r, "--network-device-pattern");
        }
        if (settings->network_speed) {
                r = node_network_speed_parse(settings->network_speed, &ret->speed_bytes, err);
                if (r < 0)
                        return error_wrap(err, r, "--network-speed");
        }
        return 0;
}

int scrape_settings_read(const struct scrape_settings *settings, bool is_at_once,
                         struct source_set_options *ret, struct error *err) {
        int64_t interval_ms = settings->scrape_interval_ms;
        int64_t timeout_ms = settings->scrape_timeout_ms;
        const struct scrape_options common = {
                .interval_ms = interval_ms,
                .timeout_ms = timeout_ms < interval_ms ? timeout_ms : interval_ms,
                .max_page_bytes = (size_t)settings->max_page_bytes,
                .is_at_once = is_at_once,
        };

        int r = credentials_options_check(&settings->credentials, "--node-exporter-",
                                          settings->opens_files, err);
        if (r < 0)
                return r;
        struct scrape_options *exporter = &ret->node_exporter;
        *exporter = common;
        exporter->profile = &scrape_node_exporter;
        exporter->url = (struct target_url){.template = settings->url_template,
                                            .scheme = scrape_schemes[settings->scheme],
                                            .path = settings->path,
                                            .port = (uint16_t)settings->port};
        exporter->credentials = settings->credentials;
        r = target_url_check(&exporter->url, err);
        if (r < 0)
                return r;
        r = read_network(settings, &exporter->network, err);
        if (r < 0)
                return r;

        ret->node_metrics = common;
        ret->node_metrics.profile = &scrape_agent;
        ret->node_metrics.url.template = settings->node_metrics_template;
        r = target_url_check(&ret->node_metrics.url, err);
        if (r < 0)
                return error_wrap(err, r, "--node-metrics-url-template");

        return read_exporters(settings, &common, ret, err);
}
