#include "cli/doctor/doctor_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_permission.h"
#include "cli/doctor/doctor_url.h"
#include "codec/json.h"
#include "controller/exposition/exposition.h"
#include "kube/kube_path.h"
#include "policy/live/policy_source.h"

enum {
        PAGE_MAX_MS = 5000, /* a running program answers in milliseconds */
        LATELY_MS = 5 * MS_PER_MIN,
};

/* %s: the namespace. NULL: the object is not read by its path alone */
static const char *const paths[DOCTOR_OBJECT_COUNT] = {
        [DOCTOR_VERSION] = "/version",
        [DOCTOR_CRD] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                       "dynamicschedulerpolicies.scheduler.policy.crane.io",
        [DOCTOR_POLICY] = POLICY_OBJECT_PATH "/" POLICY_OBJECT_NAME,
        [DOCTOR_CONTROLLER] = KUBE_APPS "/namespaces/%s/deployments/plimsoll-controller",
        [DOCTOR_EXTENDER] = KUBE_APPS "/namespaces/%s/deployments/plimsoll-extender",
        [DOCTOR_SCHEDULER] = KUBE_APPS "/namespaces/%s/deployments/plimsoll-scheduler",
        [DOCTOR_SERVICE] = KUBE_CORE "/namespaces/%s/services/plimsoll-extender",
        [DOCTOR_PODS] = KUBE_CORE "/namespaces/%s/pods?" KUBE_PART_OF_PLIMSOLL,
        [DOCTOR_CONFIG_MAPS] = KUBE_CORE "/namespaces/%s/configmaps",
        [DOCTOR_GUARD] = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"
                         "plimsoll-controller-nodes",
        [DOCTOR_AUTOSCALER] = KUBE_CORE
        "/namespaces/kube-system/configmaps/cluster-autoscaler-status",
        [DOCTOR_KARPENTER] = "/apis/karpenter.sh",
        [DOCTOR_KUBELET_REQUESTS] =
                "/apis/certificates.k8s.io/v1/certificatesigningrequests?"
                "fieldSelector=spec.signerName%3Dkubernetes.io%2Fkubelet-serving",
        [DOCTOR_KUBE_SCHEDULERS] = KUBE_CORE
        "/namespaces/kube-system/pods?labelSelector=component%3Dkube-scheduler",
};

/* There may be thousands of these, so they are listed page by page. */
static bool is_long_list(enum doctor_object object) {
        return object == DOCTOR_CONFIG_MAPS || object == DOCTOR_KUBELET_REQUESTS;
}

static void begin_items(void *userdata) {
        (void)json_array_clear(userdata);
}

static void take_item(void *userdata, const char *text, size_t len) {
        json_t *item = NULL;

        if (json_parse(text, len, &item, NULL) == 0)
                (void)json_array_append_new(userdata, item);
}

static void ask_list(struct cluster *cluster, const char *path, struct doctor_fact *fact) {
        json_auto_t *items = json_array();
        const struct cluster_listing listing = {
                .path = path, .on_begin = begin_items, .on_item = take_item, .userdata = items};

        fact->outcome = cluster_list(cluster, &listing, &fact->err);
        if (fact->outcome == KUBE_OK)
                fact->json = json_pack("{s:O}", "items", items);
}

static void ask_object(struct cluster *cluster, enum doctor_object object,
                       struct doctor_facts *facts) {
        const char *there = strstr(paths[object], "%s");
        size_t head = there ? (size_t)(there - paths[object]) : strlen(paths[object]);
        _cleanup_(freep) char *path = xasprintf("%.*s%s%s", (int)head, paths[object],
                                                there ? facts->namespace : "",
                                                there ? there + 2 : "");

        struct doctor_fact *fact = &facts->objects[object];

        if (is_long_list(object))
                ask_list(cluster, path, fact);
        else
                fact->outcome = cluster_get(cluster, path, &fact->json, &fact->err);
}

/* ---- The programs. */

static void find_elsewhere(struct cluster *cluster, struct doctor_facts *facts) {
        json_auto_t *pods = NULL;
        struct error err = ERROR_NULL;

        if (!doctor_lacks(facts, DOCTOR_CONTROLLER) || !doctor_lacks(facts, DOCTOR_EXTENDER) ||
            cluster_get(cluster, KUBE_PODS "?" KUBE_PART_OF_PLIMSOLL, &pods, &err) != KUBE_OK)
                return;
        const char *namespace = json_string_at(json_array_get(json_at(pods, "items", NULL), 0),
                                               "metadata", "namespace", NULL);
        if (namespace && strcmp(namespace, facts->namespace) != 0)
                facts->elsewhere = xasprintf("%.63s", namespace);
}

const json_t *doctor_pod_spec(const struct doctor_facts *facts, enum doctor_object deployment) {
        return json_at(facts->objects[deployment].json, "spec", "template", "spec", NULL);
}

struct cluster_place doctor_place(const struct doctor_facts *facts, enum doctor_object deployment) {
        return cluster_page_place(doctor_pod_spec(facts, deployment), PROGRAM_EXTENDER);
}

static void call_page(struct cluster *cluster, const char *path, struct cluster_answer *ret) {
        cluster_call(cluster,
                     &(struct kube_request){.method = "GET",
                                            .path = path,
                                            .accept = "text/plain",
                                            .give_up_mono_ms = clock_mono_ms() + PAGE_MAX_MS},
                     ret);
        if (ret->outcome != KUBE_OK)
                (void)error_wrap(&ret->err, ret->err.code, "GET %s", path);
}

/* ---- The policy. */

/* Without a valid object, or with files, the policy is the one that the programs have in force. */
static struct policy *read_policy(struct cluster *cluster, struct doctor_facts *facts) {
        const json_t *object = facts->objects[DOCTOR_POLICY].json;
        bool has_file = doctor_flag(&facts->controller, "policy-config-path");
        _cleanup_(policy_freep) struct policy *policy = NULL;

        if (doctor_is_hidden(facts, DOCTOR_POLICY))
                return policy_default();
        bool is_valid = object &&
                        cluster_policy_from_object(object, &policy, &facts->policy_err) == 0;
        return is_valid && !has_file
                       ? TAKE_PTR(policy)
                       : cluster_policy_kept(cluster, facts->namespace, &facts->policy_from);
}

/* ---- The format of annotations. */

const struct doctor_flags *doctor_reader(const struct doctor_facts *facts) {
        return facts->extender.values ? &facts->extender : &facts->controller;
}

/*
 * As the extender reads annotations, or else as the controller writes them, or else the default.
 * A program can load only one time zone: @own has it, or else the flags.
 */
static int read_style(struct doctor_facts *facts, const struct node_table_options *own,
                      struct node_table_options *ret, struct error *err) {
        const struct doctor_flags *flags = doctor_reader(facts);
        const char *prefix = doctor_flag(flags, "annotation-prefix");
        const char *zone = doctor_flag(flags, "annotation-timezone");
        const char *unit = doctor_flag(flags, "annotation-unit");
        const struct program_options options = {
                .annotation_prefix = own->annotation_prefix[0] ? own->annotation_prefix
                                     : prefix                  ? prefix
                                                               : "",
                .annotation_timezone = own->zone || !zone ? "UTC" : zone,
        };

        *ret = *own;
        int r = program_annotations_init(&facts->annotations, &options, err);
        if (r < 0)
                return r;
        ret->annotation_prefix = facts->annotations.prefix;
        ret->zone = own->zone ? own->zone : facts->annotations.zone;
        ret->is_percent |= unit && strcmp(unit, "percent") == 0;
        return 0;
}

/* If the format of the annotations or the policy is unknown, the nodes are only counted. */
static void doctor_list_nodes(struct cluster *cluster, struct doctor_facts *facts,
                              const struct node_table_options *own) {
        struct doctor_fact *nodes = &facts->objects[DOCTOR_NODES];
        const struct tree_node *entry = facts->config ? facts->config->entry : NULL;
        const struct doctor_url url = doctor_url_parse(doctor_config_text(entry, "urlPrefix"));
        struct error err = ERROR_NULL;
        struct node_table_options table;
        struct policy *policy = read_policy(cluster, facts);
        const struct doctor_question question = {&table,
                                                 policy,
                                                 url.host,
                                                 &facts->pods.idle_nodes,
                                                 doctor_flag(&facts->controller, "node-selector"),
                                                 facts->now_unix_ms};

        int r = read_style(facts, own, &table, &err);
        facts->policy = policy;
        doctor_pods_ask(cluster, facts);
        nodes->outcome = doctor_nodes_list(cluster, &question, &facts->nodes, &nodes->err);
        const struct doctor_fact *object = &facts->objects[DOCTOR_POLICY];
        if (r < 0 && nodes->outcome == KUBE_OK)
                *nodes = (struct doctor_fact){.outcome = KUBE_INVALID, .err = err};
        else if (nodes->outcome == KUBE_OK && doctor_is_hidden(facts, DOCTOR_POLICY))
                *nodes = (struct doctor_fact){.outcome = object->outcome, .err = object->err};
}

/* ---- Pages of the programs. */

/* The page of a large cluster has thousands of nodes. Keep those without a recent sample. */
static void drop_measured_nodes(json_t *status) {
        json_t *nodes = json_object_get(status, "nodes");

        for (size_t i = json_array_size(nodes); i-- > 0;)
                if (json_at(json_array_get(nodes, i), "source", NULL))
                        (void)json_array_remove(nodes, i);
}

static void read_status(struct cluster *cluster, const struct doctor_facts *facts,
                        const json_t *pod, struct doctor_page *page) {
        _cleanup_(freep) char *path = cluster_page_path(facts->namespace, pod, PROGRAM_CONTROLLER,
                                                        "status.json");

        (void)cluster_get(cluster, path, &page->status, &page->status_err);
        drop_measured_nodes(page->status);
}

/* From the program's first pod that answers. */
static void read_flags(struct cluster *cluster, const struct doctor_facts *facts, const json_t *pod,
                       const char *name, struct doctor_flags *ret) {
        _cleanup_(freep) char *path = cluster_page_path(facts->namespace, pod, name, "flagz");
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};

        if (ret->values)
                return;
        call_page(cluster, path, &answer);
        if (answer.outcome == KUBE_OK)
                doctor_flags_parse(answer.body, ret);
        else
                ret->err = answer.err;
}

static void read_page(struct cluster *cluster, struct doctor_facts *facts, const json_t *pod,
                      enum doctor_object program, const char *name) {
        _cleanup_(freep) char *path = cluster_page_path(facts->namespace, pod, name, "metrics");
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};

        if (!path || facts->page_count == DOCTOR_MAX_PAGES)
                return;
        read_flags(cluster, facts, pod, name,
                   program == DOCTOR_CONTROLLER ? &facts->controller : &facts->extender);
        struct doctor_page *page = &facts->pages[facts->page_count++];
        *page = (struct doctor_page){.program = program,
                                     .pod = json_string_at(pod, "metadata", "name", NULL)};
        call_page(cluster, path, &answer);
        page->outcome = answer.outcome;
        page->err = answer.err;
        if (answer.outcome != KUBE_OK)
                return;
        page->text = TAKE_PTR(answer.body);
        page->text_bytes = answer.body_bytes;
        if (program == DOCTOR_CONTROLLER)
                read_status(cluster, facts, pod, page);
}

/* The extender in a second scheduler's pod is left out: it listens only on the loopback. */
static void read_pages(struct cluster *cluster, struct doctor_facts *facts) {
        const json_t *pods = json_at(facts->objects[DOCTOR_PODS].json, "items", NULL);
        struct error none = facts->objects[DOCTOR_PODS].err;

        if (none.code == 0)
                (void)error_set(&none, ENODATA, "no pod of the program runs in the namespace");
        facts->controller.err = facts->extender.err = none;
        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                read_page(cluster, facts, pod, DOCTOR_CONTROLLER, PROGRAM_CONTROLLER);
                read_page(cluster, facts, pod, DOCTOR_EXTENDER, PROGRAM_EXTENDER);
        }
}

struct doctor_sum doctor_page_sum(const struct doctor_facts *facts, enum doctor_object program,
                                  const char *metric, const char *label, const char *value) {
        struct doctor_sum sum = {0};
        struct exposition_set set;
        struct exposition_sample sample;
        struct exposition skim;

        exposition_set_init(&set, &metric, 1);
        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                if ((program && page->program != program) || !page->text)
                        continue;
                exposition_begin(&skim, &set, page->text, page->text_bytes, true);
                while (exposition_next(&skim, &sample)) {
                        const struct exposition_label *found =
                                label ? exposition_label(&sample, label) : NULL;
                        if (label && !(found && exposition_label_is(found, value)))
                                continue;
                        bool is_first = sum.count++ == 0;
                        sum.sum += sample.value;
                        if (is_first || sample.value > sum.largest) {
                                sum.largest = sample.value;
                                sum.largest_pod = page->pod;
                        }
                        if (is_first || sample.value < sum.smallest) {
                                sum.smallest = sample.value;
                                sum.smallest_pod = page->pod;
                        }
                }
        }
        return sum;
}

int64_t doctor_last_call_unix_ms(const struct doctor_facts *facts) {
        const struct doctor_sum calls = doctor_page_sum(
                facts, DOCTOR_EXTENDER, "plimsoll_extender_last_call_timestamp_seconds", NULL,
                NULL);
        bool is_time = calls.count > 0 && calls.largest >= 0 && calls.largest < 1e12;

        return is_time ? (int64_t)(calls.largest * MS_PER_S) : -1;
}

bool doctor_is_called_lately(const struct doctor_facts *facts) {
        return facts->now_unix_ms - doctor_last_call_unix_ms(facts) <= LATELY_MS;
}

/* ---- All facts. */

int doctor_facts_collect(struct cluster *cluster, const struct doctor_options *options,
                         int64_t now_unix_ms, struct doctor_facts *ret, struct error *err) {
        *ret = (struct doctor_facts){.now_unix_ms = now_unix_ms, .namespace = options->namespace};
        if (options->scheduler_config)
                ret->configs[ret->config_count++] = (struct doctor_config){
                        .from = xstrdup(file_input_name(options->scheduler_config)),
                        .is_file = true,
                        .tree = options->scheduler_tree};
        ask_object(cluster, DOCTOR_VERSION, ret);
        if (!doctor_has(ret, DOCTOR_VERSION)) {
                *err = ret->objects[DOCTOR_VERSION].err;
                return err->code;
        }
        for (int object = DOCTOR_VERSION + 1; object < DOCTOR_OBJECT_COUNT; object++)
                if (paths[object])
                        ask_object(cluster, (enum doctor_object)object, ret);
        find_elsewhere(cluster, ret);
        doctor_config_find(ret);
        read_pages(cluster, ret);
        doctor_list_nodes(cluster, ret, options->table);
        doctor_permission_ask(cluster, ret);
        return 0;
}

void doctor_facts_done(struct doctor_facts *facts) {
        for (size_t i = 0; i < DOCTOR_OBJECT_COUNT; i++)
                json_decref(facts->objects[i].json);
        for (size_t i = 0; i < facts->page_count; i++) {
                free(facts->pages[i].text);
                json_decref(facts->pages[i].status);
        }
        doctor_config_done(facts);
        doctor_flags_done(&facts->controller);
        doctor_flags_done(&facts->extender);
        doctor_nodes_done(&facts->nodes);
        doctor_pods_done(&facts->pods);
        free(facts->policy_from);
        free(facts->elsewhere);
        program_annotations_done(&facts->annotations);
        *facts = (struct doctor_facts){0};
}
