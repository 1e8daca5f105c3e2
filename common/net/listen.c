#include "net/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
        LISTEN_BACKLOG = 511,
        /* The kernel doubles it, for its own structures. Half of it is less than a segment of the
         * loopback, and each segment would wait for a delayed acknowledgement. */
        SEND_BUFFER_BYTES = 64 << 10,
};

static int listen_on(const struct addrinfo *address) {
        int one = 1, zero = 0, send_buffer_bytes = SEND_BUFFER_BYTES;

        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof(send_buffer_bytes));
        if (address->ai_family == AF_INET6)
                (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
        if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
                int code = errno;
                close(fd);
                return -code;
        }
        return fd;
}

static int resolve(const char *name, uint16_t port, struct addrinfo **ret, struct error *err) {
        const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                       .ai_socktype = SOCK_STREAM};
        char service[8];

        (void)snprintf(service, sizeof(service), "%u", port);
        if (getaddrinfo(name, service, &hints, ret) != 0)
                return error_set(err, EINVAL,
                                 "expected an IP address such as 127.0.0.1, 0.0.0.0 or ::, got "
                                 "'%.64s'",
                                 name);
        return 0;
}

int listen_check(const char *bind_address, struct error *err) {
        struct addrinfo *address;

        int r = bind_address ? resolve(bind_address, 0, &address, err) : 0;
        if (bind_address && r == 0)
                freeaddrinfo(address);
        return r;
}

int listen_open(const char *bind_address, uint16_t port, struct error *err) {
        const char *names[] = {bind_address, NULL, NULL};
        int fd = -EADDRNOTAVAIL;

        if (!bind_address) {
                names[0] = "::"; /* accepts IPv4 as well */
                names[1] = "0.0.0.0";
        }
        for (size_t i = 0; names[i] && fd < 0; i++) {
                struct addrinfo *address;
                int r = resolve(names[i], port, &address, err);
                if (r < 0)
                        return r;
                fd = listen_on(address);
                freeaddrinfo(address);
                if (fd < 0 && fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL)
                        break; /* IPv6 works: the error has another cause */
        }
        if (fd < 0)
                return error_set(err, fd, "listen on %s port %u: %s",
                                 bind_address ? bind_address : "every address", port,
                                 strerror(-fd));
        return fd;
}

uint16_t listen_port(int fd) {
        union listen_address name = {0};
        socklen_t len = sizeof(name);

        (void)getsockname(fd, &name.any, &len);
        return ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
}
