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

enum { PAPER_NODES = 4, PAPER_CHANGES = 5, PAPER_MAX_BYTES = 1 << 20 };

#define PAPER_NOW_UNIX_MS 1772366400000 /* 2026-03-01T12:00:00Z */
#define PAPER_FRESH "0.25000,2026-03-01T11:59:30Z"
#define PAPER_REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

#define PAPER_SYSTEM "/api/v1/namespaces/kube-system"
#define PAPER_APPS "/apis/apps/v1/namespaces/kube-system/deployments/plimsoll-"
#define PAPER_CRD "dynamicschedulerpolicies.scheduler.policy.crane.io"
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
/* A change of a flag replaces the last line. */
#define PAPER_CONTROLLER_FLAGZ                                                                     \
        "\nplimsoll-controller flagz\n\n"                                                          \
        "annotation-prefix=\nannotation-timezone=UTC\nevents=true\nleader-elect=true\n"            \
        "leader-elect-resource-name=plimsoll-controller\nleader-elect-resource-namespace=\n"       \
        "metrics-source=node-exporter,kubelet\nnode-selector=\npolicy-config-path=\nstrict="       \
        "false\n"
#define PAPER_EXTENDER_FLAGZ                                                                       \
        "\nplimsoll-extender flagz\n\n"                                                            \
        "annotation-prefix=\nannotation-timezone=UTC\nannotation-unit=ratio\nbind=false\n"         \
        "policy-config-path=\nstrict=false\n"
#define PAPER_CONTROLLER_FLAGS "*/plimsoll-controller-?:*/proxy/flagz"
#define PAPER_EXTENDER_FLAGS "*/plimsoll-extender-?:*/proxy/flagz"
#define PAPER_SET(program, flag)                                                                   \
        { program, "strict=false", flag }
#define PAPER_LIST "{'kind': 'List', 'metadata': {'resourceVersion': '1'}, 'items': ["
#define PAPER_CONTROLLER_PAGE(leads)                                                               \
        "plimsoll_build_info{version='" PLIMSOLL_VERSION "'} 1\n"                                  \
        "plimsoll_leader " leads "\n"                                                              \
        "plimsoll_nodes 4\n"                                                                       \
        "plimsoll_nodes_stale 0\n"                                                                 \
        "plimsoll_patches_waiting 0\n"                                                             \
        "plimsoll_policy_failed 0\n"                                                               \
        "plimsoll_policy_object_deleted 0\n"
#define PAPER_STATUS                                                                               \
        "{'ready': true, 'checks': ['[+] nodes: 4 nodes'], 'nodes': [{'name': 'node-0', "          \
        "'source': 'node-exporter'}], 'nodeCount': 4, 'sources': [{'name': 'node-exporter', "      \
        "'nodesServed': 4, 'nodesFailing': 0}, {'name': 'kubelet', 'nodesServed': 0, "             \
        "'nodesFailing': 0}], 'failures': []}"
#define PAPER_LAST_CALL "1772366390" /* ten seconds ago */
#define PAPER_EXTENDER_PAGE          /* its certificate ends in 30 days */                         \
        "plimsoll_build_info{version='" PLIMSOLL_VERSION "'} 1\n"                                  \
        "plimsoll_extender_last_call_timestamp_seconds " PAPER_LAST_CALL "\n"                      \
        "plimsoll_extender_request_duration_seconds_bucket{le='0.1'} 500\n"                        \
        "plimsoll_extender_request_duration_seconds_bucket{le='+Inf'} 500\n"                       \
        "plimsoll_extender_requests_total{code='200'} 500\n"                                       \
        "plimsoll_extender_table_nodes 4\n"                                                        \
        "plimsoll_policy_failed 0\n"                                                               \
        "plimsoll_policy_object_deleted 0\n"                                                       \
        "plimsoll_tls_certificate_expiry_timestamp_seconds 1774958400\n"

/* NULL: there is none. The nodes, which can be more, are made by paper_nodes(). */
static const struct {
        const char *path, *body;
} paper_objects[] = {
        {"/version", "{'minor': '36+'}"},
        {"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" PAPER_CRD,
         "{'status': {'conditions': [{'type': 'Established', 'status': 'True'}]}}"},
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
         "{'spec': {'clusterIP': '10.96.0.10', 'clusterIPs': ['10.96.0.10', 'fd00:96::10'], "
         "'ports': [{'port': 8010}], "
         "'selector': {'app.kubernetes.io/name': 'plimsoll-extender'}}}"},
        {PAPER_SYSTEM "/pods",
         "{'items': [" PAPER_POD("controller", "0", "8090") ", " PAPER_POD(
                 "controller", "1", "8090") ", " PAPER_POD("extender", "0",
                                                           "8010") ", "
                                                                   "" PAPER_POD("extender", "1",
                                                                                "8010") "]}"},
        {PAPER_SYSTEM "/configmaps",
         PAPER_LIST "{'metadata': {'name': 'scheduler'}, 'data': {'config.yaml': '"
                    "kind: KubeSchedulerConfiguration\\n"
                    "profiles:\\n"
                    "- schedulerName: default-scheduler\\n"
                    "extenders:\\n"
                    "- urlPrefix: http://127.0.0.1:8010/v1\\n"
                    "  filterVerb: filter\\n"
                    "  prioritizeVerb: prioritize\\n"
                    "  weight: 3\\n"
                    "  nodeCacheCapable: true\\n"
                    "  ignorable: true\\n"
                    "  httpTimeout: 200ms\\n'}}]}"},
        {"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"
         "plimsoll-controller-nodes",
         "{}"},
        {PAPER_SYSTEM "/configmaps/cluster-autoscaler-status", NULL},
        {"/apis/karpenter.sh", NULL},
        {"/apis/certificates.k8s.io/v1/certificatesigningrequests",
         PAPER_LIST "{'metadata': {'creationTimestamp': '2026-03-01T11:00:00Z'}, "
                    "'spec': {'username': 'system:node:node-0'}, "
                    "'status': {'conditions': [{'type': 'Approved'}]}}, "
                    "{'metadata': {'creationTimestamp': '2026-03-01T11:59:00Z'}, "
                    "'spec': {'username': 'system:node:node-1'}}]}"},
        {PAPER_SYSTEM "/pods/plimsoll-controller-0:8090/proxy/metrics", PAPER_CONTROLLER_PAGE("0")},
        {PAPER_SYSTEM "/pods/plimsoll-controller-1:8090/proxy/metrics", PAPER_CONTROLLER_PAGE("1")},
        {PAPER_SYSTEM "/pods/plimsoll-extender-0:8010/proxy/metrics", PAPER_EXTENDER_PAGE},
        {PAPER_SYSTEM "/pods/plimsoll-extender-1:8010/proxy/metrics", PAPER_EXTENDER_PAGE},
        {PAPER_SYSTEM "/pods/plimsoll-controller-0:8090/proxy/flagz", PAPER_CONTROLLER_FLAGZ},
        {PAPER_SYSTEM "/pods/plimsoll-controller-1:8090/proxy/flagz", PAPER_CONTROLLER_FLAGZ},
        {PAPER_SYSTEM "/pods/plimsoll-extender-0:8010/proxy/flagz", PAPER_EXTENDER_FLAGZ},
        {PAPER_SYSTEM "/pods/plimsoll-extender-1:8010/proxy/flagz", PAPER_EXTENDER_FLAGZ},
        {PAPER_REVIEWS, "{'status': {'allowed': true}}"},
        {"/api/v1/nodes", NULL},
        {"/api/v1/pods", NULL},
        {PAPER_SYSTEM "/pods?component=kube-scheduler", NULL},
        {PAPER_SYSTEM "/pods/plimsoll-controller-0:8090/proxy/status.json", PAPER_STATUS},
        {PAPER_SYSTEM "/pods/plimsoll-controller-1:8090/proxy/status.json", PAPER_STATUS},
};

struct paper_change {
        const char *where;     /* a glob of paths; NULL: no change */
        const char *old, *new; /* old NULL: all of it; new NULL: it is gone; a number: a status */
        size_t times;          /* only the first ones of each object; left out: all */
};

struct paper_cluster {
        char *bodies[ARRAY_LEN(paper_objects)]; /* owned */
        const char *denied[2]; /* refused are reviews that hold both; NULL: none is */
        struct tree *config;   /* of the file that facts were collected with last */
        struct http_server *server;
        struct cluster *cluster;
};

static inline char *paper_text(const char *text) {
        char *copy = xstrdup(text);

        for (char *at = copy; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        return copy;
}

/* Owned by the caller. */
static inline char *paper_nodes(size_t count) {
        struct buf out = BUF_INIT(PAPER_MAX_BYTES);

        buf_puts(&out, "{'kind': 'NodeList', 'metadata': {'resourceVersion': '1'}, 'items': [");
        for (size_t i = 0; i < count; i++)
                buf_printf(&out,
                           "%s{'metadata': {'name': 'node-%zu', 'annotations': "
                           "{'cpu_usage_avg_5m': '" PAPER_FRESH "', "
                           "'mem_usage_avg_5m': '" PAPER_FRESH "', 'cri': 'unix:///run/c.sock'}, "
                           "'managedFields': [{'manager': 'plimsoll-controller', 'fieldsV1': "
                           "{'f:metadata': {'f:annotations': {'f:cpu_usage_avg_5m': {}, "
                           "'f:mem_usage_avg_5m': {}}}}}, {'manager': 'kubelet', 'fieldsV1': "
                           "{'f:metadata': {'f:annotations': {'f:cri': {}}}}}]}, "
                           "'spec': {}, "
                           "'status': {'conditions': [{'type': 'Ready', 'status': 'True'}]}}",
                           i > 0 ? ", " : "", i);
        buf_puts(&out, "]}");
        return buf_take(&out);
}

static inline void paper_handle(void *userdata, struct http_exchange *exchange) {
        const struct paper_cluster *paper = userdata;
        const char *selector = http_query(exchange, "labelSelector");
        bool is_scheduler = selector && strcmp(selector, "component=kube-scheduler") == 0;
        _cleanup_(freep) char *path = xasprintf("%s%s%s", exchange->path, is_scheduler ? "?" : "",
                                                is_scheduler ? selector : "");
        const char *body = NULL;

        for (size_t i = 0; i < ARRAY_LEN(paper_objects); i++)
                if (strcmp(path, paper_objects[i].path) == 0)
                        body = paper->bodies[i];
        if (body && paper->denied[0] && strcmp(exchange->path, PAPER_REVIEWS) == 0 &&
            strstr(exchange->body, paper->denied[0]) && strstr(exchange->body, paper->denied[1]))
                body = "{\"status\": {\"allowed\": false}}";
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

/* Puts everything as it was, with so many nodes. */
static inline void paper_reset(struct paper_cluster *paper, size_t nodes) {
        for (size_t i = 0; i < ARRAY_LEN(paper_objects); i++) {
                _cleanup_(freep) char *list = paper_nodes(nodes);
                bool is_nodes = strcmp(paper_objects[i].path, "/api/v1/nodes") == 0;
                const char *body = is_nodes ? list : paper_objects[i].body;
                free(paper->bodies[i]);
                paper->bodies[i] = body ? paper_text(body) : NULL;
        }
        paper->denied[0] = NULL;
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

/* Of the namespace, with the scheduler's configuration in a file or, if that is NULL, ConfigMaps.
 */
static inline int paper_collect(struct paper_cluster *paper, const char *config_path,
                                const char *prefix, struct doctor_facts *ret, struct error *err) {
        const struct node_table_options table = {.annotation_prefix = prefix};

        tree_free(TAKE_PTR(paper->config));
        int r = config_path ? doctor_config_load(config_path, &paper->config, err) : 0;
        return r < 0 ? r
                     : doctor_facts_collect(paper->cluster,
                                            &(struct doctor_options){"kube-system", config_path,
                                                                     paper->config, &table},
                                            PAPER_NOW_UNIX_MS, ret, err);
}

static inline int paper_set_up(void **state) {
        struct paper_cluster *paper = xcalloc(1, sizeof(*paper));
        struct error err = ERROR_NULL;
        const struct http_server_options options = {.bind_address = "127.0.0.1",
                                                    .threads = 1,
                                                    .max_body_bytes = PAPER_MAX_BYTES,
                                                    .handler = paper_handle,
                                                    .userdata = paper};

        paper_reset(paper, PAPER_NODES);
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
