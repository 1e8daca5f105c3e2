/* The paths of our programs' pages in the API server's proxy. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/**
 * cluster_page_path() - the API server's path of a page of a pod
 * @program: PROGRAM_CONTROLLER or PROGRAM_EXTENDER; one of the pod's containers runs it
 * @page:    without a slash at its beginning, with its query, percent-encoded
 * Return: owned by the caller; NULL: the pod does not run
 */
char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page);
/** cluster_page_is_mutual() - whether the pod's extender answers only clients with a certificate */
bool cluster_page_is_mutual(const json_t *pod);
