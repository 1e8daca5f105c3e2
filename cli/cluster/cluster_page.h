/*
 * Where the pages of our programs are. The API server's proxy needs a pod's port and scheme, and
 * both are in the pod's spec.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define PROGRAM_CONTROLLER "plimsoll-controller"
#define PROGRAM_EXTENDER "plimsoll-extender"

/** cluster_page_runs() - do the labels say that the pod runs @program? */
bool cluster_page_runs(const json_t *pod, const char *program);

/**
 * cluster_page_container() - the container that runs @program: "controller" or "extender", as in
 * deploy/, or else the first
 * @spec: of a Pod, or of a Deployment's template
 * Return: borrowed; NULL: there are no containers
 */
const json_t *cluster_page_container(const json_t *spec, const char *program);

struct cluster_place {
        int port;    /* 0: unknown */
        bool is_tls; /* HTTPS */
};

/** cluster_page_place() - where @program serves its pages, by the readiness probe of its container,
 * or else its first port */
struct cluster_place cluster_page_place(const json_t *spec, const char *program);

/**
 * cluster_page_path() - the API server's path of a page of a pod
 * @program: PROGRAM_CONTROLLER or PROGRAM_EXTENDER
 * @page:    without a leading slash, with its query, percent-encoded
 * Return: owned by the caller; NULL: the pod does not run, or not @program
 */
char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page);
