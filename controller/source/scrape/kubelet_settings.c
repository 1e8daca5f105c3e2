#include <errno.h>
#include <string.h>

#include "controller/source/scrape/scrape_settings.h"
#include "controller/source/source_set.h"
#include "program/options.h"

#define KUBELET_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

static struct credentials_options raw; /* where the rows put their values */
static struct scrape_options options;  /* what they come to */

/* clang-format off */
static const struct option_row rows[] = {
        {.help = "Kubelet source"},
        {.name = "kubelet-ca-file", .type = OPTION_STRING, .value = &raw.files[CREDENTIALS_CA],
         .fallback = KUBELET_ACCOUNT "/ca.crt", .metavar = "FILE",
         .help = "Certificate authorities of the kubelets. A kubelet's certificate must have "
                 "the name of its node."},
        {.name = "kubelet-insecure-skip-verify", .type = OPTION_BOOL, .value = &raw.is_insecure,
         .help = "Do not verify the kubelets' certificates. Whoever can answer at a node's "
                 "address then gets the token, and all that the controller may do with it, "
                 "unless there is a client certificate in its place."},
        {.name = "kubelet-bearer-token-file", .type = OPTION_STRING,
         .value = &raw.files[CREDENTIALS_TOKEN], .fallback = KUBELET_ACCOUNT "/token", .metavar = "FILE",
         .help = "File with the token for the kubelets; read again every minute. Not used with "
                 "a client certificate."},
        {.name = "kubelet-client-certificate", .type = OPTION_STRING,
         .value = &raw.files[CREDENTIALS_CERT], .metavar = "FILE",
         .help = "Client certificate for the kubelets, with --kubelet-client-key; read again "
                 "every minute. Kubelets need not ask the API server about it, as about a token."},
        {.name = "kubelet-client-key", .type = OPTION_STRING, .value = &raw.files[CREDENTIALS_KEY],
         .metavar = "FILE",
         .help = "Key of the client certificate."}
};
/* clang-format on */

/* Not the defaults: only a pod has those files. */
static int open_kubelet_files(const char *const *files, struct error *err) {
        static const char *const flags[CREDENTIALS_FILE_COUNT] = {
                [CREDENTIALS_CA] = "--kubelet-ca-file",
                [CREDENTIALS_CERT] = "--kubelet-client-certificate",
                [CREDENTIALS_KEY] = "--kubelet-client-key",
                [CREDENTIALS_TOKEN] = "--kubelet-bearer-token-file",
        };

        for (enum credentials_file i = 0; i < CREDENTIALS_FILE_COUNT; i++) {
                bool is_default = files[i] && (strcmp(files[i], KUBELET_ACCOUNT "/ca.crt") == 0 ||
                                               strcmp(files[i], KUBELET_ACCOUNT "/token") == 0);
                int r = is_default ? 0 : credentials_file_check(i, files[i], err);
                if (r < 0)
                        return error_wrap(err, r, "%s", flags[i]);
        }
        return 0;
}

static int configure_kubelet(struct source_set_options *set, const struct source_setup *setup,
                             struct error *err) {
        if (!raw.files[CREDENTIALS_CERT] != !raw.files[CREDENTIALS_KEY])
                return error_set(err, EINVAL,
                                 "--kubelet-client-certificate and --kubelet-client-key must be "
                                 "set together");
        options = scrape_settings_common(setup);
        options.profile = &scrape_kubelet;
        options.credentials = raw;
        if (raw.is_insecure)
                options.credentials.files[CREDENTIALS_CA] = NULL;
        if (raw.files[CREDENTIALS_CERT])
                options.credentials.files[CREDENTIALS_TOKEN] = NULL;
        scrape_settings_put(set, &kubelet_kind, &options);
        return setup->opens_files && source_set_item(set, &kubelet_kind)
                       ? open_kubelet_files(options.credentials.files, err)
                       : 0;
}

const struct source_kind kubelet_kind = {
        .name = "kubelet",
        .hint = "--kubelet-ca-file, --node-address-types, and the rule for nodes/metrics (get) in "
                "the ClusterRole",
        .measure = "CPU without waiting for I/O, memory as the working set: usually lower than "
                   "node_exporter's",
        .ops = &scraper_ops,
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .configure = configure_kubelet,
};
