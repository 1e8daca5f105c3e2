/* A kubeconfig: what is accepted holds no control character where a header will be made of it. */
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "kube/kubeconfig.h"

static void check_token(const char *text) {
        for (; text && *text; text++)
                if ((unsigned char)*text < 0x21 || *text == 0x7f)
                        abort();
}

static void check_pair(const char *file, const char *pem) {
        if (file && pem)
                abort();
        if (pem && !strstr(pem, "-----BEGIN "))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;
        struct kubeconfig config = {0};
        struct error err = ERROR_NULL;

        int r = kubeconfig_parse(text, size, "/nonexistent/config", &config, &err);
        if ((r < 0) != (err.msg[0] != '\0'))
                abort();
        if (r == 0) {
                check_token(config.token.text);
                check_pair(config.ca.path, config.ca.text);
                check_pair(config.cert.path, config.cert.text);
                check_pair(config.key.path, config.key.text);
                if (!(config.cert.path || config.cert.text) !=
                    !(config.key.path || config.key.text))
                        abort();
                if (config.token.path && config.token.path[0] != '/')
                        abort();
        }
        kubeconfig_done(&config);
        return 0;
}
