#include "controller/node_exporter_settings.h"

#include <errno.h>
#include <string.h>

const char *const node_exporter_schemes[] = {"http", "https", NULL};

static int check_together(const struct node_exporter_settings *settings, struct error *err) {
        if (!settings->cert_file != !settings->key_file)
                return error_set(err, EINVAL,
                                 "--node-exporter-cert-file and --node-exporter-key-file need each "
                                 "other");
        return credentials_options_check(&settings->credentials, "node-exporter", err);
}

int node_exporter_settings_read(const struct node_exporter_settings *settings,
                                struct node_exporter_options *ret, struct error *err) {
        int r = check_together(settings, err);
        if (r < 0)
                return r;

        struct node_exporter_options options = {
                .url = {.template = settings->url_template,
                        .scheme = node_exporter_schemes[settings->scheme],
                        .path = settings->path,
                        .port = (uint16_t)settings->port},
                .interval_ms = settings->scrape_interval_ms,
                .timeout_ms = settings->scrape_timeout_ms,
                .max_page_bytes = (size_t)settings->max_page_bytes,
                .tls = {.ca_file = settings->ca_file,
                        .cert_file = settings->cert_file,
                        .key_file = settings->key_file,
                        .server_name = settings->server_name,
                        .is_insecure = settings->insecure_skip_verify},
                .credentials = settings->credentials,
        };
        if (options.timeout_ms > options.interval_ms)
                options.timeout_ms = options.interval_ms;
        r = target_url_check(&options.url, err);
        if (r < 0)
                return r;
        *ret = options;
        return 0;
}
