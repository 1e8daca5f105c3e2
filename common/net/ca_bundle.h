/*
 * Where this machine keeps the certificates of the CAs that it trusts. libcurl knows one place,
 * that of the system it was built for; a program that is linked statically runs on others too.
 */
#pragma once

/**
 * ca_bundle_find() - the file with the CAs that this machine trusts
 * @named:  what the user names (SSL_CERT_FILE), NULL or empty if nothing
 * @places: paths in the order in which they are tried, ending with NULL
 * Return: @named if there is such a name, whether or not it can be read, else the first of @places
 * that can be read, borrowed; NULL if there is none
 */
const char *ca_bundle_find(const char *named, const char *const *places);

/* The places of Debian, Fedora, openSUSE, RHEL and Alpine, for ca_bundle_find(). */
extern const char *const ca_bundle_places[];
