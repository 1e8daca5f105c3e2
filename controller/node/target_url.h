/*
 * The URL of a node's exporter, from a template with {node} and {address}; and that of its kubelet.
 * Pure.
 *
 *     http://10.0.0.7:9100/metrics?collect%5B%5D=cpu&collect%5B%5D=meminfo
 *     https://[fd00::7]:9100/metrics
 *     http://proxy:8001/api/v1/nodes/{node}:9100/proxy/metrics
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"

enum { TARGET_URL_MAX = 4096 };

/**
 * target_url_check() - whether URLs can be built from @template
 *
 * It begins with http:// or https:// and contains {node} or {address}. Any other placeholder, a
 * user, an unpaired brace, a space or a control character is an error.
 * Return: 0; -EINVAL, @err says why. It does not show the URL, which may hold a secret
 */
_must_check_ int target_url_check(const char *template, struct error *err);

/** target_url_needs_address() - false for a template without {address} */
bool target_url_needs_address(const char *template);

/**
 * target_url_build() - append a node's URL
 * @node, @address: are percent-encoded; an IPv6 address as the host is put in brackets. @address
 *                  may be NULL if target_url_needs_address() is false
 * Return: false when @out has overflowed
 */
bool target_url_build(const char *template, const char *node, const char *address, struct buf *out);
/** target_url_of_kubelet() - by HTTPS; @path begins with a slash. Return: as above */
bool target_url_of_kubelet(const char *address, uint16_t port, const char *path, struct buf *out);

/** target_url_add_collectors() - append ?collect[]=... or &collect[]=... for each; @out holds a URL
 */
bool target_url_add_collectors(const char *const *collectors, size_t count, struct buf *out);

/** target_url_to_log() - cut the query off @url, since it may hold a token. Return: @url's text, ""
 * when there is none */
const char *target_url_to_log(struct buf *url);

/**
 * target_url_is_valid() - an absolute http or https URL with a host, for --target NAME=URL
 *
 * It has no user or password: credentials come from files, since URLs are logged.
 */
bool target_url_is_valid(const char *url);
/** target_url_is_path() - an absolute path, without a query or fragment, as it may stand in a URL
 */
bool target_url_is_path(const char *path);
/** target_url_has_user() - whether @url has a user or password; @url need not be valid */
bool target_url_has_user(const char *url);
