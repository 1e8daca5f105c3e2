/*
 * The file with the CA certificates that this machine trusts. libcurl knows only the path of the
 * system that it was built for, but a statically linked program also runs on others.
 */
#pragma once

/**
 * ca_bundle_find() - find the file
 * @configured: the user's choice (SSL_CERT_FILE); NULL or empty: none
 * @paths:      to try in this order, NULL-terminated
 * Return: @configured if it is set, readable or not; else the first readable of @paths, borrowed;
 * NULL if there is none
 */
const char *ca_bundle_find(const char *configured, const char *const *paths);

/* The paths of Debian, Fedora, openSUSE, RHEL and Alpine. */
extern const char *const ca_bundle_paths[];
