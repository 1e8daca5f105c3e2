/* A kubeconfig: what is accepted holds no control character where a header will be made of it. */
#include <string.h>

#include "fuzz.h"
#include "kube/kubeconfig.h"

static void check_token(const char *text) {
        for (; text && *text; text++)
                require((unsigned char)*text >= 0x21 && *text != 0x7f);
}

static void check_pair(const char *file, const char *pem) {
        require(!file || !pem);
        require(!pem || strstr(pem, "-----BEGIN "));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;
        struct kubeconfig config = {0};
        struct error err = ERROR_NULL;

        int r = kubeconfig_parse(text, size, "/nonexistent/config", &config, &err);
        require((r < 0) == (err.msg[0] != '\0'));
        if (r == 0) {
                check_token(config.token.text);
                check_pair(config.ca.path, config.ca.text);
                check_pair(config.cert.path, config.cert.text);
                check_pair(config.key.path, config.key.text);
                require(!(config.cert.path || config.cert.text) ==
                        !(config.key.path || config.key.text));
                require(!config.token.path || config.token.path[0] == '/');
        }
        kubeconfig_done(&config);
        return 0;
}
