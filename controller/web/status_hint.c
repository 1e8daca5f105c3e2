#include "controller/web/status_hint.h"

#include <stddef.h>
#include <string.h>

#include "base/attributes.h"

/* The first row that fits; a source of NULL is any. */
static const struct {
        const char *source, *reason, *flags;
} rows[] = {
        {"prometheus", "timeout", "--prometheus-timeout"},
        {"prometheus", "too_large", "--prometheus-max-reply-bytes"},
        {"prometheus", "tls", "--prometheus-ca-file and --prometheus-server-name"},
        {"prometheus", "credentials",
         "--prometheus-bearer-token-file and --prometheus-password-file"},
        {"prometheus", "unauthorized",
         "--prometheus-bearer-token-file and --prometheus-password-file"},
        {"node-exporter", "connect", "--node-exporter-port and --node-exporter-scheme"},
        {"node-exporter", "tls",
         "--node-exporter-scheme, --node-exporter-ca-file and --node-exporter-server-name"},
        {"node-exporter", "credentials",
         "--node-exporter-bearer-token-file and --node-exporter-password-file"},
        {"node-exporter", "unauthorized",
         "--node-exporter-bearer-token-file and --node-exporter-password-file"},
        {"node-exporter", "not_found", "--node-exporter-path and --target-url-template"},
        {"node-exporter", "windows_exporter", "--metrics-source"},
        {NULL, "no_address", "--node-address-types"},
        {NULL, "timeout", "--scrape-timeout"},
        {NULL, "too_large", "--max-page-bytes"},
};

const char *status_hint(const char *source, const char *reason, const char *fallback) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if ((!rows[i].source || strcmp(rows[i].source, source) == 0) &&
                    strcmp(rows[i].reason, reason) == 0)
                        return rows[i].flags;
        return fallback;
}
