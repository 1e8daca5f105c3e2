#include "cli/doctor/doctor_url.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "cli/doctor/doctor_config.h"
#include "codec/json.h"
#include "kube/kube_path.h"

#define SERVICE "plimsoll-extender"

struct doctor_url doctor_url_parse(const char *text) {
        const char *scheme = strstr(text, "://"), *host = scheme ? scheme + strlen("://") : text;
        bool has_bracket = host[0] == '[';
        int64_t number;

        host += has_bracket;
        size_t len = strcspn(host, has_bracket ? "]/?#" : ":/?#");
        const char *rest = host + len + (host[len] == ']');
        struct doctor_url url = {
                .is_ip = has_bracket || strspn(host, "0123456789.") >= len,
                .is_https = strncmp(text, "https://", strlen("https://")) == 0,
                .path = rest + strcspn(rest, "/?#"),
        };
        memcpy(url.host, host, size_min(len, DOCTOR_URL_HOST_MAX - 1));
        url.port = url.is_https ? 443 : 80;
        if (*rest == ':' &&
            number_parse_i64(rest + 1, number_skip_digits(rest + 1, strlen(rest + 1), 0), &number))
                url.port = number;
        return url;
}

static bool is_loopback(const struct doctor_url *url) {
        return strcmp(url->host, "localhost") == 0 || strcmp(url->host, "::1") == 0 ||
               (url->is_ip && strncmp(url->host, "127.", 4) == 0);
}

/* ---- The Service. */

/* "prometheus", "prometheus.monitoring" or "prometheus.monitoring.svc..."; longer names are hosts
 * elsewhere. */
char *doctor_url_service(const struct doctor_url *url, const char *namespace) {
        struct doctor_url copy = *url;
        char *rest = copy.host;
        const char *name = strsep(&rest, "."), *own = strsep(&rest, ".");

        if (url->is_ip || is_loopback(url) || !*name || (own && !*own) ||
            (rest && strcmp(rest, "svc") != 0 && strncmp(rest, "svc.", 4) != 0))
                return NULL;
        return kube_path(KUBE_CORE, own ? own : namespace, "services", name, "");
}

static bool is_service_name(const struct doctor_facts *facts, const struct doctor_url *url) {
        _cleanup_(freep) char *path = doctor_url_service(url, facts->namespace);
        _cleanup_(freep) char *own = kube_path(KUBE_CORE, facts->namespace, "services", SERVICE,
                                               "");

        return path && strcmp(path, own) == 0;
}

bool doctor_url_is_service(const struct doctor_facts *facts, const struct doctor_url *url) {
        const json_t *service = facts->objects[DOCTOR_SERVICE].json;
        const json_t *balanced = json_at(service, "status", "loadBalancer", "ingress", NULL);

        return is_service_name(facts, url) ||
               json_is_at(url->host, service, "spec", "clusterIP", NULL) ||
               json_find_at(url->host, json_at(service, "spec", "clusterIPs", NULL), NULL) ||
               json_find_at(url->host, json_at(service, "spec", "externalIPs", NULL), NULL) ||
               json_find_at(url->host, balanced, "ip", NULL) ||
               json_find_at(url->host, balanced, "hostname", NULL);
}

bool doctor_url_has_port(const struct doctor_facts *facts, const struct doctor_url *url,
                         const char *key) {
        const json_t *ports = json_at(facts->objects[DOCTOR_SERVICE].json, "spec", "ports", NULL);

        for (size_t i = 0; i < json_array_size(ports); i++)
                if (json_int_at(0, json_array_get(ports, i), key, NULL) == url->port)
                        return true;
        return false;
}

/* ---- The pods. */

static bool is_pod_address(const struct doctor_facts *facts, const char *host) {
        const json_t *pods = json_at(facts->objects[DOCTOR_PODS].json, "items", NULL);

        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                if (cluster_page_runs(pod, PROGRAM_EXTENDER) &&
                    (json_is_at(host, pod, "status", "podIP", NULL) ||
                     json_find_at(host, json_at(pod, "status", "podIPs", NULL), "ip", NULL)))
                        return true;
        }
        return false;
}

static bool is_in_host_network(const struct doctor_facts *facts) {
        return json_is_true(json_at(doctor_pod_spec(facts, DOCTOR_EXTENDER), "hostNetwork", NULL));
}

/* Does a second scheduler ask the extender in its own pod? */
static bool is_beside(const struct doctor_facts *facts, const struct doctor_url *url) {
        return facts->config->is_mounted || (!doctor_lacks(facts, DOCTOR_SCHEDULER) &&
                                             !doctor_is_hidden(facts, DOCTOR_EXTENDER) &&
                                             !is_in_host_network(facts) && is_loopback(url));
}

/* A static pod in the host's network uses the host's resolver, and so does k3s, which runs without
 * a pod. */
static bool resolves_services(const struct doctor_facts *facts) {
        const json_t *pod = json_array_get(
                json_at(facts->objects[DOCTOR_KUBE_SCHEDULERS].json, "items", NULL), 0);

        return pod && (!json_is_true(json_at(pod, "spec", "hostNetwork", NULL)) ||
                       json_is_at("ClusterFirstWithHostNet", pod, "spec", "dnsPolicy", NULL));
}

/* ---- The check. */

struct target {
        const struct doctor_facts *facts;
        struct doctor_url url;
        struct cluster_place place; /* of the extender that the URL is for */
};

#define FIND(target, finding, fmt, ...)                                                            \
        doctor_find(finding, DOCTOR_FAULT, "%.200s: urlPrefix " fmt,                               \
                    (target)->facts->config->from, __VA_ARGS__)

static void check_port(const struct target *target, bool is_right, struct doctor_finding *finding) {
        if (!is_right)
                FIND(target, finding, "has port %lld, but on %.100s the extender has another one",
                     target->url.port, target->url.host);
}

static bool is_own_port(const struct target *target) {
        return target->place.port == 0 || target->place.port == target->url.port;
}

/* Another scheduler, of which nothing is known, may run an extender in its own pod, as ours does.
 */
static void check_loopback(const struct target *target, struct doctor_finding *finding) {
        const struct doctor_facts *facts = target->facts;

        if (!facts->config->is_file && !facts->config->is_mounted)
                return;
        if (!facts->config->is_file || is_in_host_network(facts) ||
            doctor_has(facts, DOCTOR_SCHEDULER))
                check_port(target, is_own_port(target), finding);
        else if (doctor_needs_places(facts, finding))
                FIND(target, finding,
                     "has %.64s, but the extender is not in the network of the scheduler's host",
                     target->url.host);
}

static void check_service_url(const struct target *target, struct doctor_finding *finding) {
        const struct doctor_facts *facts = target->facts;
        const json_t *ports = json_at(facts->objects[DOCTOR_SERVICE].json, "spec", "ports", NULL);
        bool has_name = facts->config->is_file && is_service_name(facts, &target->url);

        if (has_name && doctor_is_hidden(facts, DOCTOR_KUBE_SCHEDULERS))
                (void)doctor_needs(facts, DOCTOR_KUBE_SCHEDULERS, finding);
        else if (has_name && !resolves_services(facts))
                FIND(target, finding,
                     "has %.100s, the name of a Service, which kube-scheduler cannot resolve in "
                     "the network of its host",
                     target->url.host);
        else if (ports && !doctor_url_has_port(facts, &target->url, "port"))
                FIND(target, finding, "has port %lld, but the Service " SERVICE " has %lld",
                     target->url.port, json_int_at(0, json_array_get(ports, 0), "port", NULL));
}

/* An unknown address, such as a load balancer's, may lead to the extender: then it is called. */
static void check_elsewhere(const struct target *target, struct doctor_finding *finding) {
        const struct doctor_facts *facts = target->facts;

        if (!doctor_needs(facts, DOCTOR_SERVICE, finding) || doctor_is_called_lately(facts) ||
            !doctor_needs(facts, DOCTOR_PODS, finding) || !doctor_needs_count(facts, finding))
                return;
        if (facts->nodes.has_host)
                check_port(target, doctor_url_has_port(facts, &target->url, "nodePort"), finding);
        else
                FIND(target, finding,
                     "has %.100s, which is not an address of the Service " SERVICE
                     ", of the extender's pods or of a node",
                     target->url.host);
        if (finding->state == DOCTOR_FAULT && !doctor_is_call_known(facts))
                finding->state = DOCTOR_UNKNOWN;
}

static void check_place(const struct target *target, struct doctor_finding *finding) {
        const struct doctor_facts *facts = target->facts;

        if (doctor_url_is_service(facts, &target->url)) {
                if (doctor_needs(facts, DOCTOR_SERVICE, finding))
                        check_service_url(target, finding);
        } else if (is_loopback(&target->url)) {
                check_loopback(target, finding);
        } else if (is_pod_address(facts, target->url.host)) {
                check_port(target, is_own_port(target), finding);
        } else {
                check_elsewhere(target, finding);
        }
}

void doctor_url_check(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const char *text = doctor_config_text(facts->config->entry, "urlPrefix");
        struct target target = {.facts = facts, .url = doctor_url_parse(text)};

        enum doctor_object deployment = is_beside(facts, &target.url) ? DOCTOR_SCHEDULER
                                                                      : DOCTOR_EXTENDER;
        target.place = doctor_place(facts, deployment);
        if (strcmp(target.url.host, DOCTOR_URL_PLACEHOLDER) == 0)
                FIND(&target, finding, "has the placeholder %s instead of the Service's address",
                     DOCTOR_URL_PLACEHOLDER);
        else if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
                FIND(&target, finding, "has no http:// before %.100s", target.url.host);
        else if (target.url.is_https != target.place.is_tls && !doctor_is_hidden(facts, deployment))
                FIND(&target, finding, "has %s, but the extender serves %s",
                     target.url.is_https ? "https" : "http",
                     target.place.is_tls ? "https" : "http");
        else
                check_place(&target, finding);
}

bool doctor_url_leads_to(const char *prefix, const char *verb, const char *name) {
        const char *path = doctor_url_parse(prefix).path;
        size_t len = strlen(verb);

        while (len > 0 && verb[len - 1] == '/')
                len--;
        size_t begin = len;
        while (begin > 0 && verb[begin - 1] != '/')
                begin--;
        /* After a query, the verb is not part of the path. */
        return !path[strcspn(path, "?#")] && len - begin == strlen(name) &&
               memcmp(verb + begin, name, len - begin) == 0;
}
