#include "cli/doctor/doctor_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/doctor/doctor_config.h"
#include "codec/json.h"
#include "controller/exposition/exposition.h"
#include "kube/kube_path.h"
#include "policy/live/policy_source.h"

enum {
        PAGE_MAX_MS = 5000, /* a running program answers in milliseconds */
        LABEL_MAX_BYTES = 64,
};

#define ADMISSION "/apis/admissionregistration.k8s.io/v1/"

/* %s: the namespace. Anybody may read APIs. */
static const char *const paths[DOCTOR_OBJECT_COUNT] = {
        [DOCTOR_VERSION] = "/version",
        [DOCTOR_KIND] = "/apis/scheduler.policy.crane.io/v1alpha1",
        [DOCTOR_POLICY] = POLICY_OBJECT_PATH "/" POLICY_OBJECT_NAME,
        [DOCTOR_CONTROLLER] = KUBE_APPS "/namespaces/%s/deployments/plimsoll-controller",
        [DOCTOR_EXTENDER] = KUBE_APPS "/namespaces/%s/deployments/plimsoll-extender",
        [DOCTOR_SCHEDULER] = KUBE_APPS "/namespaces/%s/deployments/plimsoll-scheduler",
        [DOCTOR_SERVICE] = KUBE_CORE "/namespaces/%s/services/plimsoll-extender",
        [DOCTOR_PODS] = KUBE_CORE "/namespaces/%s/pods?" KUBE_PART_OF_PLIMSOLL,
        [DOCTOR_GUARD] = ADMISSION "validatingadmissionpolicies/plimsoll-controller-nodes",
        [DOCTOR_ADMISSION_KIND] = "/apis/plimsoll.io/v1alpha1",
        [DOCTOR_ADMISSION_POLICY] = ADMISSION "mutatingadmissionpolicies/plimsoll-admission",
        [DOCTOR_ADMISSION_BINDING] = ADMISSION "mutatingadmissionpolicybindings/plimsoll-admission",
        [DOCTOR_ADMISSION_LIST] = "/apis/plimsoll.io/v1alpha1/preferrednodes/default",
        [DOCTOR_ADMISSION_NAMESPACES] = KUBE_CORE
        "/namespaces?labelSelector=plimsoll.io%2Fadmission%3Denabled&limit=1",
};

static void ask_object(struct cluster *cluster, enum doctor_object object,
                       struct doctor_facts *facts) {
        struct doctor_fact *fact = &facts->objects[object];
        const char *there = strstr(paths[object], "%s");
        size_t head = there ? (size_t)(there - paths[object]) : strlen(paths[object]);
        _cleanup_(freep) char *path = xasprintf("%.*s%s%s", (int)head, paths[object],
                                                there ? facts->namespace : "",
                                                there ? there + 2 : "");

        fact->outcome = cluster_get(cluster, path, &fact->json, &fact->err);
}

const json_t *doctor_items(const struct doctor_facts *facts, enum doctor_object list) {
        return json_at(facts->objects[list].json, "items", NULL);
}

unsigned doctor_minor(const struct doctor_facts *facts) {
        const char *text = json_string_at(facts->objects[DOCTOR_VERSION].json, "minor", NULL);
        int64_t minor;

        return text && number_parse_i64(text, number_skip_digits(text, strlen(text), 0), &minor) &&
                               minor < 1000
                       ? (unsigned)minor
                       : 0;
}

/* ---- Pages of the programs. */

const char *doctor_flag(const char *flags, const char *name) {
        _cleanup_(freep) char *line = xasprintf("\n%s=", name);
        const char *found = flags ? strstr(flags, line) : NULL;
        const char *value = found ? found + strlen(line) : "";

        return *value && *value != '\n' ? value : NULL;
}

/* Return: the text, owned by the caller; NULL: @err says why */
static char *read_page(struct cluster *cluster, const char *path, enum kube_outcome *ret,
                       struct error *err) {
        struct cluster_answer answer = {0};

        cluster_call(cluster,
                     &(struct kube_request){.method = "GET",
                                            .path = path,
                                            .accept = "text/plain",
                                            .give_up_mono_ms = clock_mono_ms() + PAGE_MAX_MS},
                     &answer);
        *ret = answer.outcome;
        if (answer.outcome != KUBE_OK)
                (void)error_set(err, answer.err.code, "GET %s: %s", path, answer.err.msg);
        return answer.body;
}

static void read_pages_of(struct cluster *cluster, struct doctor_facts *facts, const json_t *pod,
                          enum doctor_object program, const char *name, char **flags) {
        _cleanup_(freep) char *metrics = cluster_page_path(facts->namespace, pod, name, "metrics");
        _cleanup_(freep) char *flagz = cluster_page_path(facts->namespace, pod, name, "flagz");
        _cleanup_(freep) char *status = cluster_page_path(facts->namespace, pod, name,
                                                          "status.json");

        if (!metrics || facts->page_count == DOCTOR_MAX_PAGES)
                return;
        struct doctor_page *page = &facts->pages[facts->page_count++];
        page->program = program;
        page->pod = json_string_at(pod, "metadata", "name", NULL);
        page->text = read_page(cluster, metrics, &page->outcome, &page->err);
        if (page->outcome != KUBE_UNAVAILABLE && !*flags) /* the other pages take as long */
                *flags = read_page(cluster, flagz, &(enum kube_outcome){0}, &ERROR_NULL);
        if (page->text && program == DOCTOR_CONTROLLER)
                (void)cluster_get(cluster, status, &page->status, &page->err);
}

static void read_pages(struct cluster *cluster, struct doctor_facts *facts) {
        const json_t *pods = doctor_items(facts, DOCTOR_PODS);

        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                read_pages_of(cluster, facts, pod, DOCTOR_CONTROLLER, PROGRAM_CONTROLLER,
                              &facts->controller_flags);
                read_pages_of(cluster, facts, pod, DOCTOR_EXTENDER, PROGRAM_EXTENDER,
                              &facts->extender_flags);
        }
}

/* The policy that a controller has in force; the built-in one if none says. */
static struct policy *policy_of_pages(const struct doctor_facts *facts) {
        for (size_t i = 0; i < facts->page_count; i++) {
                const char *text = json_string_at(facts->pages[i].status, "policy", "text", NULL);
                struct error err = ERROR_NULL;
                struct policy *policy;
                if (text && policy_parse(text, strlen(text), false, &policy, &err) == 0)
                        return policy;
        }
        return policy_default();
}

/* Without a valid object, or with files, the policy is the one that the programs have in force. */
static struct policy *read_policy(struct doctor_facts *facts) {
        const json_t *object = facts->objects[DOCTOR_POLICY].json;
        bool has_file = doctor_flag(facts->controller_flags, "policy-config-path");
        _cleanup_(policy_freep) struct policy *policy = NULL;

        if (!object && !doctor_lacks(facts, DOCTOR_POLICY))
                return policy_default();
        bool is_valid = object &&
                        policy_from_object(object, false, &policy, &facts->policy_err) == 0;
        return is_valid && !has_file ? TAKE_PTR(policy) : policy_of_pages(facts);
}

/* ---- Metrics. */

/* Call @fn for each sample of a program's pages. */
static void each_sample(const struct doctor_facts *facts, enum doctor_object program,
                        const char *metric,
                        void (*fn)(void *userdata, const struct exposition_sample *sample,
                                   const char *pod),
                        void *userdata) {
        struct exposition_set set;
        struct exposition_sample sample;
        struct exposition skim;

        exposition_set_init(&set, &metric, 1);
        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                if ((program && page->program != program) || !page->text)
                        continue;
                exposition_begin(&skim, &set, page->text, strlen(page->text), true);
                while (exposition_next(&skim, &sample))
                        fn(userdata, &sample, page->pod);
        }
}

struct sum {
        const char *label, *value;
        struct doctor_sum sum;
};

static void add_sample(void *userdata, const struct exposition_sample *sample, const char *pod) {
        const struct sum *wanted = userdata;
        struct doctor_sum *sum = &((struct sum *)userdata)->sum;

        if (wanted->label &&
            !exposition_label_is(exposition_label(sample, wanted->label), wanted->value))
                return;
        bool is_first = sum->count++ == 0;
        sum->sum += sample->value;
        if (is_first || sample->value > sum->largest) {
                sum->largest = sample->value;
                sum->pod = pod;
        }
        if (is_first || sample->value < sum->smallest)
                sum->smallest = sample->value;
}

struct doctor_sum doctor_page_sum(const struct doctor_facts *facts, enum doctor_object program,
                                  const char *metric, const char *label, const char *value) {
        struct sum sum = {.label = label, .value = value};

        each_sample(facts, program, metric, add_sample, &sum);
        return sum.sum;
}

static void add_refusal(void *userdata, const struct exposition_sample *sample, const char *pod) {
        struct buf *out = userdata;
        char verb[LABEL_MAX_BYTES], resource[LABEL_MAX_BYTES];
        (void)pod;

        const struct exposition_label *of_verb = exposition_label(sample, "verb");
        const struct exposition_label *of_resource = exposition_label(sample, "resource");
        if (sample->value <= 0 || !of_verb || !of_resource ||
            !exposition_label_value(of_verb, verb, sizeof(verb)) ||
            !exposition_label_value(of_resource, resource, sizeof(resource)))
                return;
        _cleanup_(freep) char *refusal = xasprintf("%s %s", verb, resource);
        if (!out->data || !strstr(out->data, refusal)) /* of another replica */
                buf_printf(out, "%s%s", out->len > 0 ? ", " : "", refusal);
}

void doctor_refused(const struct doctor_facts *facts, enum doctor_object program, struct buf *out) {
        each_sample(facts, program, "plimsoll_api_refused", add_refusal, out);
}

double doctor_node_count(const struct doctor_facts *facts) {
        return doctor_page_sum(facts, DOCTOR_CONTROLLER, "plimsoll_nodes", NULL, NULL).largest;
}

/* ---- All facts. */

int doctor_facts_collect(struct cluster *cluster, const struct doctor_options *options,
                         int64_t now_unix_ms, struct doctor_facts *ret, struct error *err) {
        *ret = (struct doctor_facts){
                .now_unix_ms = now_unix_ms,
                .namespace = options->namespace,
                .config_name = options->config_name ? file_input_name(options->config_name) : NULL,
                .config = options->config,
                .entry = doctor_config_entry(options->config)};
        for (int object = 0; object < DOCTOR_OBJECT_COUNT; object++) {
                ask_object(cluster, (enum doctor_object)object, ret);
                if (object == DOCTOR_VERSION && !doctor_has(ret, DOCTOR_VERSION)) {
                        *err = ret->objects[DOCTOR_VERSION].err;
                        return err->code;
                }
        }
        read_pages(cluster, ret);
        ret->policy = read_policy(ret);
        return 0;
}

void doctor_facts_done(struct doctor_facts *facts) {
        for (size_t i = 0; i < DOCTOR_OBJECT_COUNT; i++)
                json_decref(facts->objects[i].json);
        for (size_t i = 0; i < facts->page_count; i++) {
                free(facts->pages[i].text);
                json_decref(facts->pages[i].status);
        }
        free(facts->controller_flags);
        free(facts->extender_flags);
        policy_free(facts->policy);
        *facts = (struct doctor_facts){0};
}
