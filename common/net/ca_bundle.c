#include "net/ca_bundle.h"

#include <stddef.h>
#include <unistd.h>

const char *const ca_bundle_places[] = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/cert.pem",
        NULL,
};

const char *ca_bundle_find(const char *named, const char *const *places) {
        if (named && *named)
                return named;
        for (; *places; places++) {
                if (access(*places, R_OK) == 0)
                        return *places;
        }
        return NULL;
}
