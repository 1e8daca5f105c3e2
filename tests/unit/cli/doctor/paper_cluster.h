/*
 * A cluster on paper, for tests of who looks at one: an API server that answers with the objects of
 * an installation that lacks nothing, at a time of its own. Texts have ' in place of ".
 */
#pragma once

#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/glob.h"
#include "base/mem.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_facts.h"
#include "net/http_server.h"

enum { PAPER_CHANGES = 5, PAPER_MAX_BYTES = 1 << 20 };

#define PAPER_NOW_UNIX_MS 1772366400000 /* 2026-03-01T12:00:00Z */

#define PAPER_SYSTEM "/api/v1/namespaces/kube-system"
#define PAPER_APPS "/apis/apps/v1/namespaces/kube-system/deployments/plimsoll-"
#define PAPER_LABELS(program)                                                                      \
        "'metadata': {'labels': {'app.kubernetes.io/name': 'plimsoll-" program "'}}"
#define PAPER_SPEC(program, port)                                                                  \
        "'spec': {'containers': [{'name': '" program "', 'ports': [{'name': 'p', "                 \
        "'containerPort': " port "}], 'readinessProbe': {'httpGet': {'port': 'p'}}}]}"
#define PAPER_POD(program, number, port)                                                           \
        "{'metadata': {'name': 'plimsoll-" program "-" number "', 'labels': "                      \
        "{'app.kubernetes.io/name': 'plimsoll-" program "'}}, " PAPER_SPEC(                        \
                program,                                                                           \
                port) ", "                                                                         \
                      "'status': {'phase': 'Running', 'containerStatuses': [{'name': '" program    \
                      "', "                                                                        \
                      "'restartCount': 0}]}}"
#define PAPER_DEPLOYMENT(program, port)                                                            \
        "{'spec': {'replicas': 2, 'template': {" PAPER_LABELS(program) ", " PAPER_SPEC(            \
                program, port) "}}, 'status': {'readyReplicas': 2}}"
/* A change of a flag replaces the last line. What is not set is not shown. */
#define PAPER_CONTROLLER_FLAGZ                                                                     \
        "\nplimsoll-controller flagz\n\nmetrics-source=node-exporter,kubelet\nstrict=false\n"
#define PAPER_EXTENDER_FLAGZ "\nplimsoll-extender flagz\n\nannotation-prefix=\nstrict=false\n"
#define PAPER_CONTROLLER_FLAGS "*/plimsoll-controller-?:*/proxy/flagz"
#define PAPER_EXTENDER_FLAGS "*/plimsoll-extender-?:*/proxy/flagz"
/* A change of a flag replaces the last line. */
#define PAPER_SET(program, flag)                                                                   \
        { program, "strict=false", flag }
#define PAPER_CONTROLLER_PAGE(leads)                                                               \
        "plimsoll_api_refused{resource='nodes',verb='GET'} 0\n"                                    \
        "plimsoll_build_info{version='" PLIMSOLL_VERSION "'} 1\n"                                  \
        "plimsoll_idle_mixed_pods 0\n"                                                             \
        "plimsoll_idle_offered_cores 0\n"                                                          \
        "plimsoll_leader " leads "\n"                                                              \
        "plimsoll_nodes 4\n"                                                                       \
        "plimsoll_pods 40\n"                                                                       \
        "plimsoll_pods_measured 35\n"                                                              \
        "plimsoll_kubelets_failing 0\n"                                                            \
        "plimsoll_policy_failed 0\n"                                                               \
        "plimsoll_policy_object_deleted 0\n"
#define PAPER_STATUS                                                                               \
        "{'checks': ['[+] nodes: 4 nodes'], 'policy': {'metrics': [{'name': 'cpu_usage_avg_5m'}, " \
        "{'name': 'mem_usage_avg_5m'}, {'name': 'cpu_usage_max_avg_1h'}]}, 'nodes': ["             \
        "{'name': 'node-0', 'usage': [0.25, 0.25, null]}], 'nodeCount': 4, 'sources': ["           \
        "{'name': 'node-exporter', 'nodesServed': 4, 'nodesFailing': 0}, "                         \
        "{'name': 'kubelet', 'nodesServed': 0, 'nodesFailing': 0}], 'failures': []}"
#define PAPER_LAST_CALL "1772366390" /* ten seconds ago */
#define PAPER_EXTENDER_PAGE          /* its certificate ends in 30 days */                         \
        "plimsoll_api_refused{resource='nodes',verb='GET'} 0\n"                                    \
        "plimsoll_build_info{version='" PLIMSOLL_VERSION "'} 1\n"                                  \
        "plimsoll_extender_last_binding_timestamp_seconds 1772366000\n"                            \
        "plimsoll_extender_last_call_timestamp_seconds " PAPER_LAST_CALL "\n"                      \
        "plimsoll_extender_readings{state='usable'} 8\n"                                           \
        "plimsoll_extender_readings{state='missing'} 4\n"                                          \
        "plimsoll_extender_readings{state='malformed'} 0\n"                                        \
        "plimsoll_extender_readings{state='expired'} 0\n"                                          \
        "plimsoll_extender_request_duration_seconds_bucket{le='0.1'} 500\n"                        \
        "plimsoll_extender_request_duration_seconds_bucket{le='+Inf'} 500\n"                       \
        "plimsoll_extender_requests_total{code='200'} 500\n"                                       \
        "plimsoll_extender_skewed_readings 0\n"                                                    \
        "plimsoll_extender_table_nodes 4\n"                                                        \
        "plimsoll_policy_failed 0\n"                                                               \
        "plimsoll_policy_object_deleted 0\n"                                                       \
        "plimsoll_tls_certificate_expiry_timestamp_seconds 1774958400\n"                           \
        "process_start_time_seconds 1772000000\n"
/* No path of the API server: the file of --scheduler-config. */
#define PAPER_CONFIG "scheduler.yaml"

/* NULL: there is none. */
static const struct {
        const char *path, *body;
} paper_objects[] = {
        {"/version", "{'minor': '36+'}"},
        {"/apis/scheduler.policy.crane.io/v1alpha1", "{}"},
        {"/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies/default",
         "{'apiVersion': 'scheduler.policy.crane.io/v1alpha1', 'kind': 'DynamicSchedulerPolicy', "
         "'metadata': {'name': 'default', 'generation': 3}, 'spec': {"
         "'syncPolicy': [{'name': 'cpu_usage_avg_5m', 'period': '3m'}, "
         "{'name': 'mem_usage_avg_5m', 'period': '3m'}, "
         "{'name': 'cpu_usage_max_avg_1h', 'period': '15m'}], "
         "'predicate': [{'name': 'cpu_usage_avg_5m', 'maxLimitPecent': 0.8}], "
         "'priority': [{'name': 'mem_usage_avg_5m', 'weight': 1}], "
         "'extender': {'scoring': 'estimate'}}, 'status': {'observedGeneration': 3, "
         "'conditions': [{'type': 'InForce', 'status': 'True', 'message': 'valid'}]}}"},
        {PAPER_APPS "controller", PAPER_DEPLOYMENT("controller", "8090")},
        {PAPER_APPS "extender", PAPER_DEPLOYMENT("extender", "8010")},
        {PAPER_APPS "scheduler", NULL},
        {PAPER_SYSTEM "/services/plimsoll-extender",
         "{'spec': {'selector': {'app.kubernetes.io/name': 'plimsoll-extender'}}}"},
        {PAPER_SYSTEM "/pods",
         "{'items': [" PAPER_POD("controller", "0", "8090") ", " PAPER_POD(
                 "controller", "1", "8090") ", " PAPER_POD("extender", "0",
                                                           "8010") ", " PAPER_POD("extender", "1",
                                                                                  "8010") "]}"},
        {"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"
         "plimsoll-controller-nodes",
         "{}"},
        {"/apis/plimsoll.io/v1alpha1", NULL},
        {"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/plimsoll-admission",
         NULL},
        {"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/"
         "plimsoll-admission",
         NULL},
        {"/apis/plimsoll.io/v1alpha1/preferrednodes/default", NULL},
        {"/api/v1/namespaces", "{'items': []}"},
        {PAPER_SYSTEM "/pods/plimsoll-controller-0:8090/proxy/metrics", PAPER_CONTROLLER_PAGE("0")},
        {PAPER_SYSTEM "/pods/plimsoll-controller-1:8090/proxy/metrics", PAPER_CONTROLLER_PAGE("1")},
        {PAPER_SYSTEM "/pods/plimsoll-extender-0:8010/proxy/metrics", PAPER_EXTENDER_PAGE},
        {PAPER_SYSTEM "/pods/plimsoll-extender-1:8010/proxy/metrics", PAPER_EXTENDER_PAGE},
        {PAPER_SYSTEM "/pods/plimsoll-controller-0:8090/proxy/flagz", PAPER_CONTROLLER_FLAGZ},
        {PAPER_SYSTEM "/pods/plimsoll-controller-1:8090/proxy/flagz", PAPER_CONTROLLER_FLAGZ},
        {PAPER_SYSTEM "/pods/plimsoll-extender-0:8010/proxy/flagz", PAPER_EXTENDER_FLAGZ},
        {PAPER_SYSTEM "/pods/plimsoll-extender-1:8010/proxy/flagz", PAPER_EXTENDER_FLAGZ},
        {"/api/v1/pods", NULL},
        {PAPER_SYSTEM "/pods/plimsoll-controller-0:8090/proxy/status.json", PAPER_STATUS},
        {PAPER_SYSTEM "/pods/plimsoll-controller-1:8090/proxy/status.json", PAPER_STATUS},
        {PAPER_CONFIG, "kind: KubeSchedulerConfiguration\n"
                       "profiles:\n"
                       "- schedulerName: default-scheduler\n"
                       "extenders:\n"
                       "- urlPrefix: http://127.0.0.1:8010/v1\n"
                       "  filterVerb: filter\n"
                       "  prioritizeVerb: prioritize\n"
                       "  weight: 3\n"
                       "  nodeCacheCapable: true\n"
                       "  ignorable: true\n"
                       "  httpTimeout: 200ms\n"},
};

struct paper_change {
        const char *where;     /* a glob of paths; NULL: no change */
        const char *old, *new; /* old NULL: all of it; new NULL: it is gone; a number: a status */
        size_t times;          /* only the first ones of each object; left out: all */
};

struct paper_cluster {
        char *bodies[ARRAY_LEN(paper_objects)]; /* owned */
        struct tree *config; /* of the file that facts were collected with last */
        struct http_server *server;
        struct cluster *cluster;
};

static inline char *paper_text(const char *text) {
        char *copy = xstrdup(text);

        for (char *at = copy; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        return copy;
}

static inline void paper_handle(void *userdata, struct http_exchange *exchange) {
        const struct paper_cluster *paper = userdata;
        const char *body = NULL;

        for (size_t i = 0; i < ARRAY_LEN(paper_objects); i++)
                if (strcmp(exchange->path, paper_objects[i].path) == 0)
                        body = paper->bodies[i];
        exchange->status = body ? (int)strtol(body, NULL, 10) : 404;
        if (exchange->status != 0)
                return;
        /* With a copy: the client has the reply, and may change the body, before it is released. */
        struct iovec *piece = xmalloc(sizeof(*piece) + strlen(body));
        *piece = (struct iovec){piece + 1, strlen(body)};
        memcpy(piece + 1, body, strlen(body));
        exchange->status = 200;
        exchange->reply_content_type = body[0] == '{' ? "application/json" : "text/plain";
        exchange->reply = piece;
        exchange->reply_count = 1;
        exchange->release = free;
        exchange->release_userdata = piece;
}

/* Puts everything as it was. */
static inline void paper_reset(struct paper_cluster *paper) {
        for (size_t i = 0; i < ARRAY_LEN(paper_objects); i++) {
                const char *body = paper_objects[i].body;
                free(paper->bodies[i]);
                paper->bodies[i] = body ? paper_text(body) : NULL;
        }
}

/* @text with @new in place of @old; owned by the caller. */
static inline char *paper_replaced(const char *text, const struct paper_change *change,
                                   size_t *count) {
        _cleanup_(freep) char *old = paper_text(change->old), *new = paper_text(change->new);
        struct buf out = BUF_INIT(PAPER_MAX_BYTES);
        const char *there;

        for (size_t i = 0; (i < change->times || change->times == 0) && (there = strstr(text, old));
             i++) {
                buf_append(&out, text, (size_t)(there - text));
                buf_puts(&out, new);
                text = there + strlen(old);
                ++*count;
        }
        buf_puts(&out, text);
        return buf_take(&out);
}

/* A change that finds nothing to change fails the test. */
static inline void paper_change(struct paper_cluster *paper, const struct paper_change *change) {
        size_t count = 0;

        for (size_t i = 0; i < ARRAY_LEN(paper_objects); i++) {
                const char *path = paper_objects[i].path;
                if (!glob_matches(change->where, path, strlen(path)))
                        continue;
                char *before = paper->bodies[i];
                if (!change->old) {
                        paper->bodies[i] = change->new ? paper_text(change->new) : NULL;
                        count++;
                } else if (before) {
                        paper->bodies[i] = paper_replaced(before, change, &count);
                }
                free(before);
        }
        if (count == 0)
                fail_msg("%s has no %s", change->where, change->old ? change->old : "place");
}

static inline int paper_collect(struct paper_cluster *paper, struct doctor_facts *ret,
                                struct error *err) {
        const char *config = paper->bodies[ARRAY_LEN(paper_objects) - 1];
        struct doctor_options options = {.namespace = "kube-system"};

        tree_free(TAKE_PTR(paper->config));
        if (config) {
                assert_int_equal(tree_parse(config, strlen(config), &paper->config, err), 0);
                options.config_name = PAPER_CONFIG;
                options.config = paper->config;
        }
        return doctor_facts_collect(paper->cluster, &options, PAPER_NOW_UNIX_MS, ret, err);
}

static inline int paper_set_up(void **state) {
        struct paper_cluster *paper = xcalloc(1, sizeof(*paper));
        struct error err = ERROR_NULL;
        const struct http_server_options options = {.bind_address = "127.0.0.1",
                                                    .threads = 1,
                                                    .max_body_bytes = PAPER_MAX_BYTES,
                                                    .handler = paper_handle,
                                                    .userdata = paper};

        paper_reset(paper);
        assert_int_equal(setenv("KUBECONFIG", "", 1) | setenv("HOME", "/none", 1), 0);
        assert_int_equal(http_server_start(&options, &paper->server, &err), 0);
        _cleanup_(freep) char *url = xasprintf("http://127.0.0.1:%d",
                                               http_server_port(paper->server));
        struct kube_access *access = NULL;
        const struct kube_access_options options_of_access = {.master = url};
        assert_int_equal(kube_access_load(&options_of_access, &access, &err), 0);
        paper->cluster = cluster_new(access);
        *state = paper;
        return 0;
}

static inline int paper_tear_down(void **state) {
        struct paper_cluster *paper = *state;

        cluster_free(paper->cluster);
        tree_free(paper->config);
        http_server_stop(paper->server, 5000);
        for (size_t i = 0; i < ARRAY_LEN(paper_objects); i++)
                free(paper->bodies[i]);
        free(paper);
        return 0;
}
