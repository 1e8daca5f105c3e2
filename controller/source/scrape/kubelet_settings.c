#include "controller/source/scrape/kubelet_settings.h"

#include <errno.h>
#include <string.h>

#include "controller/source/scrape/scrape_settings.h"
#include "controller/source/source_set.h"
#include "kube/secret.h"
#include "program/options.h"

#define KUBELET_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* Where the rows put their values. */
static struct {
        const char *ca_file, *token_file, *certificate, *key;
        bool is_insecure;
} raw;

static struct scrape_options options; /* what they come to */

/* clang-format off */
static const struct option_row rows[] = {
        {.help = "Kubelet source"},
        {.name = "kubelet-ca-file", .type = OPTION_STRING, .value = &raw.ca_file,
         .fallback = KUBELET_ACCOUNT "/ca.crt", .metavar = "FILE",
         .help = "Certificate authorities of the kubelets. A kubelet's certificate must have "
                 "the name of its node."},
        {.name = "kubelet-insecure-skip-verify", .type = OPTION_BOOL, .value = &raw.is_insecure,
         .help = "Do not verify the kubelets' certificates. Whoever can answer at a node's "
                 "address then gets the token, and all that the controller may do with it, "
                 "unless there is a client certificate in its place."},
        {.name = "kubelet-bearer-token-file", .type = OPTION_STRING, .value = &raw.token_file,
         .fallback = KUBELET_ACCOUNT "/token", .metavar = "FILE",
         .help = "File with the token for the kubelets; read again every minute. Not used with "
                 "a client certificate."},
        {.name = "kubelet-client-certificate", .type = OPTION_STRING, .value = &raw.certificate,
         .metavar = "FILE",
         .help = "Client certificate for the kubelets, with --kubelet-client-key; read again "
                 "every minute. Kubelets need not ask the API server about it, as about a token."},
        {.name = "kubelet-client-key", .type = OPTION_STRING, .value = &raw.key,
         .metavar = "FILE",
         .help = "Key of the client certificate."}
};
/* clang-format on */

/* Not the defaults: only a pod has those files. */
static int open_kubelet_files(const struct credentials_options *credentials, struct error *err) {
        const struct {
                const char *flag, *path;
                enum secret_kind kind;
        } files[] = {
                {"--kubelet-ca-file", credentials->ca_file, SECRET_PEM},
                {"--kubelet-bearer-token-file", credentials->bearer_token_file, SECRET_TOKEN},
                {"--kubelet-client-certificate", credentials->cert_file, SECRET_PEM},
                {"--kubelet-client-key", credentials->key_file, SECRET_PEM},
        };

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                _cleanup_(secret_freep) char *text = NULL;
                const char *path = files[i].path;
                if (!path || strcmp(path, KUBELET_ACCOUNT "/ca.crt") == 0 ||
                    strcmp(path, KUBELET_ACCOUNT "/token") == 0)
                        continue;
                int r = secret_read_file(files[i].kind, path, &text, err);
                if (r < 0)
                        return error_wrap(err, r, "%s", files[i].flag);
        }
        return 0;
}

static int configure_kubelet(struct source_set_options *set, const struct source_setup *setup,
                             struct error *err) {
        if (!raw.certificate != !raw.key)
                return error_set(err, EINVAL,
                                 "--kubelet-client-certificate and --kubelet-client-key must be "
                                 "set together");
        options = scrape_settings_common(setup);
        options.profile = &scrape_kubelet;
        options.credentials = (struct credentials_options){
                .ca_file = raw.is_insecure ? NULL : raw.ca_file,
                .is_insecure = raw.is_insecure,
                .bearer_token_file = raw.certificate ? NULL : raw.token_file,
                .cert_file = raw.certificate,
                .key_file = raw.key};
        scrape_settings_put(set, &kubelet_kind, &options);
        return setup->opens_files && source_set_item(set, &kubelet_kind)
                       ? open_kubelet_files(&options.credentials, err)
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
