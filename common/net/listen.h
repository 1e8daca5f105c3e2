/* Listening TCP sockets, on one address or on all IPv4 and IPv6 addresses. */
#pragma once

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/attributes.h"
#include "base/error.h"

/* The address of either end of a connection; all zero if it is unknown. */
union listen_address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

/**
 * listen_open() - bind and listen; close-on-exec and non-blocking
 *
 * The kernel buffers about 128 KiB per connection for a slow peer, instead of up to 4 MiB, which
 * would count as memory of the program's cgroup.
 * @bind_address: "127.0.0.1", "::", ...; NULL: all addresses, IPv4 and, if available, IPv6
 * @port:         0: any free port, see listen_port()
 * Return: the descriptor; negative errno with the address and port in @err
 */
_must_check_ int listen_open(const char *bind_address, uint16_t port, struct error *err);
/** listen_check() - -EINVAL unless listen_open() can use @bind_address */
_must_check_ int listen_check(const char *bind_address, struct error *err);
/** listen_port() - the local port; 0 if @fd is not a bound TCP socket */
uint16_t listen_port(int fd);
