#include "controller/kubelet_settings.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "kube/secret.h"

static int open_files(const struct credentials_options *credentials, struct error *err) {
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

int kubelet_settings_read(const struct kubelet_settings *settings, bool opens_files,
                          struct source_set_options *ret, struct error *err) {
        const struct scrape_options *common = &ret->node_exporter;

        if (!settings->certificate != !settings->key)
                return error_set(err, EINVAL,
                                 "--kubelet-client-certificate and --kubelet-client-key must be "
                                 "set together");
        ret->kubelet = (struct scrape_options){
                .profile = &scrape_kubelet,
                .interval_ms = common->interval_ms,
                .timeout_ms = common->timeout_ms,
                .max_page_bytes = common->max_page_bytes,
                .is_at_once = common->is_at_once,
                .credentials = {.ca_file = settings->is_insecure ? NULL : settings->ca_file,
                                .is_insecure = settings->is_insecure,
                                .bearer_token_file = settings->certificate ? NULL
                                                                           : settings->token_file,
                                .cert_file = settings->certificate,
                                .key_file = settings->key},
        };
        return opens_files && source_set_has(ret, SOURCE_KUBELET)
                       ? open_files(&ret->kubelet.credentials, err)
                       : 0;
}
