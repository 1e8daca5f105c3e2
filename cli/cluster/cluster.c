#include "cli/cluster/cluster.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "kube/list_page.h"

enum {
        PAGE_OBJECTS = 500,
        PAGE_MAX_BYTES = 64 << 20,    /* 500 whole nodes are about 10 MB, as many pods 5 MB */
        OBJECT_MAX_BYTES = 128 << 20, /* NODES_PAGE_MAX_BYTES of the extender */
        RETRIES = 2,
        TIMEOUT_MS = 30000,
        LOGIN_MAX_MS = MS_PER_HOUR,
};

struct cluster {
        struct loop *loop;
        const struct kubectl_flags *flags; /* of kubectl */
        const char *plimsoll_namespace;
        struct cluster *extender; /* of --extender */
        struct kubectl *kubectl;  /* NULL: without it */
        struct kube_access *access;
        struct metrics *metrics; /* watches need it; nobody reads it */
        struct kube_api *api;
        struct cluster_answer *answer; /* of the current call */
        int64_t timeout_ms;            /* 0: the default */
        bool has_answer;               /* of any call */
};

struct cluster *cluster_new(struct kube_access *access) {
        struct cluster *cluster = xcalloc(1, sizeof(*cluster));

        cluster->loop = loop_new();
        cluster->access = access;
        cluster->metrics = metrics_new();
        cluster->api = kube_api_new(cluster->loop, "kubectl-plimsoll/" PLIMSOLL_VERSION, access,
                                    NULL);
        return cluster;
}

static int open_extender(const char *url, struct cluster **ret, struct error *err) {
        struct kube_access *access = NULL;

        if (kube_access_of_server(url, &access, err) < 0)
                return error_wrap(err, -EX_USAGE, "--extender");
        *ret = cluster_new(access);
        return 0;
}

int cluster_open(const struct cluster_options *options, struct cluster **ret, struct error *err) {
        const struct kubectl_flags *flags = &options->kubectl;
        _cleanup_(cluster_freep) struct cluster *extender = NULL;
        struct kube_access *access = NULL;
        struct kubectl *kubectl = NULL;

        int r = options->extender ? open_extender(options->extender, &extender, err) : 0;
        if (r < 0)
                return r;
        r = kubectl_is_flag_set(flags) ? -EEXIST : kube_access_load_in_pod(&access, err);
        if (r == -ENOENT || r == -EEXIST) {
                r = kubectl_start(flags, &kubectl, err);
                if (r == 0)
                        access = kube_access_of_proxy(kubectl_socket(kubectl));
        }
        if (r < 0)
                return r;
        *ret = cluster_new(access);
        (*ret)->timeout_ms = options->request_timeout_ms;
        (*ret)->kubectl = kubectl;
        (*ret)->flags = flags;
        (*ret)->plimsoll_namespace = options->plimsoll_namespace;
        (*ret)->extender = TAKE_PTR(extender);
        return 0;
}

int cluster_check(struct cluster *cluster, struct error *err) {
        return cluster->kubectl ? kubectl_check(cluster->kubectl, err) : 0;
}

struct cluster *cluster_extender(const struct cluster *cluster) {
        return cluster->extender;
}

const char *cluster_plimsoll_namespace(const struct cluster *cluster) {
        return cluster->plimsoll_namespace;
}

const char *cluster_server(const struct cluster *cluster) {
        return kube_access_server(cluster->access);
}

char *cluster_namespace(const struct cluster *cluster) {
        char *namespace = cluster->kubectl ? kubectl_namespace(cluster->flags) : NULL;

        return namespace ? namespace : xstrdup(kube_access_namespace(cluster->access));
}

void cluster_free(struct cluster *cluster) {
        if (!cluster)
                return;
        kube_api_free(cluster->api);
        metrics_free(cluster->metrics);
        kube_access_free(cluster->access);
        loop_free(cluster->loop);
        kubectl_free(cluster->kubectl);
        cluster_free(cluster->extender);
        free(cluster);
}

static void cluster_answered(void *userdata, const struct kube_answer *answer) {
        struct cluster *cluster = userdata;

        *cluster->answer = (struct cluster_answer){.outcome = answer->outcome, .err = answer->err};
        if (answer->outcome == KUBE_OK) {
                cluster->answer->body = xmemdup0(answer->body, answer->body_bytes);
                cluster->answer->body_bytes = answer->body_bytes;
        }
        loop_stop(cluster->loop);
}

/* The first call through kubectl may wait for a login. */
static int64_t timeout_of(const struct cluster *cluster) {
        if (cluster->timeout_ms > 0)
                return cluster->timeout_ms;
        return cluster->kubectl && !cluster->has_answer ? LOGIN_MAX_MS : TIMEOUT_MS;
}

/* kubectl proxy answers with this text if it cannot connect: without a kubeconfig to port 8080 of
 * this machine. */
static void name_the_kubeconfig(struct error *err) {
        const struct error cause = *err;

        if (strncmp(cause.msg, "500 dial ", strlen("500 dial ")) == 0)
                (void)error_set(err, cause.code, "%s; see KUBECONFIG and --kubeconfig", cause.msg);
}

void cluster_call(struct cluster *cluster, const struct kube_request *request,
                  struct cluster_answer *ret) {
        struct kube_request whole = *request;

        whole.timeout_ms = timeout_of(cluster);
        whole.max_retries = RETRIES;
        whole.on_done = cluster_answered;
        whole.userdata = cluster;
        cluster->answer = ret;
        (void)kube_start(cluster->api, &whole);
        loop_run(cluster->loop);
        cluster->has_answer = true;
        if (ret->outcome != KUBE_OK)
                (void)!cluster_check(cluster, &ret->err);
        name_the_kubeconfig(&ret->err);
}

void cluster_answer_done(struct cluster_answer *answer) {
        free(answer->body);
        *answer = (struct cluster_answer){0};
}

enum kube_outcome cluster_send_rows(struct cluster *cluster, const struct kube_request *request,
                                    const json_t *body, const char *rows, json_t **ret,
                                    struct error *err) {
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};
        _cleanup_(freep) char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
        struct kube_request whole = *request;

        whole.body = text;
        whole.body_bytes = text ? strlen(text) : 0;
        whole.max_body_bytes = OBJECT_MAX_BYTES;
        cluster_call(cluster, &whole, &answer);
        if (answer.outcome == KUBE_OK && ret &&
            json_parse_rows(answer.body, answer.body_bytes, rows, ret, &answer.err) < 0)
                answer.outcome = KUBE_BAD_ANSWER;
        if (answer.outcome != KUBE_OK)
                (void)error_set(err, answer.err.code, "%s %s: %s", request->method, request->path,
                                answer.err.msg);
        return answer.outcome;
}

enum kube_outcome cluster_send(struct cluster *cluster, const struct kube_request *request,
                               const json_t *body, json_t **ret, struct error *err) {
        return cluster_send_rows(cluster, request, body, NULL, ret, err);
}

enum kube_outcome cluster_get(struct cluster *cluster, const char *path, json_t **ret,
                              struct error *err) {
        *ret = NULL;
        return cluster_send(cluster, &(struct kube_request){.method = "GET", .path = path}, NULL,
                            ret, err);
}

/* List one page.
 * @token: where it begins; set to where the next page begins, or NULL after the last one */
static enum kube_outcome list_one(struct cluster *cluster, const struct cluster_listing *listing,
                                  char **token, struct error *err) {
        const char *path = listing->path;
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};
        _cleanup_(freep) char *escaped = *token ? kube_escape(*token) : NULL;
        _cleanup_(freep) char *url = xasprintf("%s%climit=%d%s%s", path,
                                               strchr(path, '?') ? '&' : '?', PAGE_OBJECTS,
                                               escaped ? "&continue=" : "", escaped ? escaped : "");
        _cleanup_(list_page_done) struct list_page page = {0};

        cluster_call(cluster,
                     &(struct kube_request){.method = "GET",
                                            .path = url,
                                            .accept = listing->proto ? KUBE_ACCEPT_PROTO : NULL,
                                            .wants_gzip = true,
                                            .max_body_bytes = PAGE_MAX_BYTES},
                     &answer);
        free(TAKE_PTR(*token));
        if (answer.outcome == KUBE_OK &&
            list_page_parse(answer.body, answer.body_bytes, listing->proto, listing->on_item,
                            listing->userdata, &page, &answer.err) < 0)
                answer.outcome = KUBE_BAD_ANSWER;
        if (answer.outcome != KUBE_OK)
                (void)error_set(err, answer.err.code, "GET %s: %s", path, answer.err.msg);
        *token = TAKE_PTR(page.continue_token);
        return answer.outcome;
}

enum kube_outcome cluster_list(struct cluster *cluster, const struct cluster_listing *listing,
                               struct error *err) {
        _cleanup_(freep) char *token = NULL;
        size_t pages = 0;

        for (;;) {
                enum kube_outcome outcome = list_one(cluster, listing, &token, err);
                if (outcome != KUBE_OK || !token)
                        return outcome;
                if (list_page_check_end(++pages, PAGE_OBJECTS, err) < 0) {
                        (void)error_wrap(err, -E2BIG, "GET %s", listing->path);
                        return KUBE_BAD_ANSWER;
                }
        }
}

static void keep_item(void *userdata, const char *text, size_t len) {
        json_t *item;

        if (json_parse(text, len, &item, NULL) == 0)
                json_array_append_new(userdata, item);
}

enum kube_outcome cluster_list_all(struct cluster *cluster, const char *path,
                                   const struct proto_message *proto, json_t **ret,
                                   struct error *err) {
        json_auto_t *items = json_array();
        const struct cluster_listing listing = {path, proto, keep_item, items};

        enum kube_outcome outcome = cluster_list(cluster, &listing, err);
        if (outcome == KUBE_OK)
                *ret = TAKE_PTR(items);
        return outcome;
}

static void on_pause_over(void *userdata) {
        struct cluster *cluster = userdata;

        loop_stop(cluster->loop);
}

void cluster_pause(struct cluster *cluster, int64_t pause_ms) {
        struct loop_timer timer = {0};

        loop_timer_arm(cluster->loop, &timer, loop_now_mono_ms(cluster->loop) + pause_ms,
                       on_pause_over, cluster);
        loop_run(cluster->loop);
}
