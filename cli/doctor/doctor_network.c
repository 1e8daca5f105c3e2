#include "cli/doctor/doctor_network.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/doctor/doctor_address.h"
#include "codec/json.h"
#include "kube/kube_api.h"
#include "kube/kube_path.h"

enum { DNS_PORT = 53, DNS_POD_PORT = 5353 /* of OpenShift */ };

/* ---- What NetworkPolicies allow. */

/* An entry without a port stands for all ports of its protocol. One with a name stands for a port
 * of the pod that is asked, so it may be this one. */
static bool has_port(const json_t *entry, const char *protocol, int64_t port) {
        const char *own = json_string_at(entry, "protocol", NULL);
        int64_t any = json_at(entry, "port", NULL) ? -1 : port;
        int64_t from = json_int_at(any, entry, "port", NULL);

        if (strcmp(own ? own : "TCP", protocol) != 0)
                return false;
        return json_string_at(entry, "port", NULL) ||
               (from <= port && port <= json_int_at(from, entry, "endPort", NULL));
}

static bool allows(const json_t *policy, const char *protocol, int64_t port) {
        const json_t *egress = json_at(policy, "spec", "egress", NULL);

        for (size_t i = 0; i < json_array_size(egress); i++) {
                const json_t *ports = json_at(json_array_get(egress, i), "ports", NULL);
                if (json_array_size(ports) == 0)
                        return true; /* all */
                for (size_t j = 0; j < json_array_size(ports); j++)
                        if (has_port(json_array_get(ports, j), protocol, port))
                                return true;
        }
        return false;
}

static bool is_of_egress(const json_t *policy) {
        const json_t *types = json_at(policy, "spec", "policyTypes", NULL);

        return json_find_at("Egress", types, NULL) ||
               (json_array_size(types) == 0 &&
                json_array_size(json_at(policy, "spec", "egress", NULL)) > 0);
}

static bool selects(const json_t *policy, const json_t *labels) {
        const char *key;
        json_t *value;

        json_object_foreach (json_at(policy, "spec", "podSelector", "matchLabels", NULL), key,
                             value)
                if (!json_equal(value, json_at(labels, key, NULL)))
                        return false;
        return true;
}

static bool is_open(const struct doctor_facts *facts, const char *protocol, int64_t port) {
        const json_t *policies = json_at(facts->objects[DOCTOR_NETWORK_POLICIES].json, "items",
                                         NULL);
        const json_t *labels = json_at(facts->objects[DOCTOR_CONTROLLER].json, "spec", "template",
                                       "metadata", "labels", NULL);
        bool is_limited = false;

        for (size_t i = 0; i < json_array_size(policies); i++) {
                const json_t *policy = json_array_get(policies, i);
                const json_t *selector = json_at(policy, "spec", "podSelector", NULL);
                if (!is_of_egress(policy) || !selects(policy, labels))
                        continue;
                if (allows(policy, protocol, port))
                        return true;
                is_limited |= !json_at(selector, "matchExpressions", NULL);
        }
        return !is_limited;
}

/* ---- Names of hosts. */

/* Written into the pod's /etc/hosts. */
static bool is_alias(const struct doctor_facts *facts, const struct doctor_address *address) {
        const json_t *aliases = json_at(doctor_pod_spec(facts, DOCTOR_CONTROLLER), "hostAliases",
                                        NULL);

        for (size_t i = 0; i < json_array_size(aliases); i++)
                if (json_find_at(address->host,
                                 json_at(json_array_get(aliases, i), "hostnames", NULL), NULL))
                        return true;
        return false;
}

/* ---- Prometheus. */

static bool asks_prometheus(const struct doctor_facts *facts) {
        return program_flags_has_word(&facts->controller, FLAG_METRICS_SOURCE, "prometheus") &&
               program_flags_text(&facts->controller, FLAG_PROMETHEUS_ADDRESS);
}

static struct doctor_address prometheus_address(const struct doctor_facts *facts) {
        return doctor_address_parse(facts->controller.texts[FLAG_PROMETHEUS_ADDRESS], 0);
}

char *doctor_network_service(const struct doctor_facts *facts) {
        if (!asks_prometheus(facts))
                return NULL;
        const struct doctor_address address = prometheus_address(facts);
        return doctor_address_service(&address, facts->namespace);
}

/* The port of its pods, which a policy is about; 0: it has a name */
static long long target_port(const json_t *service, long long port) {
        const json_t *ports = json_at(service, "spec", "ports", NULL);

        for (size_t i = 0; i < json_array_size(ports); i++) {
                const json_t *entry = json_array_get(ports, i);
                if (json_int_at(0, entry, "port", NULL) == port)
                        return json_at(entry, "targetPort", NULL)
                                       ? json_int_at(0, entry, "targetPort", NULL)
                                       : port;
        }
        return port;
}

/* ---- What is needed, and is closed. */

struct needs {
        const struct doctor_facts *facts;
        struct doctor_finding *finding; /* of a port that may be closed */
        struct buf closed;              /* ports, with what is behind them */
        char *name;                     /* the first that must be resolved; owned, NULL: none */
};

/* @port: 0: malformed, which the controller refuses */
static void need_port(struct needs *needs, long long port, const char *what) {
        if (port > 0 && !is_open(needs->facts, "TCP", port))
                buf_printf(&needs->closed, "%sport %lld (%s)", needs->closed.len > 0 ? ", " : "",
                           port, what);
}

static void need_name(struct needs *needs, const struct doctor_address *address) {
        if (!needs->name && !address->is_ip && !doctor_address_is_loopback(address) &&
            !is_alias(needs->facts, address))
                needs->name = xasprintf("%.100s", address->host);
}

/* A node's address, of the first type that nodes have. */
static void need_node(struct needs *needs, long long port, const char *what) {
        const char *types = program_flags_text(&needs->facts->controller, FLAG_NODE_ADDRESS_TYPES);
        _cleanup_(freep) char *type = types ? xmemdup0(types, strcspn(types, ",")) : xstrdup("");
        const struct doctor_address address = doctor_address_parse(type, 0);

        need_port(needs, port, what);
        if (strcmp(type, "InternalIP") != 0 && strcmp(type, "ExternalIP") != 0)
                need_name(needs, &address);
}

/* If the URL does not name the node itself, its port may be that of a Service before a proxy, of
 * whose pods nothing is known. */
static void need_page(struct needs *needs, const char *template, const char *what) {
        const struct doctor_address address = doctor_address_parse(
                template, program_flags_int(&needs->facts->controller, FLAG_NODE_EXPORTER_PORT, 0));

        if (strcmp(address.host, "{address}") == 0)
                need_node(needs, address.port, what);
        else
                need_name(needs, &address);
}

static void need_exporters(struct needs *needs) {
        const char *list = program_flags_text(&needs->facts->controller, FLAG_EXPORTERS);

        for (const char *at = list; at && *at; at += strspn(at, " \n")) {
                size_t len = strcspn(at, " \n");
                _cleanup_(freep) char *exporter = xmemdup0(at, len);
                const char *url = strchr(exporter, '=');
                if (url)
                        need_page(needs, url + 1, "--exporter");
                at += len;
        }
}

static void need_prometheus(struct needs *needs) {
        const struct doctor_fact *service = &needs->facts->objects[DOCTOR_PROMETHEUS_SERVICE];
        const struct doctor_address address = prometheus_address(needs->facts);

        need_name(needs, &address);
        if (doctor_address_is_loopback(&address) || is_open(needs->facts, "TCP", address.port))
                return;
        long long target = target_port(service->json, address.port);
        if (service->outcome != KUBE_OK && service->outcome != KUBE_NOT_FOUND)
                doctor_find(needs->finding, DOCTOR_UNKNOWN, "port %lld is closed, and %s",
                            address.port, service->err.msg);
        else if (target == 0)
                doctor_find(needs->finding, DOCTOR_UNKNOWN,
                            "port %lld is closed, and that of Prometheus' pods has a name",
                            address.port);
        else
                need_port(needs, target, "Prometheus");
}

static void need_sources(struct needs *needs) {
        const struct program_flags *flags = &needs->facts->controller;
        const char *template = program_flags_text(flags, FLAG_TARGET_TEMPLATE);
        const char *agent = program_flags_text(flags, FLAG_NODE_METRICS_TEMPLATE);
        const char *server = program_flags_text(flags, FLAG_MASTER);

        if (program_flags_has_word(flags, FLAG_METRICS_SOURCE, "node-exporter"))
                need_page(needs, template ? template : "http://{address}:{port}", "node-exporter");
        if (program_flags_has_word(flags, FLAG_METRICS_SOURCE, "kubelet"))
                need_node(needs, KUBE_PORT_KUBELET, "kubelet");
        if (program_flags_has_word(flags, FLAG_METRICS_SOURCE, "node-metrics"))
                need_page(needs, agent, "node-metrics");
        if (asks_prometheus(needs->facts))
                need_prometheus(needs);
        need_exporters(needs);
        if (server) {
                const struct doctor_address address = doctor_address_parse(server, 0);
                need_name(needs, &address);
        }
        if (needs->name && !is_open(needs->facts, "UDP", DNS_PORT) &&
            !is_open(needs->facts, "UDP", DNS_POD_PORT))
                buf_printf(&needs->closed, "%sUDP port %d (to resolve %s)",
                           needs->closed.len > 0 ? ", " : "", DNS_PORT, needs->name);
}

/* Whether the flags that decide which ports are needed can be read. */
static bool are_read(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const struct {
                const char *source;
                enum program_flag flag;
        } needed[] = {
                {"node-exporter", FLAG_NODE_EXPORTER_PORT},
                {"node-exporter", FLAG_TARGET_TEMPLATE},
                {"node-metrics", FLAG_NODE_METRICS_TEMPLATE},
                {"prometheus", FLAG_PROMETHEUS_ADDRESS},
        };

        if (!doctor_is_read(facts, FLAG_METRICS_SOURCE, finding))
                return false;
        for (size_t i = 0; i < ARRAY_LEN(needed); i++)
                if (program_flags_has_word(&facts->controller, FLAG_METRICS_SOURCE,
                                           needed[i].source) &&
                    !doctor_is_read(facts, needed[i].flag, finding))
                        return false;
        return true;
}

void doctor_network_check(const struct doctor_facts *facts, struct doctor_finding *finding) {
        struct needs needs = {
                .facts = facts, .finding = finding, .closed = BUF_INIT(DOCTOR_WHAT_MAX / 2)};
        const json_t *spec = doctor_pod_spec(facts, DOCTOR_CONTROLLER);

        if (!doctor_needs(facts, DOCTOR_NETWORK_POLICIES, finding) ||
            json_is_true(json_at(spec, "hostNetwork", NULL)) || !are_read(facts, finding))
                return;
        need_sources(&needs);
        if (needs.closed.len > 0)
                doctor_find(finding, DOCTOR_FAULT, "no NetworkPolicy lets the controller reach %s",
                            needs.closed.data);
        buf_done(&needs.closed);
        free(needs.name);
}
