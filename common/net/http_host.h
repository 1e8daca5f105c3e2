/*
 * Which hosts the HTTP server answers for on a loopback address. Private to the server.
 *
 * A web page whose name was made to resolve to 127.0.0.1 (DNS rebinding) could read what
 * `kubectl port-forward` brings to that machine. Its requests carry the page's name, so a request
 * to a loopback address must ask for a name that nobody can own in public DNS.
 */
#pragma once

#include <stdbool.h>

/** http_host_is_private() - whether @host ("localhost:8090") is an address, empty, or a name that
 * public DNS cannot have */
bool http_host_is_private(const char *host);
