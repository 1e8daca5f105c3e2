#include "net/ca_bundle.h"

#include <stddef.h>
#include <unistd.h>

const char *const ca_bundle_paths[] = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/cert.pem",
        NULL,
};

const char *ca_bundle_find(const char *configured, const char *const *paths) {
        if (configured && *configured)
                return configured;
        for (; *paths; paths++) {
                if (access(*paths, R_OK) == 0)
                        return *paths;
        }
        return NULL;
}
