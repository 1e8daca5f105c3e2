/*
 * Which requests the HTTP server refuses by their headers, private to it.
 *
 * Framing: a proxy in front of the server must see the same end of each request (RFC
 * 9112, 5.1, 6.1, 6.3). libmicrohttpd 0.9.75 takes the first of two lengths, does not recognise a
 * header with a blank before its colon, and appends a folded line to the header's name.
 *
 * Host: a web page whose name was made to resolve to 127.0.0.1 (DNS rebinding) could read what
 * `kubectl port-forward` brings to that machine. Its requests carry the page's name, so a
 * connection to a loopback address must ask for a name that nobody can own in public DNS.
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>

/**
 * http_headers_status() - the status to refuse a request with, whose headers have been read; the
 * connection is then to be closed
 * @is_loopback: the client connected to a loopback address
 * Return: 0: it is not refused; 400; 421 a Host that is not for us
 */
int http_headers_status(struct MHD_Connection *mhd, bool is_loopback);

/** http_host_is_private() - whether @host ("localhost:8090") is an address, or a name that public
 * DNS has not */
bool http_host_is_private(const char *host);
