#include "cli/doctor/doctor_url.h"

#include <string.h>

#include "base/mem.h"
#include "cli/doctor/doctor_called.h"
#include "cli/doctor/doctor_config.h"
#include "codec/json.h"
#include "kube/kube_path.h"

#define SERVICE "plimsoll-extender"

struct target {
        const struct doctor_facts *facts;
        const struct doctor_config *config;
        struct cluster_place place; /* of the extender that it is for */
        struct doctor_address address;
};

/* ---- The Service. */

static bool is_service_name(const struct doctor_facts *facts,
                            const struct doctor_address *address) {
        _cleanup_(freep) char *path = doctor_address_service(address, facts->namespace);
        _cleanup_(freep) char *own = kube_path(KUBE_CORE, facts->namespace, "services", SERVICE,
                                               "");

        return path && strcmp(path, own) == 0;
}

bool doctor_url_is_service(const struct doctor_facts *facts, const struct doctor_address *address) {
        const json_t *service = facts->objects[DOCTOR_SERVICE].json;
        const json_t *balanced = json_at(service, "status", "loadBalancer", "ingress", NULL);
        const char *host = address->host;

        return is_service_name(facts, address) ||
               json_is_at(host, service, "spec", "clusterIP", NULL) ||
               json_find_at(host, json_at(service, "spec", "clusterIPs", NULL), NULL) ||
               json_find_at(host, json_at(service, "spec", "externalIPs", NULL), NULL) ||
               json_find_at(host, balanced, "ip", NULL) ||
               json_find_at(host, balanced, "hostname", NULL);
}

bool doctor_url_has_port(const struct doctor_facts *facts, const struct doctor_address *address,
                         const char *key) {
        const json_t *ports = json_at(facts->objects[DOCTOR_SERVICE].json, "spec", "ports", NULL);

        for (size_t i = 0; i < json_array_size(ports); i++)
                if (json_int_at(0, json_array_get(ports, i), key, NULL) == address->port)
                        return true;
        return false;
}

/* ---- The pods. */

static bool is_own_port(const struct target *target) {
        return target->place.port == 0 || target->place.port == target->address.port;
}

static bool is_pod_address(const struct target *target) {
        const json_t *pods = json_at(target->facts->objects[DOCTOR_PODS].json, "items", NULL);

        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                const char *host = target->address.host;
                if (json_is_at(PROGRAM_EXTENDER, pod, "metadata", "labels",
                               "app.kubernetes.io/name", NULL) &&
                    (json_is_at(host, pod, "status", "podIP", NULL) ||
                     json_find_at(host, json_at(pod, "status", "podIPs", NULL), "ip", NULL)))
                        return true;
        }
        return false;
}

static bool is_in_host_network(const struct target *target) {
        return json_is_true(
                json_at(doctor_pod_spec(target->facts, DOCTOR_EXTENDER), "hostNetwork", NULL));
}

/* ---- The scheduler. */

/* Maybe the second one, with the extender in its pod. */
static bool is_beside(const struct target *target) {
        const struct doctor_facts *facts = target->facts;

        return target->config->is_mounted ||
               (!doctor_lacks(facts, DOCTOR_SCHEDULER) &&
                !doctor_is_hidden(facts, DOCTOR_EXTENDER) && !is_in_host_network(target) &&
                doctor_address_is_loopback(&target->address));
}

/* A static pod in the host's network has the host's resolver, and k3s runs without a pod. */
static bool resolves_services(const struct doctor_facts *facts) {
        const json_t *pod = json_array_get(
                json_at(facts->objects[DOCTOR_KUBE_SCHEDULERS].json, "items", NULL), 0);

        return pod && (!json_is_true(json_at(pod, "spec", "hostNetwork", NULL)) ||
                       json_is_at("ClusterFirstWithHostNet", pod, "spec", "dnsPolicy", NULL));
}

/* ---- The check. */

static void check_port(const struct target *target, bool is_right, struct doctor_finding *finding) {
        if (!is_right)
                doctor_find(finding, DOCTOR_FAULT,
                            "%.200s: urlPrefix has port %lld, on which %.100s is not the extender",
                            target->config->from, target->address.port, target->address.host);
}

/* Another scheduler, of which nothing is known, may have an extender beside it, as ours has. */
static void check_loopback(const struct target *target, struct doctor_finding *finding) {
        const struct doctor_facts *facts = target->facts;

        if (!target->config->is_file && !target->config->is_mounted)
                return;
        if (!target->config->is_file || is_in_host_network(target) ||
            doctor_has(facts, DOCTOR_SCHEDULER))
                check_port(target, is_own_port(target), finding);
        else if (doctor_needs_places(facts, finding))
                doctor_find(finding, DOCTOR_FAULT,
                            "%.200s: urlPrefix has %.64s, the scheduler's own host, and the "
                            "extender is not in the host's network",
                            target->config->from, target->address.host);
}

static void check_service_url(const struct target *target, struct doctor_finding *finding) {
        const json_t *service = target->facts->objects[DOCTOR_SERVICE].json;
        const json_t *ports = json_at(service, "spec", "ports", NULL);
        bool has_name = target->config->is_file && is_service_name(target->facts, &target->address);

        if (has_name && doctor_is_hidden(target->facts, DOCTOR_KUBE_SCHEDULERS))
                (void)doctor_needs(target->facts, DOCTOR_KUBE_SCHEDULERS, finding);
        else if (has_name && !resolves_services(target->facts))
                doctor_find(finding, DOCTOR_FAULT,
                            "%.200s: urlPrefix has %.100s, the name of a Service, which "
                            "kube-scheduler cannot resolve in the host's network",
                            target->config->from, target->address.host);
        else if (ports && !doctor_url_has_port(target->facts, &target->address, "port"))
                doctor_find(finding, DOCTOR_FAULT,
                            "%.200s: urlPrefix has port %lld, and the Service " SERVICE " %lld",
                            target->config->from, target->address.port,
                            json_int_at(0, json_array_get(ports, 0), "port", NULL));
}

/* Such an address may lead to it unseen, as through a load balancer: then it is called. */
static void check_elsewhere(const struct target *target, struct doctor_finding *finding) {
        const struct doctor_facts *facts = target->facts;

        if (!doctor_needs(facts, DOCTOR_SERVICE, finding) || doctor_is_called_lately(facts) ||
            !doctor_needs(facts, DOCTOR_PODS, finding) || !doctor_needs_count(facts, finding))
                return;
        if (facts->nodes.has_host)
                check_port(target, doctor_url_has_port(facts, &target->address, "nodePort"),
                           finding);
        else
                doctor_find(finding, DOCTOR_FAULT,
                            "%.200s: urlPrefix has %.100s, which is no address of the "
                            "Service " SERVICE ", of the extender's pods or of a node",
                            target->config->from, target->address.host);
        if (finding->state == DOCTOR_FAULT && !doctor_is_call_known(facts))
                finding->state = DOCTOR_UNKNOWN;
}

static void check_place(const struct target *target, struct doctor_finding *finding) {
        const struct doctor_facts *facts = target->facts;

        if (doctor_url_is_service(facts, &target->address)) {
                if (doctor_needs(facts, DOCTOR_SERVICE, finding))
                        check_service_url(target, finding);
        } else if (doctor_address_is_loopback(&target->address)) {
                check_loopback(target, finding);
        } else if (is_pod_address(target)) {
                check_port(target, is_own_port(target), finding);
        } else {
                check_elsewhere(target, finding);
        }
}

void doctor_url_check(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_config *config = facts->config;
        const char *url = doctor_config_text(config->entry, "urlPrefix");
        struct target target = {
                .facts = facts, .config = config, .address = doctor_address_parse(url)};

        enum doctor_object deployment = is_beside(&target) ? DOCTOR_SCHEDULER : DOCTOR_EXTENDER;
        target.place = doctor_place(facts, deployment);
        bool is_tls = target.place.is_tls;
        if (strcmp(target.address.host, DOCTOR_PLACEHOLDER) == 0)
                doctor_find(finding, DOCTOR_FAULT,
                            "%.200s: urlPrefix has " DOCTOR_PLACEHOLDER
                            ", which stands for the Service's address",
                            config->from);
        else if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
                doctor_find(finding, DOCTOR_FAULT, "%.200s: urlPrefix has no http:// before %.100s",
                            config->from, target.address.host);
        else if (target.address.is_https != is_tls && !doctor_is_hidden(facts, deployment))
                doctor_find(finding, DOCTOR_FAULT,
                            "%.200s: urlPrefix is of %s, and the extender serves %s", config->from,
                            target.address.is_https ? "https" : "http", is_tls ? "https" : "http");
        else
                check_place(&target, finding);
}

bool doctor_url_leads_to(const char *prefix, const char *verb, const char *name) {
        const char *path = doctor_address_parse(prefix).path;
        size_t len = strlen(verb);

        while (len > 0 && verb[len - 1] == '/')
                len--;
        size_t begin = len;
        while (begin > 0 && verb[begin - 1] != '/')
                begin--;
        /* Behind a query, it is no longer of the path. */
        return !path[strcspn(path, "?#")] && len - begin == strlen(name) &&
               memcmp(verb + begin, name, len - begin) == 0;
}
