/*
 * `cleanup`: removes what controllers have written on nodes, and their Lease. own_keys.h defines
 * which annotations are ours, policy/node_taints.h which taints.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "cli/cleanup/own_keys.h"
#include "cli/verb/verb.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "policy/node_taints.h"
#include "policy/usage/workload_usage.h"
#include "program/style.h"

#define LEASE "plimsoll-controller"
#define MERGE_PATCH "application/merge-patch+json"

enum {
        PATCH_MAX_BYTES = 64 << 10,
        LEASE_SKEW_MS = 5000,
};

static struct {
        const char *selector;
        bool is_applied;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "apply", .type = OPTION_BOOL, .value = &settings.is_applied,
         .help = "Remove it. Stop the controllers first."},
        {.name = "selector", .letter = 'l', .type = OPTION_STRING, .value = &settings.selector,
         .metavar = "LABELS", .help = "Only nodes with these labels, such as pool=web."},
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

struct cleanup {
        struct cluster *cluster;
        size_t nodes, dirty, failed;
};

/* What is ours on one node; the texts are borrowed. */
struct dirty_node {
        const char *name, *uid;
        json_t *nulls; /* owned; a merge patch of the annotations */
        struct node_taints taints;
        bool has_offer; /* of idle CPU */
};

static void dirty_node_done(struct dirty_node *node) {
        json_decref(node->nulls);
}

/* ---- Nodes. */

static void print_dirty(const struct dirty_node *node) {
        const char *key, *between = "";
        json_t *value;

        (void)printf("%s ", style_plain(node->name).text);
        json_object_foreach (node->nulls, key, value) {
                (void)printf("%s%s", between, style_plain(key).text);
                between = ",";
        }
        for (unsigned i = 1; i <= POLICY_MAX_LEVELS; i++)
                if (node->taints.at[i - 1] > 0) {
                        (void)printf("%s" POLICY_TAINT_PREFIX "%u", between, i);
                        between = ",";
                }
        if (node->has_offer)
                (void)printf("%s" KUBE_IDLE_RESOURCE, between);
        (void)putchar('\n');
}

/* A node that is gone is clean. @patch: consumed */
static bool send_patch(const struct cleanup *cleanup, const struct dirty_node *node,
                       const char *suffix, const char *content_type, json_t *patch) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, NULL, "nodes", node->name, suffix);
        json_auto_t *body = patch;
        struct error err = ERROR_NULL;

        enum kube_outcome outcome = cluster_send(
                cleanup->cluster,
                &(struct kube_request){.method = "PATCH",
                                       .path = path,
                                       .accept = KUBE_ACCEPT_METADATA,
                                       .content_type = content_type},
                body, NULL, &err);
        if (outcome == KUBE_OK || outcome == KUBE_NOT_FOUND)
                return true;
        (void)fprintf(stderr, "kubectl plimsoll cleanup: %s\n", err.msg);
        return false;
}

static bool clean_annotations(const struct cleanup *cleanup, const struct dirty_node *node) {
        return json_object_size(node->nulls) == 0 ||
               send_patch(cleanup, node, "", MERGE_PATCH,
                          json_pack("{s:{s:s, s:O}}", "metadata", "uid", node->uid, "annotations",
                                    node->nulls));
}

static bool clean_taints(const struct cleanup *cleanup, const struct dirty_node *node) {
        _cleanup_(buf_done) struct buf patch = BUF_INIT(PATCH_MAX_BYTES);

        return !node_taints_patch(&node->taints, 0, node->uid, &patch) ||
               send_patch(cleanup, node, "", NODE_TAINTS_PATCH_TYPE,
                          json_loadb(patch.data, patch.len, 0, NULL));
}

static bool clean_offer(const struct cleanup *cleanup, const struct dirty_node *node) {
        return !node->has_offer ||
               send_patch(cleanup, node, "/status", MERGE_PATCH,
                          json_pack("{s:{s:s}, s:{s:{s:n}, s:{s:n}}}", "metadata", "uid", node->uid,
                                    "status", "capacity", KUBE_IDLE_RESOURCE, "allocatable",
                                    KUBE_IDLE_RESOURCE));
}

static void on_node(void *userdata, const char *text, size_t len) {
        struct cleanup *cleanup = userdata;
        json_auto_t *object = NULL;

        (void)!json_parse(text, len, &object, NULL);
        const json_t *status = json_at(object, "status", NULL);
        _cleanup_(dirty_node_done) struct dirty_node node = {
                .name = json_string_at(object, "metadata", "name", NULL),
                .uid = json_string_at(object, "metadata", "uid", NULL),
                .nulls = own_keys_find(object),
                .taints = node_taints_read(json_at(object, "spec", "taints", NULL)),
                .has_offer = json_at(status, "capacity", KUBE_IDLE_RESOURCE, NULL) ||
                             json_at(status, "allocatable", KUBE_IDLE_RESOURCE, NULL),
        };
        if (!node.name || !node.uid)
                return;
        cleanup->nodes++;
        if (json_object_size(node.nulls) == 0 && node_taints_count(&node.taints) == 0 &&
            !node.has_offer)
                return;
        cleanup->dirty++;
        print_dirty(&node);
        if (!settings.is_applied)
                return;
        /* Each of them is tried, since rights may differ. */
        bool is_clean = clean_annotations(cleanup, &node);
        is_clean &= clean_taints(cleanup, &node);
        is_clean &= clean_offer(cleanup, &node);
        cleanup->failed += !is_clean;
}

/* ---- The Lease. */

static bool is_held(const json_t *lease) {
        const char *holder = json_string_at(lease, "spec", "holderIdentity", NULL);
        const char *renewed = json_string_at(lease, "spec", "renewTime", NULL);
        json_int_t duration_s = json_int_at(0, lease, "spec", "leaseDurationSeconds", NULL);
        int64_t renewed_unix_ms;

        return holder && *holder && renewed && duration_s >= 0 && duration_s <= INT32_MAX &&
               timestamp_parse(renewed, strlen(renewed), &renewed_unix_ms) &&
               clock_wall_unix_ms() < renewed_unix_ms + duration_s * MS_PER_S + LEASE_SKEW_MS;
}

/* @ret_version: of a Lease that nobody holds; owned by the caller, NULL: there is none */
static int check_lease(struct cluster *cluster, const char *path, char **ret_version,
                       struct error *err) {
        json_auto_t *lease = NULL;

        enum kube_outcome outcome = cluster_get(cluster, path, &lease, err);
        if (outcome == KUBE_NOT_FOUND)
                return 0;
        if (outcome != KUBE_OK)
                return err->code;
        if (is_held(lease))
                return error_set(err, EBUSY,
                                 "%s is held by %.253s, which would write again: stop the "
                                 "controllers first, with kubectl -n %.63s scale "
                                 "deployment/plimsoll-controller --replicas=0",
                                 path, json_string_at(lease, "spec", "holderIdentity", NULL),
                                 verb_flags.cluster.plimsoll_namespace);
        const char *version = json_string_at(lease, "metadata", "resourceVersion", NULL);
        *ret_version = version ? xstrdup(version) : NULL;
        return 0;
}

/* One that is not there is no error. @version: only if it has not changed; NULL: in any case */
static int delete_object(struct cluster *cluster, const char *path, const char *version,
                         struct error *err) {
        json_auto_t *options = json_pack("{s:s, s:s, s:{s:s*}}", "apiVersion", "v1", "kind",
                                         "DeleteOptions", "preconditions", "resourceVersion",
                                         version);

        enum kube_outcome outcome = cluster_send(
                cluster, &(struct kube_request){.method = "DELETE", .path = path}, options, NULL,
                err);
        return outcome == KUBE_OK || outcome == KUBE_NOT_FOUND ? 0 : err->code;
}

/* ---- What workloads use. */

static int delete_usage(struct cluster *cluster, struct error *err) {
        int r = 0;

        for (size_t shard = 0; r == 0 && shard < WORKLOADS_SHARDS_MAX; shard++) {
                char name[WORKLOADS_CONFIG_MAP_MAX];
                workload_usage_config_map(shard, name);
                _cleanup_(freep) char *path = kube_path(
                        KUBE_CORE, verb_flags.cluster.plimsoll_namespace, "configmaps", name, "");
                r = delete_object(cluster, path, NULL, err);
        }
        return r;
}

/* ---- The verb. */

static int clean_nodes(struct cleanup *cleanup, struct error *err) {
        _cleanup_(freep) char *labels = settings.selector ? kube_escape(settings.selector) : NULL;
        _cleanup_(freep) char *path = labels ? xasprintf(KUBE_NODES "?labelSelector=%s", labels)
                                             : xstrdup(KUBE_NODES);
        const struct cluster_listing listing = {
                .path = path, .on_item = on_node, .userdata = cleanup};

        if (cluster_list(cleanup->cluster, &listing, err) != KUBE_OK)
                return err->code;
        if (!settings.is_applied)
                (void)printf("%zu of %zu node%s to clean. --apply cleans them.\n", cleanup->dirty,
                             cleanup->nodes, number_plural(cleanup->nodes));
        else
                (void)printf("cleaned %zu of %zu node%s\n", cleanup->dirty - cleanup->failed,
                             cleanup->nodes, number_plural(cleanup->nodes));
        return cleanup->failed > 0
                       ? error_set(err, EIO, "%zu node%s could not be cleaned; run it again",
                                   cleanup->failed, number_plural(cleanup->failed))
                       : 0;
}

static int run_cleanup(struct cluster *cluster, struct error *err) {
        struct cleanup cleanup = {.cluster = cluster};
        _cleanup_(freep) char *lease = kube_path(
                KUBE_COORDINATION, verb_flags.cluster.plimsoll_namespace, "leases", LEASE, "");
        _cleanup_(freep) char *version = NULL;
        int r = 0;

        if (settings.is_applied)
                r = check_lease(cluster, lease, &version, err);
        if (r == 0)
                r = clean_nodes(&cleanup, err);
        if (r == 0 && settings.is_applied)
                r = delete_usage(cluster, err);
        /* A controller that has been started since keeps its Lease. */
        return r == 0 && version ? delete_object(cluster, lease, version, err) : r;
}

const struct verb cleanup_verb = {
        .name = "cleanup",
        .summary = "Remove what controllers have written on nodes",
        .usage = "Usage: kubectl plimsoll cleanup [FLAG...]\n"
                 "\n"
                 "List the annotations, taints and offers of idle CPU that controllers have "
                 "written\n"
                 "on nodes, also under earlier policies. With --apply, remove them, the Lease of "
                 "the\n"
                 "controllers, and what they measured of workloads. Do this before you uninstall\n"
                 "Plimsoll.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll cleanup\n"
                 "  kubectl plimsoll cleanup --apply\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_cleanup,
};
