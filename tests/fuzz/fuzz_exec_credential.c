/* What a credential plugin printed: an accepted token can stand in a header. */
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "kube/exec_credential.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;
        struct exec_credential credential = {0};

        if (exec_credential_parse(text, size, "client.authentication.k8s.io/v1", &credential,
                                  NULL) == 0) {
                if (!credential.token && !credential.cert_pem)
                        abort();
                if (!credential.cert_pem != !credential.key_pem)
                        abort();
                for (const char *c = credential.token; c && *c; c++)
                        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
                                abort();
        }
        exec_credential_done(&credential);
        return 0;
}
