#include "controller/page_settings.h"

#include <errno.h>
#include <string.h>

const char *const page_schemes[] = {"http", "https", NULL};

static int check_together(const struct page_settings *settings, struct error *err) {
        if (!settings->cert_file != !settings->key_file)
                return error_set(err, EINVAL,
                                 "--node-exporter-cert-file and --node-exporter-key-file need each "
                                 "other");
        return credentials_options_check(&settings->credentials, "node-exporter", err);
}

/* "dcgm=http://{address}:9400/metrics", with the pace of the others. */
static int read_exporter(const char *text, const struct page_options *common,
                         struct source_set_options *ret, struct error *err) {
        size_t name_len = strcspn(text, "=");

        if (text[name_len] != '=')
                return error_set(err, EINVAL, "\"%.*s\": expected NAME=URL",
                                 (int)strcspn(text, ":@/?"), text);
        if (ret->exporter_count == SOURCE_SET_MAX_EXPORTERS)
                return error_set(err, EINVAL, "more than %d exporters", SOURCE_SET_MAX_EXPORTERS);
        struct page_options *options = &ret->exporters[ret->exporter_count];
        *options = *common;
        options->profile = &page_exporter;
        options->url.template = text + name_len + 1;
        int r = source_set_exporter_name(ret, text, name_len, options->exporter, err);
        if (r < 0)
                return r;
        r = target_url_check(&options->url, err);
        if (r < 0)
                return error_wrap(err, "\"%s\"", options->exporter);
        ret->exporter_count++;
        return 0;
}

static int read_network(const struct page_settings *settings, struct network_rules *ret,
                        struct error *err) {
        int r = 0;

        if (settings->network_devices) {
                r = glob_list_parse(settings->network_devices, &ret->devices, err);
                if (r < 0)
                        return error_wrap(err, "--network-device-pattern");
        }
        if (settings->network_speed) {
                r = network_speed_parse(settings->network_speed, &ret->speed_bytes, err);
                if (r < 0)
                        return error_wrap(err, "--network-speed");
        }
        return 0;
}

int page_settings_read(const struct page_settings *settings, bool is_at_once,
                       struct source_set_options *ret, struct error *err) {
        int64_t interval_ms = settings->scrape_interval_ms;
        int64_t timeout_ms = settings->scrape_timeout_ms;
        const struct page_options common = {
                .interval_ms = interval_ms,
                .timeout_ms = timeout_ms < interval_ms ? timeout_ms : interval_ms,
                .max_page_bytes = (size_t)settings->max_page_bytes,
                .is_at_once = is_at_once,
        };

        int r = check_together(settings, err);
        if (r < 0)
                return r;
        struct page_options *exporter = &ret->node_exporter;
        *exporter = common;
        exporter->profile = &page_node_exporter;
        exporter->url = (struct target_url){.template = settings->url_template,
                                            .scheme = page_schemes[settings->scheme],
                                            .path = settings->path,
                                            .port = (uint16_t)settings->port};
        exporter->tls = (struct http_tls){.ca_file = settings->ca_file,
                                          .cert_file = settings->cert_file,
                                          .key_file = settings->key_file,
                                          .server_name = settings->server_name,
                                          .is_insecure = settings->insecure_skip_verify};
        exporter->credentials = settings->credentials;
        r = target_url_check(&exporter->url, err);
        if (r < 0)
                return r;
        r = read_network(settings, &exporter->network, err);
        if (r < 0)
                return r;

        ret->node_metrics = common;
        ret->node_metrics.profile = &page_node_metrics;
        ret->node_metrics.url.template = settings->node_metrics_template;
        r = target_url_check(&ret->node_metrics.url, err);
        if (r < 0)
                return error_wrap(err, "--node-metrics-url-template");

        for (size_t i = 0; i < settings->exporters.count; i++) {
                r = read_exporter(settings->exporters.items[i], &common, ret, err);
                if (r < 0)
                        return error_wrap(err, "--exporter");
        }
        return 0;
}
