/*
 * Where the pages of our programs are. The API server's proxy needs a pod's port and scheme, and
 * both are in the pod's spec.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define PROGRAM_CONTROLLER "plimsoll-controller"
#define PROGRAM_EXTENDER "plimsoll-extender"

/** cluster_page_runs() - do the labels say that the pod runs @program? A second scheduler's runs an
 * extender, too */
bool cluster_page_runs(const json_t *pod, const char *program);

/**
 * cluster_page_path() - the API server's path of a page of a pod, where the readiness probe looks
 * @program: PROGRAM_CONTROLLER or PROGRAM_EXTENDER
 * @page:    without a leading slash, with its query, percent-encoded
 * Return: owned by the caller; NULL: the pod does not run, or not @program, or has no name
 */
char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page);
