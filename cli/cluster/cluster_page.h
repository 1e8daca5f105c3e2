/* Pages of our programs, through the API server's proxy of pods. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/**
 * cluster_page_path() - where the API server shows a page of a pod
 * @program: PROGRAM_CONTROLLER or PROGRAM_EXTENDER, which one of the pod's containers runs
 * @page:    without the slash before it; with its query, percent-encoded
 * Return: owned by the caller; NULL: the pod does not run
 */
char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page);
/** cluster_page_is_mutual() - whether the pod's extender answers only clients with a certificate */
bool cluster_page_is_mutual(const json_t *pod);
