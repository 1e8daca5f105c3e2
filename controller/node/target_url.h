/*
 * The URLs of a node's exporter, from a template with {node} and {address}, and of its kubelet.
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
 * target_url_check() - check a template
 *
 * It begins with http:// or https://, and contains {node} or {address}. Other placeholders, a user,
 * an unpaired brace, a space and control characters are errors. Return: 0; -EINVAL. @err does not
 * show the URL, which may contain a secret
 */
_must_check_ int target_url_check(const char *template, struct error *err);

/** target_url_needs_address() - false for a template without {address} */
bool target_url_needs_address(const char *template);

/**
 * target_url_build() - append a node's URL
 * @node, @address: are percent-encoded; an IPv6 address as the host is put in brackets. @address
 *                  may be NULL if target_url_needs_address() is false
 * Return: false: @out has overflowed
 */
bool target_url_build(const char *template, const char *node, const char *address, struct buf *out);
/** target_url_of_kubelet() - append the HTTPS URL of a kubelet; @path begins with a slash. Return:
 * as above */
bool target_url_of_kubelet(const char *address, uint16_t port, const char *path, struct buf *out);

/** target_url_add_collectors() - append ?collect[]=... or &collect[]=... for each to the URL in
 * @out */
bool target_url_add_collectors(const char *const *collectors, size_t count, struct buf *out);

/** target_url_to_log() - remove the query from @url, since it may contain a token. Return: the text
 * of
 * @url; "" if it is empty */
const char *target_url_to_log(struct buf *url);

/**
 * target_url_is_valid() - is @url an absolute http or https URL with a host?
 *
 * A user or password is not allowed: URLs are logged, so credentials come from files.
 */
bool target_url_is_valid(const char *url);
/** target_url_is_path() - is @path absolute, without query and fragment, and valid in a URL? */
bool target_url_is_path(const char *path);
/** target_url_has_user() - does @url have a user or password? It need not be valid */
bool target_url_has_user(const char *url);
