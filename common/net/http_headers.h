/*
 * Which requests the HTTP server refuses by their headers, private to it.
 *
 * Framing: a proxy in front of the server must see the same end of each request (RFC 9112, 5.1, 6.1,
 * 6.3). libmicrohttpd 0.9.75 takes the first of two lengths, does not recognise a header with a
 * blank before its colon, and appends a folded line to the header's name.
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>

/**
 * http_headers_status() - the status to refuse a request with, whose headers have been read; the
 * connection is then to be closed
 * Return: 0: it is not refused; 400
 */
int http_headers_status(struct MHD_Connection *mhd);
