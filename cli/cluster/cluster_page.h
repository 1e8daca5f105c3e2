/*
 * Where the pages of our programs are: the API server's proxy reaches a pod by its port and its
 * scheme, and the pod's spec says both to the kubelet.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define PROGRAM_CONTROLLER "plimsoll-controller"
#define PROGRAM_EXTENDER "plimsoll-extender"

/**
 * cluster_page_container() - the container that runs @program: the one called "controller" or
 * "extender", as in deploy/, or else the first
 * @spec: of a Pod, or of a Deployment's template
 * Return: borrowed; NULL: there are no containers
 */
const json_t *cluster_page_container(const json_t *spec, const char *program);

struct cluster_place {
        int port;       /* 0: the container names none */
        bool is_tls;    /* it serves HTTPS */
        bool is_mutual; /* and answers only clients with a certificate */
};

/**
 * cluster_page_place() - where @program serves, by what its container tells the kubelet: the
 * readiness probe, or else the first port
 *
 * A probe that only connects stands for mutual TLS: the kubelet has no certificate to show.
 */
struct cluster_place cluster_page_place(const json_t *spec, const char *program);

/**
 * cluster_page_path() - the API server's path of a page of a pod
 * @program: PROGRAM_CONTROLLER or PROGRAM_EXTENDER; one of the pod's containers runs it
 * @page:    without a slash at its beginning, with its query, percent-encoded
 * Return: owned by the caller; NULL: the pod does not run
 */
char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page);
