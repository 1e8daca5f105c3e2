/* Pages of our programs, through the API server's proxy of pods. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/**
 * cluster_page_path() - where the API server shows a page of a pod
 * @pod:           of a list; its first container is one of our programs
 * @fallback_port: of a container that declares none
 * @page:          without the slash before it; with its query, percent-encoded
 * Return: owned by the caller; NULL: the pod does not run
 */
char *cluster_page_path(const char *name_space, const json_t *pod, int fallback_port,
                        const char *page);
/** cluster_page_has_flag() - whether the program is started with @flag, such as "--port" */
bool cluster_page_has_flag(const json_t *pod, const char *flag);
