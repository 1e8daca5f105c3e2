/* Where a scheduler's configuration looks for the extender, against where it is. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/doctor/doctor_url.h"

#define EXTENDER "*/deployments/plimsoll-extender"
#define EXTENDERS "*/plimsoll-extender-?:8010/proxy/metrics"
#define SERVICE "*/services/plimsoll-extender"
#define SCHEDULER "*/deployments/plimsoll-scheduler"
#define SCHEDULERS "*/pods?component=kube-scheduler"
#define NODES "/api/v1/nodes"
#define PODS PAPER_SYSTEM "/pods"
#define TLS                                                                                        \
        { EXTENDER, "{'port'", "{'scheme': 'HTTPS', 'port'" }
#define HOST_NETWORK                                                                               \
        { EXTENDER, "'containers'", "'hostNetwork': true, 'containers'" }
#define SILENT                                                                                     \
        { EXTENDERS, PAPER_LAST_CALL, "1772107200" }
#define NODE_PORT                                                                                  \
        { SERVICE, "'port': 8010", "'port': 8010, 'nodePort': 30810" }
#define NODE_ADDRESS                                                                               \
        { NODES, "'conditions'", "'addresses': [7, {'address': '192.168.0.4'}], 'conditions'", 1 }
#define POD_IP                                                                                     \
        { PODS, "'phase'", "'podIP': '10.244.0.7', 'podIPs': [{'ip': 'fd00::7'}], 'phase'" }
#define SECOND(port)                                                                               \
        {                                                                                          \
                SCHEDULER, NULL,                                                                   \
                        "{'spec': {'template': {'spec': {'containers': [{'name': 'extender', "     \
                        "'ports': [{'containerPort': " port                                        \
                        "}]}], 'volumes': [{'configMap': {'name': 'scheduler'}}]}}}}"              \
        }

enum from { FILE_OF_HOST, CONFIG_MAP };

static const struct {
        enum from from;
        const char *url, *what; /* what is found; NULL: nothing */
        struct paper_change changes[PAPER_CHANGES];
} rows[] = {
        {FILE_OF_HOST, "http://10.96.0.10:8010/v1"},
        {FILE_OF_HOST, "http://10.96.0.10:8010"},
        {FILE_OF_HOST, "http://[fd00:96::10]:8010/v1/"},
        /* What the pages in deploy/scheduler/ have to be completed with. */
        {FILE_OF_HOST, "http://CLUSTER_IP:8010/v1", "has the placeholder CLUSTER_IP"},
        {CONFIG_MAP, "http://CLUSTER_IP:8011/v1", "has the placeholder CLUSTER_IP"},
        /* Schemes. */
        {FILE_OF_HOST, "10.96.0.10:8010/v1", "has no http:// before 10.96.0.10"},
        {FILE_OF_HOST, "tcp://10.96.0.10:8010/v1", "has no http:// before"},
        {FILE_OF_HOST, "https://10.96.0.10:8010/v1", "has https, but the extender serves http"},
        {FILE_OF_HOST, "http://10.96.0.10:8010/v1", "has http, but the extender serves https",
         .changes = {TLS}},
        {FILE_OF_HOST, "https://10.96.0.10:8010/v1", NULL, .changes = {TLS}},
        {FILE_OF_HOST, "https://10.96.0.10:8010/v1", NULL,
         .changes = {{EXTENDER, "httpGet", "tcpSocket"}}},
        /* The Service: its name, and its port. */
        {FILE_OF_HOST, "http://plimsoll-extender.kube-system.svc:8010/v1",
         "has plimsoll-extender.kube-system.svc, the name of a Service"},
        {FILE_OF_HOST, "http://plimsoll-extender:8010/v1", "the name of a Service"},
        {FILE_OF_HOST, "http://plimsoll-extender.kube-system.svc.cluster.local:8010/v1",
         "the name of a Service",
         .changes = {{SCHEDULERS, NULL, "{'items': [{'spec': {'hostNetwork': true}}]}"}}},
        {FILE_OF_HOST, "http://plimsoll-extender.kube-system:8010/v1", NULL,
         .changes = {{SCHEDULERS, NULL,
                      "{'items': [{'spec': {'hostNetwork': true, 'dnsPolicy': "
                      "'ClusterFirstWithHostNet'}}]}"}}},
        {FILE_OF_HOST, "http://plimsoll-extender.kube-system:8010/v1", NULL,
         .changes = {{SCHEDULERS, NULL, "{'items': [{'spec': {}}]}"}}},
        {FILE_OF_HOST, "http://plimsoll-extender.kube-system:8010/v1", NULL,
         .changes = {{SCHEDULERS, NULL, "{'items': [{'spec': {'hostNetwork': false}}]}"}}},
        /* What mounts a ConfigMap is no static pod. */
        {CONFIG_MAP, "http://plimsoll-extender.kube-system.svc:8010/v1"},
        {CONFIG_MAP, "http://plimsoll-extender.kube-system.svc:8080/v1",
         "has port 8080, but the Service plimsoll-extender has 8010"},
        {FILE_OF_HOST, "http://10.96.0.10:8011/v1",
         "has port 8011, but the Service plimsoll-extender has 8010"},
        {FILE_OF_HOST, "http://10.96.0.10/v1", "has port 80, but the Service"},
        {FILE_OF_HOST, "http://10.96.0.10:x/v1", "has port 80, but the Service"},
        {FILE_OF_HOST, "http://10.96.0.10:8011/v1", NULL, .changes = {{SERVICE, "'ports'", "'p'"}}},
        {FILE_OF_HOST, "http://203.0.113.9:8010/v1", NULL,
         .changes = {{SERVICE, "'clusterIPs'", "'externalIPs': ['203.0.113.9'], 'clusterIPs'"}}},
        {FILE_OF_HOST, "http://lb.example:8010/v1", NULL,
         .changes = {{SERVICE, "'spec'",
                      "'status': {'loadBalancer': {'ingress': [7, {'hostname': 'lb.example'}]}}, "
                      "'spec'"}}},
        {FILE_OF_HOST, "http://203.0.113.9:8010/v1", NULL,
         .changes = {{SERVICE, "'spec'",
                      "'status': {'loadBalancer': {'ingress': [{'ip': '203.0.113.9'}]}}, "
                      "'spec'"},
                     SILENT,
                     PODS_ARE("")}},
        /* The loopback. */
        {FILE_OF_HOST, "http://127.0.0.1:8010/v1",
         "has 127.0.0.1, but the extender is not in the network"},
        {FILE_OF_HOST, "http://[::1]:8010/v1", "has ::1, but the extender is not in the network"},
        {FILE_OF_HOST, "http://127.0.0.1:8010/v1", NULL, .changes = {HOST_NETWORK}},
        {FILE_OF_HOST, "http://127.0.0.1:8010/v1",
         "has 127.0.0.1, but the extender is not in the network",
         .changes = {{EXTENDER, "'containers'", "'hostNetwork': false, 'containers'"}}},
        {FILE_OF_HOST, "http://localhost:8010/v1",
         "has port 8010, but on localhost the extender has another one",
         .changes = {HOST_NETWORK, {EXTENDER, "8010", "9010"}}},
        {FILE_OF_HOST, "http://127.0.0.1:8010/v1", NULL,
         .changes = {HOST_NETWORK, {EXTENDER, "'containerPort'", "'c'"}}},
        {CONFIG_MAP, "http://127.0.0.1:8010/v1", NULL, .changes = {{EXTENDER, "8010", "9010"}}},
        {CONFIG_MAP, "http://127.0.0.1:8010/v1",
         "has port 8010, but on 127.0.0.1 the extender has another one",
         .changes = {SECOND("9010")}},
        {CONFIG_MAP, "http://127.0.0.1:9010/v1", NULL, .changes = {SECOND("9010")}},
        {CONFIG_MAP, "http://127.0.0.1:8010/v1", NULL,
         .changes = {SECOND("8010"), {EXTENDER, NULL, NULL}, {SERVICE, NULL, NULL}}},
        {FILE_OF_HOST, "http://127.0.0.1:9010/plimsoll", NULL, .changes = {SECOND("9010")}},
        {FILE_OF_HOST, "http://127.0.0.1:8010/v1",
         "has port 8010, but on 127.0.0.1 the extender has another one",
         .changes = {SECOND("9010")}},
        {FILE_OF_HOST, "http://127.0.0.1:8010/v1", NULL, .changes = {SECOND("9010"), HOST_NETWORK}},
        {FILE_OF_HOST, "http://127.0.0.1:9010/v1", NULL, .changes = {SECOND("9010"), TLS}},
        /* Pods and nodes. */
        {FILE_OF_HOST, "http://10.244.0.7:8010/v1", NULL,
         .changes = {POD_IP, SILENT, PODS_ARE("")}},
        {FILE_OF_HOST, "http://[fd00::7]:8010/v1", NULL, .changes = {POD_IP, SILENT, PODS_ARE("")}},
        {FILE_OF_HOST, "http://plimsoll.example:8010/v1",
         "plimsoll.example, which is not an address of", .changes = {POD_IP, SILENT, PODS_ARE("")}},
        {FILE_OF_HOST, "http://10.244.0.7:80/plimsoll",
         "has port 80, but on 10.244.0.7 the extender has another one", .changes = {POD_IP}},
        {FILE_OF_HOST, "http://192.168.0.4:30810/plimsoll", NULL,
         .changes = {NODE_ADDRESS, NODE_PORT, SILENT, PODS_ARE("")}},
        {FILE_OF_HOST, "http://192.168.0.4:8010/v1",
         "has port 8010, but on 192.168.0.4 the extender has another one",
         .changes = {NODE_ADDRESS, NODE_PORT, SILENT, PODS_ARE("")}},
        /* A port of the host that leads to it, since it is called. */
        {FILE_OF_HOST, "http://192.168.0.4:8010/v1", NULL, .changes = {NODE_ADDRESS}},
        /* Elsewhere. */
        {FILE_OF_HOST, "http://10.0.0.99:8010/v1",
         "has 10.0.0.99, which is not an address of the Service",
         .changes = {SILENT, PODS_ARE("")}},
        {FILE_OF_HOST, "http://10.0.0.99:8010/v1", "which is not an address of the Service",
         .changes = {SILENT,
                     PODS_ARE(""),
                     {NODES, NULL, PAPER_LIST "]}"},
                     {EXTENDERS, "table_nodes 4", "table_nodes 0"}}},
        {CONFIG_MAP, "http://plimsoll-extender.load:8010/v1",
         "which is not an address of the Service", .changes = {SILENT, PODS_ARE("")}},
        {CONFIG_MAP, "http://plimsoll-extender.kube-system.example:8010/v1",
         "which is not an address of the Service", .changes = {SILENT, PODS_ARE("")}},
        {FILE_OF_HOST, "http://10.0.0.99:8010/v1"},
};

static char *config_of(const char *url) {
        return xasprintf("kind: KubeSchedulerConfiguration\n"
                         "extenders:\n"
                         "- urlPrefix: \"%s\"\n"
                         "  filterVerb: filter\n"
                         "  prioritizeVerb: prioritize\n"
                         "  preemptVerb: preempt\n"
                         "  weight: 3\n"
                         "  nodeCacheCapable: true\n"
                         "  ignorable: true\n"
                         "  httpTimeout: 200ms\n",
                         url);
}

/* In a file, or in the ConfigMap of the cluster on paper. */
static void collect(struct paper_cluster *paper, enum from from, const char *url,
                    struct doctor_facts *ret) {
        char path[] = "/tmp/plimsoll-doctor-XXXXXX";
        _cleanup_(freep) char *config = config_of(url);
        struct error err = ERROR_NULL;

        if (from == CONFIG_MAP) {
                paper_change(paper, &(struct paper_change){"*/configmaps",
                                                           "http://127.0.0.1:8010/v1", url});
                assert_int_equal(paper_collect(paper, NULL, "", ret, &err), 0);
                return;
        }
        int fd = mkstemp(path);
        assert_true(fd >= 0 && dprintf(fd, "%s", config) > 0);
        assert_int_equal(close(fd), 0);
        assert_int_equal(paper_collect(paper, path, "", ret, &err), 0);
        assert_int_equal(unlink(path), 0);
}

/* @hidden: what may not be seen; NULL: nothing */
static void collect_row(struct paper_cluster *paper, size_t row, const char *hidden,
                        struct doctor_facts *ret) {
        paper_reset(paper, PAPER_NODES);
        for (size_t i = 0; i < PAPER_CHANGES && rows[row].changes[i].where; i++)
                paper_change(paper, &rows[row].changes[i]);
        if (hidden)
                paper_change(paper, &(struct paper_change){hidden, NULL, "403"});
        collect(paper, rows[row].from, rows[row].url, ret);
}

TEST(places) {
        size_t bad = 0;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct paper_fault fault = {rows[i].what ? "scheduler-url" : NULL,
                                                  DOCTOR_FAULT, rows[i].what};
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                collect_row(*state, i, NULL, &facts);
                if (paper_is_only(&facts, &fault))
                        continue;
                print_error("row %zu: %s\n", i, rows[i].url);
                bad++;
        }
        assert_int_equal(bad, 0);
}

TEST(one_is_hidden) {
        static const char *const hidden[] = {EXTENDER,   EXTENDERS, SERVICE, SCHEDULER,
                                             SCHEDULERS, NODES,     PODS};
        size_t bad = 0;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                for (size_t j = 0;
                     !rows[i].what && rows[i].from == FILE_OF_HOST && j < ARRAY_LEN(hidden); j++) {
                        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                        collect_row(*state, i, hidden[j], &facts);
                        bad += paper_count_wrong(&facts, rows[i].url, hidden[j]);
                }
        assert_int_equal(bad, 0);
}

/* Without the Service nothing is known of its addresses. */
TEST(hidden_service) {
        static const char *const urls[] = {"http://plimsoll-extender.kube-system:8010/v1",
                                           "http://10.0.0.99:8010/v1"};

        for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
                const struct paper_change changes[] = {{SERVICE, NULL, "403"}};
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                struct doctor_finding finding = {0};
                paper_reset(*state, PAPER_NODES);
                paper_change(*state, &changes[0]);
                collect(*state, FILE_OF_HOST, urls[i], &facts);
                doctor_url_check(&facts, &finding);
                assert_int_equal(finding.state, DOCTOR_UNKNOWN);
        }
}

TEST(services) {
#define IN(namespace) "/api/v1/namespaces/" namespace "/services/"
        static const struct {
                const char *url, *path; /* NULL: it is no Service's name */
        } cases[] = {
                {"http://a", IN("load") "a"},
                {"http://a:80/v1", IN("load") "a"},
                {"a.b", IN("b") "a"},
                {"http://a.b.svc", IN("b") "a"},
                {"http://a.b.svc.cluster.local", IN("b") "a"},
                {"http://a.b.example", NULL},
                {"http://a.b.svcs", NULL},
                {"http://a..svc", NULL},
                {"http://.b", NULL},
                {"http://:80", NULL},
                {"http://10.0.0.9", NULL},
                {"http://localhost", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const struct doctor_url url = doctor_url_parse(cases[i].url);
                _cleanup_(freep) char *path = doctor_url_service(&url, "load");
                if (!path != !cases[i].path || (path && strcmp(path, cases[i].path) != 0))
                        fail_msg("%s: %s", cases[i].url, path ? path : "no Service");
        }
}

TEST(verbs) {
        static const struct {
                const char *prefix, *verb;
                bool leads;
        } cases[] = {
                {"http://a:8010/v1", "filter", true},    {"http://a:8010", "filter", true},
                {"http://a:8010/v1/", "/filter/", true}, {"http://a:8010/any", "v1/filter", true},
                {"http://a:8010/v1", "filters", false},  {"http://a:8010/v1", "Filter", false},
                {"http://a:8010/v1", "filter/a", false}, {"http://a:8010/v1", "/", false},
                {"http://a:8010/v1?a", "filter", false}, {"http://a:8010#a", "filter", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_int_equal(doctor_url_leads_to(cases[i].prefix, cases[i].verb, "filter"),
                                 cases[i].leads);
}

TEST_GROUP(paper_set_up, paper_tear_down)
